"""What the command line asks of the judge, and how it listens to the answer. No torch here: the judge is a process."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Self

from grader.results import BenchResult, CheckResult, ExerciseResult, Machine, Trace

COMMAND = (sys.executable, "-P", "-B", "-m", "grader.judge")


class JudgeFailed(Exception):
    """The judge could not do its work; the message is for whoever keeps the grader or the machine."""


@dataclass(frozen=True)
class Unit:
    """One submission for one exercise."""

    exercise: str
    submission: str


@dataclass(frozen=True)
class Job:
    """A piece of grading. seed: None for a fresh one. keep_going: run later checks after a failed one, too.

    timing, compiling: whether to time on a GPU, and to ask the real compiler elsewhere, where the checks have passed.
    diagnosing: whether to look for the mistake behind wrong results.
    """

    course: str
    units: tuple[Unit, ...]
    engine: str = "auto"
    seed: int | None = None
    keep_going: bool = False
    timing: bool = True
    compiling: bool = True
    diagnosing: bool = True

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        return cls(**{**data, "units": tuple(Unit(**unit) for unit in data["units"])})


@dataclass(frozen=True)
class Started:
    """The judge began with an exercise, of which `checks` will be run."""

    exercise: str
    checks: int


Event = Started | CheckResult | ExerciseResult


def run(job: Job) -> Iterator[Event]:
    """Start a judge for `job` and yield what it reports as it happens. Raises JudgeFailed."""
    with tempfile.TemporaryFile("w+") as words:
        judge = subprocess.Popen(
            COMMAND,
            env=_environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=words,
            text=True,
        )
        try:
            yield from _listen(judge, job)
        except _TooFew:
            words.seek(0)
            raise JudgeFailed(_last_words(words.readlines())) from None
        finally:
            _end(judge)


def _end(judge: "subprocess.Popen[str]") -> None:
    """Let the judge end its runners and remove their folders; kill it if it takes too long."""
    judge.terminate()
    try:
        judge.wait(5)
    except subprocess.TimeoutExpired:
        judge.kill()
        judge.wait()


class _TooFew(Exception):
    """The judge went away before it had reported every unit."""


def _listen(judge: "subprocess.Popen[str]", job: Job) -> Iterator[Event]:
    assert judge.stdin is not None
    assert judge.stdout is not None
    json.dump(job.to_json(), judge.stdin)
    judge.stdin.close()
    finished = 0
    for line in judge.stdout:
        event = _event(json.loads(line))
        finished += isinstance(event, ExerciseResult)
        yield event
    if finished < len(job.units):
        raise _TooFew


def _event(data: Mapping[str, Any]) -> Event:
    if data["event"] == "started":
        return Started(data["exercise"], data["checks"])
    if data["event"] == "check":
        return CheckResult.from_json(data["data"])
    return ExerciseResult.from_json(data["data"])


def _last_words(lines: Sequence[str]) -> str:
    spoken = [line.strip() for line in lines if line.strip()]
    return spoken[-1] if spoken else "the judge ended without a word"


@dataclass(frozen=True)
class Finding:
    """One line of `grader doctor`. cure: what to do when it is not ok."""

    ok: bool
    text: str
    cure: str = ""


def examine(module: str, *arguments: str) -> Iterator[Finding]:
    """What a module of the judge finds, in a process that may import torch: "doctor" or "vet". Raises JudgeFailed."""
    for data in _reports(module, *arguments):
        yield Finding(**data)


def bench(root: Path, exercises: Sequence[str]) -> Iterator[Machine | BenchResult]:
    """Time the named exercises' workloads for all who compute them: first the machine, then workload by workload.

    Raises JudgeFailed.
    """
    reports = _reports("bench", str(root), *exercises)
    for machine in islice(reports, 1):
        yield Machine.from_json(machine)
    for result in reports:
        yield BenchResult.from_json(result)


@dataclass(frozen=True)
class Stage:
    """The text of one compiler stage for the kernels of one function; or, if it is not ok, what the compiler said."""

    function: str
    ok: bool
    text: str


def stages(root: Path, exercise: str, paths: Sequence[Path], stage: str, target: str) -> Iterator[Stage]:
    """What the compiler makes of the files, function by function, and for each file by file. Raises JudgeFailed."""
    for data in _reports("ir", str(root), exercise, stage, target, *map(str, paths)):
        yield Stage(**data)


def trace(root: Path, exercise: str, path: Path, functions: Sequence[str]) -> Iterator[Trace]:
    """Which program of the file's kernels touches what, function by function. Raises JudgeFailed."""
    for data in _reports("trace", str(root), exercise, str(path), *functions):
        yield Trace.from_json(data)


def _reports(module: str, *arguments: str) -> Iterator[dict[str, Any]]:
    """The objects that a module of the judge prints, one a line. Raises JudgeFailed."""
    command = [*COMMAND, module, *arguments]
    with tempfile.TemporaryFile("w+") as words:
        with subprocess.Popen(command, env=_environment(), stdout=subprocess.PIPE, stderr=words, text=True) as process:
            assert process.stdout is not None
            for line in process.stdout:
                yield json.loads(line)
        if process.returncode:
            words.seek(0)
            raise JudgeFailed(_last_words(words.readlines()))


def _environment() -> dict[str, str]:
    """This process's environment, with the grader's own package first on the import path.

    Threads of torch that have nothing to do must sleep, not spin: the runner needs their core.
    """
    package = str(Path(__file__).resolve().parent.parent.parent)
    path = [package, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    return {"OMP_WAIT_POLICY": "passive", **os.environ, "PYTHONPATH": os.pathsep.join(path)}
