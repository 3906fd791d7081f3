"""Nothing of the learner's is lost, whatever happens in between."""

import os
import shutil

import pytest

from grader import course
from grader.results import CheckResult, ExerciseResult, Kind, Status
from grader.workspace import Workspace, hash_of, write
from judging import TOY


@pytest.fixture
def toy(tmp_path):
    shutil.copytree(TOY, tmp_path / "toy")
    return course.load(tmp_path / "toy")


def result(toy, exercise, **changes):
    check = CheckResult("double", "a label", Status.FAILED, Kind.VALUES, ("one", "two"), 3, 0.5)
    return ExerciseResult(
        exercise=exercise.id, submission="x", sha256=hash_of(toy.submission(exercise)), engine="interpreter", device="CPU",
        seed=2**61, checks=(check,), versions=(("torch", "2"),), sandbox=("a layer",), **changes,
    )  # fmt: skip


def test_result_comes_back_as_it_was(toy):
    exercise, kept = toy.exercises[0], result(toy, toy.exercises[0])
    Workspace(toy).save(kept)
    assert Workspace(toy).result(exercise) == kept


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"checks": 3}'])
def test_unreadable_result_is_no_result(toy, text):
    write(toy.root / ".grader/results/01_double.json", text)
    assert Workspace(toy).result(toy.exercises[0]) is None


def test_changed_file_makes_a_result_stale(toy):
    exercise, kept = toy.exercises[0], result(toy, toy.exercises[0])
    assert not Workspace(toy).is_stale(exercise, kept)
    toy.submission(exercise).write_text("other")
    assert Workspace(toy).is_stale(exercise, kept)


def test_failed_write_leaves_the_old_file_and_no_other(tmp_path, monkeypatch):
    path = tmp_path / "file"
    write(path, "old")

    def refuse(*_):
        raise OSError("disk full")

    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(OSError, match="disk full"):
        write(path, "new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_backups_never_overwrite_each_other(toy):
    workspace, exercise = Workspace(toy), toy.exercises[0]
    for text in ("first", "second", "third"):
        toy.submission(exercise).write_text(text)
        workspace.reset(exercise)
    kept = {path.read_text() for path in (toy.root / ".grader/backup/01_double").iterdir()}
    assert kept == {"first", "second", "third"}


def test_reset_of_a_deleted_file_brings_the_stub(toy):
    exercise = toy.exercises[0]
    toy.submission(exercise).unlink()
    assert Workspace(toy).reset(exercise) is None
    assert toy.submission(exercise).read_text() == toy.stub(exercise).read_text()
