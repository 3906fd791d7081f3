"""What the tests of the judge share: grade many files in one job, in a real judge and real runners."""

from collections.abc import Iterable
from pathlib import Path

from grader.judge.job import Job, Unit, run
from grader.results import ExerciseResult

ROOT = Path(__file__).resolve().parent.parent
TOY = ROOT / "tests" / "toy"


def grade(course: Path, submissions: Iterable[tuple[str, Path]], **options) -> dict[Path, ExerciseResult]:
    """The result of each submission, given as (exercise id, file), on the interpreter; no compiler, no diagnosis."""
    units = tuple(Unit(exercise, str(path)) for exercise, path in submissions)
    events = run(Job(str(course), units, **{"engine": "interpreter", "compiling": False, "diagnosing": False, **options}))
    return {Path(result.submission): result for result in events if isinstance(result, ExerciseResult)}
