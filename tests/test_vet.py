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


@pytest.mark.parametrize(
    ("file", "before", "after", "says"),
    [
        ("exercises/{}/spec.md", "### Hint 2", "#### Hint 2", "there are three hints"),
        ("exercises/{}/spec.md", "## Traps", "## Tricks", "the spec has its sections"),
        ("exercises/{}/spec.md", "## Goal", "## Goal\n\n[x](nowhere.md)", "links of the spec resolve"),
        ("exercises/{}/spec.md", "1. `TODO(1)`", "1. Work", "the spec explains each TODO"),
        ("solutions/{}/stub.py", "TODO(1)", "TODO(2)", "TODOs are numbered"),
        ("solutions/{}/stub.py", "offs = ", "offsets = ", "the stub is the solution with gaps"),
        ("solutions/{}/stub.py", "    pass", "    tl.store(out_ptr + offs, 0.0, mask=mask)", "counts as not started"),
        ("solutions/{}/kernel.py", "2 * x", "3 * x", "the solution passes"),
        (
            "exercises/{}/test_hidden.py",
            "scale=lambda x: x.abs()",
            "scale=lambda x: x.abs() + 1e9",
            "an output of zeros fails",
        ),
        ("exercises/{}/test_hidden.py", "lambda x: 2 * x", "lambda x: 0 * x + 2", "argument 1 matters"),
        ("exercises/{}/test_hidden.py", '"double"', '"doubling"', "every function has an oracle"),
    ],
)
def test_what_is_missing_is_named(toy, file, before, after, says):
    edit(toy / file.format(ID), before, after)
    said = grader(toy, "vet", "01", code=1)
    assert any(says in line for line in said.splitlines() if line.startswith("FAIL")), said
