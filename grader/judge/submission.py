"""One submission under judgement: its file, its runner, and what came of loading it."""

import secrets
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from grader.channel import POISON_PAYLOADS
from grader.course import Exercise
from grader.judge.process import Household, Introduction, Runner, RunnerEnded, RunnerUnavailable
from grader.results import Kind

LOAD_TIMEOUT = 30.0  # seconds to import a kernel file


class CheckFailed(Exception):
    """The submission is wrong, in the way that `kind` and `lines` say."""

    def __init__(self, kind: Kind, *lines: str) -> None:
        super().__init__(*lines)
        self.kind = kind
        self.lines = lines


class Submission:
    """Keeps a runner at hand: a fresh one takes over when the last has ended."""

    def __init__(self, path: Path, exercise: Exercise, engine: str, household: Household) -> None:
        self.path = path
        self.exercise = exercise
        self.engine = engine
        self.household = household
        self.text = path.read_text(encoding="utf-8", errors="replace")
        self.introduction: Introduction | None = None
        self.output = ""
        self._runner: Runner | None = self._new()
        self._loaded = False
        self._failure: CheckFailed | None = None

    def runner(self) -> Runner:
        """A runner that has loaded the submission. Raises CheckFailed if it cannot be loaded, RunnerUnavailable."""
        if self._failure:
            raise self._failure
        if self._runner is None or not self._runner.alive:
            self.stop()
            self._runner = self._new()
        if not self._loaded:
            self._load(self._runner)
        return self._runner

    def stop(self) -> None:
        """End the runner, if there is one."""
        if self._runner is not None:
            self._runner.stop()
            self.output = self.output or self._runner.output
        self._runner, self._loaded = None, False

    def _new(self) -> Runner:
        return Runner(self.path, self.exercise.functions, self.engine, self.household)

    def _load(self, runner: Runner) -> None:
        self.introduction = runner.introduce()
        if self.introduction.private_names:
            raise RunnerUnavailable(f"This Triton is not one the grader knows: {self.introduction.private_names}.")
        try:
            answer, _ = runner.ask({"do": "load", "poison": secrets.choice(POISON_PAYLOADS)}, None, LOAD_TIMEOUT)
        except RunnerEnded as ended:
            self._failure = CheckFailed(ended.kind, f"while kernel.py was being loaded: {ended.reason}")
            raise self._failure from None
        if "error" in answer:
            self._failure = CheckFailed(Kind(answer["error"]["kind"]), *error_lines(answer["error"], runner.hide_paths))
            raise self._failure
        self._loaded = True


def error_lines(error: Mapping[str, Any], hide_paths: Callable[[str], str]) -> tuple[str, ...]:
    """An exception of the submission as two lines: the place in its file, and what was raised."""
    place = f"kernel.py, line {error['line']}: {error['source']}" if error["line"] else ""
    name, message = error["exception"], hide_paths(error["message"])
    what = message if name == "Unloadable" else f"{name}: {message}" if message else name
    return tuple(line for line in (place, what) if line)
