"""course.toml, read and checked: the order, names and points of the exercises, and where their files lie."""

import difflib
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

FORMAT = 1


class CourseError(Exception):
    """The course's own files are broken; the message names the file and what is wrong with it."""


class UnknownExercise(Exception):
    """No exercise, or more than one, answers to a name."""


@dataclass(frozen=True)
class Tensor:
    """A random normal tensor of a workload, written "16384 x 8192 float32" in course.toml."""

    shape: tuple[int, ...]
    dtype: str

    @classmethod
    def parse(cls, text: str) -> Self:
        *sizes, dtype = text.replace(" x ", " ").split()
        return cls(tuple(int(size) for size in sizes), dtype)

    def __str__(self) -> str:
        return f"{' × '.join(str(size) for size in self.shape)} {self.dtype}"


@dataclass(frozen=True)
class Workload:
    """A size at which speed is judged: `target` is the largest allowed ratio of times, submission / reference.

    `options` are passed after the tensors, such as `causal`. `excellent` is the ratio that earns praise. `flops` counts the
    operations of a matrix product; 0 where the bytes are what takes time. `operations` is, where traffic is counted, the
    largest allowed ratio of operations in tl.dot; 0 for any.
    """

    function: str
    inputs: tuple[Tensor, ...]
    options: tuple[bool | float, ...] = ()
    target: float = 1.25
    excellent: float = 1.05
    flops: float = 0.0
    operations: float = 0.0

    @property
    def label(self) -> str:
        """The distinct inputs, then the options: "4 × 32 × 4096 × 64 float16, True"."""
        return ", ".join(str(part) for part in (*dict.fromkeys(self.inputs), *self.options))


@dataclass(frozen=True)
class Exercise:
    """One entry of the track."""

    id: str
    title: str
    points: int
    functions: tuple[str, ...]
    call_timeout: float  # seconds that one call of a submission may take on the interpreter
    workloads: tuple[Workload, ...]
    bench: tuple[Workload, ...] = ()  # further sizes, which `grader bench` looks at and no check does
    traffic: tuple[Workload, ...] = ()  # small sizes at which bytes are counted; `target` is a ratio of bytes
    trace: tuple[Workload, ...] = ()  # sizes at which a picture of the tiles can be read, one for each function

    @property
    def number(self) -> str:
        return self.id.partition("_")[0]


@dataclass(frozen=True)
class Course:
    """The track, and the folder that holds it."""

    root: Path
    title: str
    exercises: tuple[Exercise, ...]

    def submission(self, exercise: Exercise) -> Path:
        """The file that the learner edits."""
        return self.root / "exercises" / exercise.id / "kernel.py"

    def spec(self, exercise: Exercise) -> Path:
        return self.root / "exercises" / exercise.id / "spec.md"

    def hidden_tests(self, exercise: Exercise) -> Path:
        return self.root / "exercises" / exercise.id / "test_hidden.py"

    def stub(self, exercise: Exercise) -> Path:
        """The stub as it was handed out: `exercises/…/kernel.py` starts as a copy of it, and `reset` goes back to it."""
        return self.root / "solutions" / exercise.id / "stub.py"

    def stub_text(self, exercise: Exercise) -> str:
        """The text of the stub; "" if there is none."""
        path = self.stub(exercise)
        return path.read_text(encoding="utf-8") if path.is_file() else ""

    def solution(self, exercise: Exercise) -> Path:
        return self.root / "solutions" / exercise.id / "kernel.py"

    def mistakes(self, exercise: Exercise) -> Path:
        """Known misconceptions, as edits of the reference solution."""
        return self.root / "solutions" / exercise.id / "mistakes.toml"

    def fast(self, exercise: Exercise) -> Path:
        """The reference solution in a form made for speed alone; not every exercise has one."""
        return self.root / "solutions" / exercise.id / "fast.py"

    def peers(self, exercise: Exercise) -> Path:
        """What else computes the same, for `grader bench`."""
        return self.root / "solutions" / exercise.id / "peers.py"

    def find(self, name: str) -> Exercise:
        """The exercise that `name` means: its id, its number, or a part of its id that no other has.

        Raises UnknownExercise with up to three near matches.
        """
        wanted = name.strip("/").rpartition("/")[2].lower()
        exact = [e for e in self.exercises if wanted == e.id or wanted.zfill(2) == e.number]
        found = exact or [e for e in self.exercises if wanted and wanted in e.id]
        if len(found) == 1:
            return found[0]
        if found:
            raise UnknownExercise(f'"{name}" could be {_either(e.id for e in found)}.')
        near = difflib.get_close_matches(wanted, self._names(), n=3, cutoff=0.5)
        near_ids = dict.fromkeys(self._names()[match] for match in near)
        hint = f" Did you mean {_either(near_ids)}?" if near_ids else ""
        raise UnknownExercise(f'There is no exercise "{name}".{hint} `grader list` shows them all.')

    def _names(self) -> dict[str, str]:
        return {name: e.id for e in self.exercises for name in (e.id, e.id.partition("_")[2])}


def find_root(start: Path) -> Path:
    """The nearest folder at or above `start` that holds a course.toml, else the checkout this package lies in."""
    for folder in (start, *start.parents):
        if (folder / "course.toml").is_file():
            return folder
    return Path(__file__).resolve().parent.parent


def load(root: Path) -> Course:
    """Read the course in folder `root`. Raises CourseError."""
    path = root / "course.toml"
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise CourseError(f"{path} cannot be read: {error.strerror}. Run this inside the course's folder.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise CourseError(f"{path} is not valid TOML: {error}") from error
    if data.get("format") != FORMAT:
        raise CourseError(f"{path} has format {data.get('format')}; this grader reads format {FORMAT}.")
    try:
        exercises = tuple(_exercise(entry) for entry in data["exercise"])
        course = Course(root, data["title"], exercises)
    except KeyError as error:
        raise CourseError(f"{path}: an entry lacks {error}.") from error
    except (TypeError, ValueError, AttributeError) as error:
        raise CourseError(f"{path}: {error}") from error
    _require_files(course)
    return course


def _exercise(entry: Mapping[str, Any]) -> Exercise:
    functions = tuple(entry["functions"])
    keys = "workload", "bench", "traffic", "trace"
    workloads, bench, traffic, trace = (tuple(_workload(item) for item in entry.get(key, ())) for key in keys)
    strangers = [w.function for w in (*workloads, *bench, *traffic, *trace) if w.function not in functions]
    if strangers:
        raise ValueError(f"{entry['id']} has a workload for {strangers[0]}, which is not among its functions.")
    timeout = float(entry.get("call_timeout", 20))
    return Exercise(entry["id"], entry["title"], int(entry["points"]), functions, timeout, workloads, bench, traffic, trace)


def _workload(entry: Mapping[str, Any]) -> Workload:
    numbers = {name: float(entry[name]) for name in ("target", "excellent", "flops", "operations") if name in entry}
    inputs = tuple(Tensor.parse(text) for text in entry["inputs"])
    return Workload(entry["function"], inputs, tuple(entry.get("options", ())), **numbers)


def _require_files(course: Course) -> None:
    ids = [exercise.id for exercise in course.exercises]
    if len(set(ids)) < len(ids):
        raise CourseError(f"{course.root / 'course.toml'}: two exercises have the same id.")
    for exercise in course.exercises:
        for path in (course.spec(exercise), course.hidden_tests(exercise)):
            if not path.is_file():
                raise CourseError(f"{exercise.id} is in course.toml, but {path} is missing.")


def _either(names: Iterable[str]) -> str:
    *most, last = names
    return f"{', '.join(most)} or {last}" if most else last
