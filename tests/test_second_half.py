"""The second half of the track is fit to be handed out: solutions pass, and every known mistake is caught as what it is."""

import pytest
from vetting import COURSE, problems


@pytest.mark.parametrize("exercise", COURSE.exercises[7:], ids=lambda exercise: exercise.id)
def test_exercise_is_fit_to_be_handed_out(exercise):
    assert problems(exercise) == []
