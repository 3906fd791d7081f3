"""`grader vet` notices what would make an exercise worthless, and says which question was answered with no."""

import shutil

import pytest
from test_cli import grader

from judging import TOY

SPEC, TESTS, STUB, SOLUTION = "exercises/spec.md", "exercises/test_hidden.py", "solutions/stub.py", "solutions/kernel.py"
SPOILED = {
    "01_good": [],
    "02_text": [  # one run finds all that is wrong with the text
        (SPEC, "### Hint 2", "#### Hint 2", "there are three hints"),
        (SPEC, "## Traps", "## Tricks", "the spec has its sections"),
        (SPEC, "## Goal", "## Goal\n\n[x](nowhere.md)", "links of the spec resolve"),
        (SPEC, "1. `TODO(1)`", "1. Work", "the spec explains each TODO"),
        (STUB, "TODO(1)", "TODO(2)", "TODOs are numbered"),
        (STUB, "offs = ", "offsets = ", "the stub is the solution with gaps"),
    ],
    "03_stub": [(STUB, "    pass", "    tl.store(out_ptr + offs, 0.0, mask=mask)", "counts as not started")],
    "04_solution": [(SOLUTION, "2 * x", "3 * x", "the solution passes")],
    "05_tolerance": [(TESTS, "scale=lambda x: x.abs()", "scale=lambda x: x.abs() + 1e9", "an output of zeros fails")],
    "06_oracle": [(TESTS, "lambda x: 2 * x", "lambda x: 0 * x + 2", "argument 1 matters")],
    "07_function": [(TESTS, '"double"', '"doubling"', "every function has an oracle")],
}
ENTRY = """
[[exercise]]
id = "{}"
title = "Double"
points = 3
functions = ["double"]

[[exercise.workload]]
function = "double"
inputs = ["10000000 float32"]
"""


def edit(path, before, after):
    text = path.read_text()
    assert before in text
    path.write_text(text.replace(before, after))


@pytest.fixture(scope="module")
def failures(tmp_path_factory):
    """What one run of `grader vet` misses in each exercise of a course that is made of the toy course's first, spoiled."""
    course = tmp_path_factory.mktemp("spoiled")
    (course / "course.toml").write_text('format = 1\ntitle = "Spoiled"\n' + "".join(map(ENTRY.format, SPOILED)))
    for name, edits in SPOILED.items():
        for part in ("exercises", "solutions"):
            shutil.copytree(TOY / part / "01_double", course / part / name)
        edit(course / "exercises" / name / "spec.md", "grader check 01_double", f"grader check {name}")
        for file, before, after, _ in edits:
            part, _, rest = file.partition("/")
            edit(course / part / name / rest, before, after)
    said = grader(course, "vet", code=1).splitlines()
    assert said[-1].startswith("7 vetted, ")
    return {name: [line for line in said if line.startswith(f"FAIL {name}: ")] for name in SPOILED}


@pytest.mark.parametrize("name", SPOILED)
def test_what_is_missing_is_named(failures, name):
    said = "\n".join(failures[name])
    assert [says for *_, says in SPOILED[name] if says not in said] == []
    assert bool(said) == bool(SPOILED[name])
