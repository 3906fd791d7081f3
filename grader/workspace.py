"""The learner's side of a course: the file being edited, its backups, the last results, the hints already seen.

Nothing of the learner's is ever lost: every file is written under another name and renamed, and a file is backed up before
it is replaced.
"""

import hashlib
import json
import os
import tempfile
from datetime import datetime
from pathlib import Path

from grader.course import Course, Exercise
from grader.results import Diagnosis, ExerciseResult, Status


class Workspace:
    """Everything under `.grader/` in the course's folder, and the submissions in `exercises/`."""

    def __init__(self, course: Course) -> None:
        self._course = course
        self._folder = course.root / ".grader"

    def save(self, result: ExerciseResult) -> None:
        write(self._result_path(result.exercise), json.dumps(result.to_json(), indent=1))

    def result(self, exercise: Exercise) -> ExerciseResult | None:
        """The last result of the learner's own file; None if there is none, or none that this version can read."""
        try:
            return ExerciseResult.from_json(json.loads(self._result_path(exercise.id).read_text(encoding="utf-8")))
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def is_stale(self, exercise: Exercise, result: ExerciseResult) -> bool:
        """Whether the file has changed since it was graded."""
        return hash_of(self._course.submission(exercise)) != result.sha256

    def next_hint(self, exercise: Exercise, levels: int) -> int:
        """The first level not yet seen, or that of a diagnosis of this very file; the last again when all were."""
        try:
            seen = int(self._hint_path(exercise).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            seen = 0
        diagnosed = [diagnosis.hint for diagnosis in self.diagnoses(exercise)]
        return min(max(seen + 1, *diagnosed[:1], 1), levels)

    def diagnoses(self, exercise: Exercise) -> tuple[Diagnosis, ...]:
        """What is known of the mistakes in the learner's file, unless it has changed since."""
        result = self._fresh(exercise)
        return result.diagnoses if result else ()

    def has_solved(self, exercise: Exercise) -> bool:
        """Whether the learner's file, as it is now, has passed."""
        result = self._fresh(exercise)
        return result is not None and result.status is Status.PASSED

    def _fresh(self, exercise: Exercise) -> ExerciseResult | None:
        """The last result, if it is about the file as it is now."""
        result = self.result(exercise)
        return None if result is None or self.is_stale(exercise, result) else result

    def may_see_solution(self, exercise: Exercise) -> bool:
        """Whether it is solved, or has been asked for before; if not, remember that it now was."""
        asked = self._folder / "asked" / exercise.id
        if self.has_solved(exercise) or asked.is_file():
            return True
        write(asked, "")
        return False

    def saw_hint(self, exercise: Exercise, level: int) -> None:
        write(self._hint_path(exercise), str(level))

    def back_up(self, exercise: Exercise) -> Path | None:
        """Copy the learner's file to a new name under .grader/backup; None if there is no file."""
        path = self._course.submission(exercise)
        if not path.is_file():
            return None
        stamp = datetime.now().strftime("%Y%m%d-%H%M%S-%f")
        backup = self._folder / "backup" / exercise.id / f"{stamp}.py"
        write(backup, path.read_bytes())
        return backup

    def reset(self, exercise: Exercise) -> Path | None:
        """Put the stub back, after a backup; return where the learner's file is now kept."""
        stub = self._course.stub(exercise).read_bytes()
        backup = self.back_up(exercise)
        write(self._course.submission(exercise), stub)
        return backup

    def solve(self, exercise: Exercise) -> bool:
        """Swap the reference solution in; False if it already is. The learner's file waits until `unsolve`."""
        path, solution = self._course.submission(exercise), self._course.solution(exercise).read_bytes()
        if path.is_file() and path.read_bytes() == solution:
            return False
        self.back_up(exercise)
        if path.is_file() and not self._aside(exercise).is_file():
            write(self._aside(exercise), path.read_bytes())
        write(path, solution)
        return True

    def unsolve(self, exercise: Exercise) -> bool:
        """Put the learner's file back; False if `solve` has not set one aside. Edits made meanwhile are backed up."""
        aside = self._aside(exercise)
        if not aside.is_file():
            return False
        if hash_of(self._course.submission(exercise)) != hash_of(self._course.solution(exercise)):
            self.back_up(exercise)
        write(self._course.submission(exercise), aside.read_bytes())
        aside.unlink()
        return True

    def _aside(self, exercise: Exercise) -> Path:
        return self._folder / "aside" / f"{exercise.id}.py"

    def _result_path(self, exercise_id: str) -> Path:
        return self._folder / "results" / f"{exercise_id}.json"

    def _hint_path(self, exercise: Exercise) -> Path:
        return self._folder / "hints" / exercise.id


def write(path: Path, content: str | bytes) -> None:
    """Write a whole file or nothing: a reader, or a kill at any moment, finds the old file or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    data = content.encode() if isinstance(content, str) else content
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def hash_of(path: Path) -> str:
    """SHA-256 of the file's text as the judge reads it; "" if there is no file."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    return hashlib.sha256(text.encode()).hexdigest()
