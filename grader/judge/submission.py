"""One submission under judgement: its file, its runner, and what came of loading it."""

import secrets
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from grader.channel import POISON_MARKS, BadFrame
from grader.course import Exercise
from grader.judge.answer import parse_failure
from grader.judge.nursery import Nursery, RunnerUnavailable
from grader.judge.process import Introduction, Runner, RunnerEnded
from grader.results import ErrorMap, Kind

T = TypeVar("T")


class CheckFailed(Exception):
    """The submission is wrong, in the way that `kind` and `lines` say.

    margin: by how much, in units of the allowed error; 0 where no value was judged. error_map: where, if it was drawn.
    """

    def __init__(self, kind: Kind, *lines: str, margin: float = 0.0, error_map: ErrorMap | None = None) -> None:
        super().__init__(*lines)
        self.kind = kind
        self.lines = lines
        self.margin = margin
        self.error_map = error_map


class Submission:
    """Keeps a runner at hand: a fresh one takes over when the last has ended."""

    def __init__(self, path: Path, exercise: Exercise, nursery: Nursery, engine: str = "") -> None:
        """engine: the nursery's if empty, or "compiler"."""
        self.path = path
        self.exercise = exercise
        self.nursery = nursery
        self.text = path.read_text(encoding="utf-8", errors="replace")
        self.engine = engine or nursery.engine
        self.introduction: Introduction | None = None
        self.output = ""
        self._runner: Runner | None = None
        self._is_loaded = False
        self._failure: CheckFailed | None = None

    def become(self, text: str) -> None:
        """Be another file from now on, in the process of the last one: for texts of the course's own, one after another."""
        self.text, self._is_loaded, self._failure = text, False, None
        self.path.write_text(text, encoding="utf-8")
        if self._runner is not None and self._runner.alive:
            self._runner.take(self.path)

    def stop(self) -> None:
        """End the runner, if there is one."""
        if self._runner is not None:
            self._runner.stop()
            self.output = self.output or self._runner.output
        self._runner = None

    def ask(
        self, request: Mapping[str, Any], memory: int | None, timeout: float, parse: Callable[[Mapping[str, Any]], T]
    ) -> tuple[T, int | None]:
        """Send a request to a runner that has loaded the submission, and read its answer by `parse`.

        Raises CheckFailed if the submission raises, dies, hangs or sends what is no answer; RunnerUnavailable.
        """
        return _ask(self._loaded_runner(), request, memory, timeout, parse)

    def hide_paths(self, text: str) -> str:
        """`text` with the runner's private copy called by the name the learner knows."""
        return self._runner.hide_paths(text) if self._runner else text

    def _loaded_runner(self) -> Runner:
        """A runner that has loaded the submission. Raises CheckFailed if it cannot be loaded, RunnerUnavailable."""
        if self._failure:
            raise self._failure
        if self._runner is None or not self._runner.alive:
            self.stop()
            self._runner = Runner(self.path, self.exercise.functions, self.nursery, self.engine)
            self._is_loaded = False
        if not self._is_loaded:
            self._load(self._runner)
            self._is_loaded = True
        return self._runner

    def _load(self, runner: Runner) -> None:
        self.introduction = runner.introduction
        if self.introduction.private_names:
            version = self.introduction.versions["triton"]
            raise RunnerUnavailable(f"Triton {version} does not fit here: {self.introduction.private_names}.")
        request = {"do": "load", "poison": secrets.choice(POISON_MARKS)}
        try:
            _ask(runner, request, None, self.exercise.call_timeout, bool)
        except CheckFailed as failure:
            self._failure = CheckFailed(failure.kind, *failure.lines, "while kernel.py was being loaded")
            raise self._failure from None


def _ask(
    runner: Runner,
    request: Mapping[str, Any],
    memory: int | None,
    timeout: float,
    parse: Callable[[Mapping[str, Any]], T],
) -> tuple[T, int | None]:
    try:
        frame, descriptor = runner.ask(request, memory, timeout)
        failure = parse_failure(frame)
        if failure:
            raise CheckFailed(failure.kind, *(runner.hide_paths(line) for line in failure.lines))
        return parse(frame), descriptor
    except RunnerEnded as ended:
        raise CheckFailed(ended.kind, ended.reason) from None
    except BadFrame as error:
        runner.stop()
        raise CheckFailed(Kind.CRASH, f"the process sent something that is not an answer: {error}") from None
