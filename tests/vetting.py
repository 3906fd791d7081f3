"""What the tests of each half of the track share: two files, so that two processes can vet at the same time."""

from grader import course
from grader.judge.job import examine
from judging import ROOT

COURSE = course.load(ROOT)


def problems(exercise):
    """What `grader vet` finds wrong with an exercise, which has to be asked enough: see grader/judge/vet.py."""
    found = list(examine("vet", str(ROOT), exercise.id))
    mistakes = [finding for finding in found if "the mistake" in finding.text]
    assert len(mistakes) >= 8
    assert len(found) - len(mistakes) > 12
    return [finding for finding in found if not finding.ok]
