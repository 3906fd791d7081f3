"""mistakes.toml: the known misconceptions of each exercise, as edits of its reference solution."""

import ast
import re
import tomllib

import pytest

from grader import course
from grader.results import Kind
from judging import ROOT

COURSE = course.load(ROOT)
FIELDS = {"name", "before", "after", "kind", "engine", "seen", "diagnosis", "hint", "source"}


def mistakes(exercise):
    return tomllib.loads((ROOT / "solutions" / exercise.id / "mistakes.toml").read_text())["mistake"]


@pytest.mark.parametrize("exercise", COURSE.exercises, ids=lambda exercise: exercise.id)
def test_mistakes_are_edits_that_apply(exercise):
    solution = COURSE.solution(exercise).read_text()
    for mistake in mistakes(exercise):
        assert set(mistake) - {"also"} == FIELDS, mistake["name"]
        for form in (mistake["after"], *mistake.get("also", ())):
            edited = solution
            for before, after in [(mistake["before"], form)] if isinstance(form, str) else form:
                unedited, edited = edited, edited.replace(before, after.replace("TILE", "64").replace("NUMBER", "3.0"))
                assert edited != unedited, f"{mistake['name']} does not apply"
            ast.parse(edited)


@pytest.mark.parametrize("exercise", COURSE.exercises, ids=lambda exercise: exercise.id)
def test_mistakes_are_well_described(exercise):
    described = mistakes(exercise)
    assert len({mistake["name"] for mistake in described}) == len(described) >= 8
    for mistake in described:
        assert mistake["kind"] in set(Kind)
        assert mistake["engine"] in ("interpreter", "gpu")
        assert mistake["hint"] in (1, 2, 3)
        assert len(re.findall(r"[.?!](?: |$)", mistake["diagnosis"])) == 2, mistake["diagnosis"]


def test_there_are_many():
    assert sum(len(mistakes(exercise)) for exercise in COURSE.exercises) >= 130
