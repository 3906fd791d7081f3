"""`grader vet` notices what would make an exercise worthless, and says which question was answered with no."""

import pytest
from test_cli import grader

ID = "01_double"


def edit(path, before, after):
    text = path.read_text()
    assert before in text
    path.write_text(text.replace(before, after))


def test_a_good_exercise_is_fit(toy):
    assert "1 vetted: fit to be handed out." in grader(toy, "vet", "01")


SPEC, TESTS = f"exercises/{ID}/spec.md", f"exercises/{ID}/test_hidden.py"
STUB, SOLUTION = f"solutions/{ID}/stub.py", f"solutions/{ID}/kernel.py"


@pytest.mark.parametrize(
    "edits",
    [
        [  # one run finds all that is wrong with the text
            (SPEC, "### Hint 2", "#### Hint 2", "there are three hints"),
            (SPEC, "## Traps", "## Tricks", "the spec has its sections"),
            (SPEC, "## Goal", "## Goal\n\n[x](nowhere.md)", "links of the spec resolve"),
            (SPEC, "1. `TODO(1)`", "1. Work", "the spec explains each TODO"),
            (STUB, "TODO(1)", "TODO(2)", "TODOs are numbered"),
            (STUB, "offs = ", "offsets = ", "the stub is the solution with gaps"),
        ],
        [(STUB, "    pass", "    tl.store(out_ptr + offs, 0.0, mask=mask)", "counts as not started")],
        [(SOLUTION, "2 * x", "3 * x", "the solution passes")],
        [(TESTS, "scale=lambda x: x.abs()", "scale=lambda x: x.abs() + 1e9", "an output of zeros fails")],
        [(TESTS, "lambda x: 2 * x", "lambda x: 0 * x + 2", "argument 1 matters")],
        [(TESTS, '"double"', '"doubling"', "every function has an oracle")],
    ],
    ids=["text", "stub", "solution", "tolerance", "oracle", "function"],
)
def test_what_is_missing_is_named(toy, edits):
    for file, before, after, _ in edits:
        edit(toy / file, before, after)
    failures = "\n".join(line for line in grader(toy, "vet", "01", code=1).splitlines() if line.startswith("FAIL"))
    assert [says for *_, says in edits if says not in failures] == []
