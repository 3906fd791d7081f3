"""One job from start to end: a runner for each unit, the hidden tests by pytest, the timing, and a result at the end."""

import hashlib
import secrets
import time
import traceback
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from grader import __version__, course, mistakes
from grader.judge import compare, compiling, diagnose, plugin, timing, traffic
from grader.judge.job import Job, Unit
from grader.judge.nursery import Nursery, RunnerUnavailable
from grader.judge.submission import Submission
from grader.results import CheckResult, CompiledKernel, Diagnosis, ExerciseResult, Status, TimingResult, TrafficResult

Emit = Callable[[Mapping[str, Any]], None]
MAX_SEED = 1 << 62


@dataclass(frozen=True)
class Graded:
    """What one grading found out: the parts of an ExerciseResult that are its substance."""

    checks: tuple[CheckResult, ...]
    timings: tuple[TimingResult, ...] = ()
    compiled: tuple[CompiledKernel, ...] = ()
    traffic: tuple[TrafficResult, ...] = ()
    diagnoses: tuple[Diagnosis, ...] = ()


class Session:
    """Grades the units of a job one after another."""

    def __init__(self, job: Job, nursery: Nursery, emit: Emit) -> None:
        self._job = job
        self._course = course.load(Path(job.course))
        self._nursery = nursery
        self._emit = emit
        self._seed = secrets.randbelow(MAX_SEED) if job.seed is None else job.seed

    def run(self) -> None:
        for unit in self._job.units:
            exercise = self._course.find(unit.exercise)
            self._report(unit, Submission(Path(unit.submission), exercise, self._nursery))

    def _report(self, unit: Unit, submission: Submission) -> None:
        began, started = time.monotonic(), datetime.now(UTC).isoformat(timespec="seconds")
        graded = self._grade(submission)
        submission.stop()
        introduction = submission.introduction
        result = ExerciseResult(
            exercise=submission.exercise.id,
            submission=unit.submission,
            sha256=hashlib.sha256(submission.text.encode()).hexdigest(),
            engine=submission.engine,
            device=introduction.device if introduction else "",
            seed=self._seed,
            checks=graded.checks,
            timings=graded.timings,
            compiled=graded.compiled,
            traffic=graded.traffic,
            diagnoses=graded.diagnoses,
            versions=(("grader", __version__), *(introduction.versions.items() if introduction else ())),
            sandbox=introduction.sandbox if introduction else (),
            unchecked=introduction.unchecked if introduction else (),
            output=submission.output,
            started=started,
            seconds=time.monotonic() - began,
        )
        self._emit({"event": "result", "data": result.to_json()})

    def _grade(self, submission: Submission) -> Graded:
        tests = self._course.hidden_tests(submission.exercise)
        try:
            done = plugin.run_checks(
                submission, tests, self._course.stub_text(submission.exercise), self._seed, self._job.keep_going, self._emit
            )
            return replace(self._measured(submission, done), diagnoses=self._diagnosed(submission, done))
        except RunnerUnavailable as error:
            return Graded((CheckResult("", "start the runner", Status.GRADER_ERROR, reason=(str(error),)),))
        except Exception as error:
            traceback.print_exc()  # for whoever mends the grader; the learner gets a sentence
            reason = f"{type(error).__name__} in the grader: {error}"
            return Graded((CheckResult("", "grade the submission", Status.GRADER_ERROR, reason=(reason,)),))

    def _measured(self, submission: Submission, done: plugin.Checks) -> Graded:
        """What comes after the hidden tests: on a GPU the speed; elsewhere traffic, and the real compiler."""
        checks = tuple(done.results)
        solution = self._course.solution(submission.exercise)
        failed = {check.function for check in checks if check.kind}
        right = [function for function in submission.exercise.functions if function not in failed]
        if submission.engine != "gpu":
            traffics, counted = traffic.run(submission, solution, right)
            asked = right if self._job.compiling else []
            kernels, compiled = compiling.run(submission, self._nursery, done.specimens, asked)
            return Graded(checks + counted + compiled, traffic=traffics, compiled=kernels)
        if self._job.timing and all(check.status is Status.PASSED for check in checks):
            timings, timed = timing.run(submission, solution, done.oracles)
            return Graded(checks + timed, timings)
        return Graded(checks)

    def _diagnosed(self, submission: Submission, done: plugin.Checks) -> tuple[Diagnosis, ...]:
        """Which known mistakes made the results of functions wrong.

        On a GPU the interpreter goes first: it knows what is loaded, and compiles nothing.
        """
        failed = {check.function: check for check in done.results[::-1] if check.kind in compare.KINDS}
        if not failed or not self._job.diagnosing:
            return ()
        found: tuple[Diagnosis, ...] = ()
        if submission.engine == "gpu":
            with closing(Nursery("interpreter", beside=self._nursery)) as nursery:
                found = self._named(Submission(submission.path, submission.exercise, nursery), failed.values())
        named = {diagnosis.function for diagnosis in found}
        return found + self._named(submission, [check for function, check in failed.items() if function not in named])

    def _named(self, submission: Submission, failed: Iterable[CheckResult]) -> tuple[Diagnosis, ...]:
        """The diagnoses of some failures on one engine. Whatever happens here, the verdict stands."""
        try:
            known = mistakes.load(self._course.mistakes(submission.exercise))
            tests, solution = self._course.hidden_tests(submission.exercise), self._course.solution(submission.exercise)
            return tuple(diagnose.run(submission, solution.read_text(encoding="utf-8"), known, tests, failed))
        except RunnerUnavailable:  # such as an interpreter beside a GPU that this numpy does not fit
            return ()
        except Exception:
            traceback.print_exc()  # for whoever mends the grader
            return ()
