"""A submission's answers to some questions, and whether a suspect gives the same ones, to rounding."""

import os
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from queue import SimpleQueue
from typing import Any

import torch
from torch import Tensor

from grader.judge.cases import Recorder
from grader.judge.compare import never_written, wrong_elements
from grader.judge.grade import Grade
from grader.judge.submission import CheckFailed, Submission
from grader.judge.suspects import Shape, Suspect, backwards, numbers
from grader.results import Kind

SECONDS = {"interpreter": 30.0, "gpu": 60.0}  # after which nothing more is tried; on a GPU most of it is compiling
RELATIVE = 2e-5  # rounding of what is wrong, which nobody has computed a bound for: some hundred steps in float32
FLIP = 2**-7  # relative: where a mistake rounds to half precision on the way, two roundings may part by this
RARELY = 0.05  # of the elements of an output
TELLING = 2  # wrong results that have to be met, of those that chance does not meet
PATIENCE = 4  # how much sooner a question is asked that the submission got wrong: it tells more suspects apart
MOST_NUMBERS = 12  # of a submission's text that are worth trying
CONTRAST = 10  # right results beside two wrong ones, which chance does not meet either


@dataclass(frozen=True)
class Question:
    """The arguments of a call, and for each output the right value and the allowed error, float64."""

    arguments: tuple[Any, ...]
    wanted: tuple[tuple[Tensor, Tensor], ...]


@dataclass(frozen=True)
class Exhibit:
    """What somebody made of a question: each output, and which of its elements were never written; or how it failed.

    tiles: the shapes of what was loaded. backwards: whether from the end of tensors to their start. seconds: that it took.
    """

    parts: tuple[tuple[Tensor, Tensor], ...] = ()
    tiles: tuple[Shape, ...] = ()
    backwards: bool = False
    failure: Kind | None = None
    seconds: float = 0.0


Answered = tuple[Question, Exhibit]
Group = tuple[tuple[Shape, ...], list[Answered]]  # what the submission loads, and the questions that it answers so
Part = tuple[Tensor, Tensor]  # of an exhibit, or of what is wanted


class Trial:
    """One submission's wrong and right results, and the comparison of suspects with them."""

    def __init__(self, submission: Submission, recorder: Recorder) -> None:
        self._submission = submission
        self._start_anew()
        self._recorder = recorder
        self._started = time.monotonic()
        # Calls of a question, of which the last one counts. An autotuner's trials leave their traces in the first call, so
        # its second one comes first.
        self._tunes = "autotune" in submission.text
        self._calls, self._otherwise = (2, 1) if self._tunes else (1, 2)
        self.wrong: list[Answered] = []
        self.right: list[Answered] = []
        self._numbers = numbers(submission.text)[:MOST_NUMBERS]
        self._doubles: SimpleQueue[Submission] = SimpleQueue()

    def hear(self, asked: Sequence[Question]) -> None:
        """Let the submission answer; if that tells nothing, once more, with the other number of calls."""
        self._ask(asked)
        if self._otherwise and not self._telling:
            self._calls, self._otherwise = self._otherwise, 0
            self.wrong, self.right = [], []
            self._ask(asked)

    def _start_anew(self) -> None:
        """In a new process, autotuners have not yet chosen anything. On a GPU they would have to compile it all again."""
        if self.engine == "interpreter":
            self._submission.stop()

    def _ask(self, asked: Iterable[Question]) -> None:
        for question in asked:
            if self._used > 0.5:
                return
            if self._trials_count:
                self._start_anew()
            started = time.monotonic()
            exhibit = replace(self._exhibit(self._submission, question), seconds=time.monotonic() - started)
            is_wrong = exhibit.failure or any(_wrong(exhibit, question))
            (self.wrong if is_wrong else self.right).append((question, exhibit))

    @property
    def _trials_count(self) -> bool:
        """Whether an autotuner's trials are part of the answer: then each question has to meet one that knows no other."""
        return self._tunes and self._calls == 1

    @property
    def tiles(self) -> tuple[Shape, ...]:
        """The shapes of all that the submission has loaded."""
        return tuple(sorted({shape for exhibit in self._heard for shape in exhibit.tiles}, reverse=True))

    @property
    def _heard(self) -> list[Exhibit]:
        return [exhibit for _, exhibit in (*self.wrong, *self.right)]

    @property
    def _used(self) -> float:
        """Which part of the time is over."""
        return (time.monotonic() - self._started) / SECONDS[self.engine]

    @property
    def function(self) -> str:
        return self._recorder.function

    @property
    def engine(self) -> str:
        return self._submission.engine

    @property
    def can_tell(self) -> bool:
        """Whether a mistake with the same results would be more than a coincidence."""
        return self._telling >= TELLING or (len(self.wrong) >= TELLING and len(self.right) >= CONTRAST)

    @property
    def _telling(self) -> int:
        """How many wrong results chance does not meet."""
        return sum(_is_telling(exhibit, question) for question, exhibit in self.wrong)

    @contextmanager
    def threads(self) -> Iterator[ThreadPoolExecutor]:
        """Threads for `convicts`, each with a process of its own that suspects take turns in."""
        number = 2 if self.engine == "gpu" else os.cpu_count() or 1  # each takes memory of a GPU
        with ExitStack() as doubles:
            for _ in range(number):
                double = self._double()
                doubles.callback(double.stop)
                self._doubles.put(double)
            yield doubles.enter_context(ThreadPoolExecutor(number))

    def _double(self) -> Submission:
        nursery = self._submission.nursery
        path = nursery.new_folder() / "kernel.py"
        path.touch()  # `become` says what is in it
        return Submission(path, self._submission.exercise, nursery)

    def by_tiles(self) -> list[Group]:
        """The questions by what the submission loads to answer them; first those that soon tell many suspects apart."""
        wrong = {id(pair) for pair in self.wrong}
        groups: dict[tuple[Shape, ...], list[Answered]] = {}
        price = {id(pair): pair[1].seconds for pair in self.wrong} | {id(p): PATIENCE * p[1].seconds for p in self.right}
        for pair in sorted((*self.wrong, *self.right), key=lambda pair: price[id(pair)]):
            groups.setdefault(pair[1].tiles or self.tiles, []).append(pair)
        return sorted(groups.items(), key=lambda group: wrong.isdisjoint(map(id, group[1])))

    def convicts(self, solution: str, groups: Sequence[Group], suspect: Suspect) -> bool:
        """Whether the suspect's results are the submission's, in one form; with which tiles may depend on the group."""

        walked = backwards if any(exhibit.backwards for exhibit in self._heard) else str

        def fits(form: str, group: Group) -> bool:
            tiles, pairs = group
            return any(self._matches(walked(text), pairs) for text in suspect.tilings(form, solution, tiles))

        return any(all(fits(form, group) for group in groups) for form in suspect.forms(solution, self.tiles, self._numbers))

    def _matches(self, text: str, pairs: Sequence[Answered]) -> bool:
        """Whether a source has the submission's results on these questions."""
        if self._used > 1:
            return False
        double = self._doubles.get()
        double.become(text)
        try:
            return self._is_like(double, pairs)
        finally:
            self._doubles.put(double)

    def _is_like(self, double: Submission, pairs: Sequence[Answered]) -> bool:
        """Whether all results are the same to rounding, and on the whole nearer to each other than to what is right."""
        apart = error = 0.0
        for question, ours in pairs:
            if self._trials_count:
                double.become(double.text)
            theirs = self._exhibit(double, question)
            if ours.failure is not theirs.failure:
                return False
            for parts in zip(ours.parts, theirs.parts, question.wanted, strict=not ours.failure):
                if not _same(*parts):
                    return False
                more = _distances(*parts)
                apart, error = apart + more[0], error + more[1]
        return apart <= error / 4

    def _exhibit(self, submission: Submission, question: Question) -> Exhibit:
        """What a submission makes of a question."""
        grade = Grade(submission, self._recorder.function, self._recorder.oracle)
        try:
            limit = 8 * sum(right.numel() for right, _ in question.wanted)
            for _ in range(self._calls):
                outputs, evidence = grade.look(*question.arguments, limit=limit)
        except CheckFailed as failure:
            return Exhibit(failure=failure.kind)
        shapes = [tensor.shape if tensor.is_floating_point() else None for tensor, _ in outputs]
        if shapes != [right.shape for right, _ in question.wanted]:
            return Exhibit(failure=Kind.SHAPE)
        parts = tuple((tensor.to(grade.device), never_written(tensor, mark).to(grade.device)) for tensor, mark in outputs)
        return Exhibit(parts, evidence.tiles, evidence.backwards)


def _wrong(exhibit: Exhibit, question: Question) -> Iterator[bool]:
    """For each output, whether any element is wrong."""
    for (value, unwritten), wanted in zip(exhibit.parts, question.wanted, strict=True):
        yield bool((wrong_elements(value, *wanted) | unwritten).any())


def _is_telling(exhibit: Exhibit, question: Question) -> bool:
    """Whether a wrong result is one that chance does not meet: not the same NaN, or the same infinity, everywhere."""
    for (value, unwritten), wanted in zip(exhibit.parts, question.wanted, strict=False):
        wrong = wrong_elements(value, *wanted) | unwritten
        written = value[wrong & ~unwritten]
        finite, partly = written[written.isfinite()], wrong.any() and not (wrong | value.isnan()).all()
        mixed = len({str(number) for number in written[~written.isfinite()].unique().tolist()}) > 1
        if partly or finite.any() or mixed:
            return True
    return False


def _same(ours: Part, theirs: Part, wanted: Part) -> bool:
    """Whether two outputs are the same to rounding."""
    (value, unwritten), (other, skipped), (_, allowed) = ours, theirs, wanted
    if not torch.equal(unwritten, skipped):
        return False
    a, b = value.double(), other.double()
    apart, rounding = (a - b).abs(), torch.finfo(value.dtype).eps + RELATIVE
    equal = (a == b) | (a.isnan() & b.isnan()) | unwritten | (apart <= 2 * allowed + rounding * b.abs())
    flipped = ~equal & (apart <= FLIP * b.abs())  # on the edge between two numbers of half precision
    return bool((equal | flipped).all() and flipped.double().sum() <= RARELY * flipped.numel())


def _distances(ours: Part, theirs: Part, wanted: Part) -> tuple[float, float]:
    """Of the elements that are wrong: how far two outputs are apart, and the first from what is right.

    Both as sums of squares, in units of the allowed error. 0 for what is not finite, or was never written.
    """
    (value, unwritten), (other, _), (right, allowed) = ours, theirs, wanted
    a, b, unit = value.double(), other.double(), allowed + torch.finfo(value.dtype).eps * right.abs()
    fair = wrong_elements(value, right, allowed) & a.isfinite() & b.isfinite() & right.isfinite() & ~unwritten & (unit > 0)
    apart, error = (((a - c) / unit)[fair].square().sum() for c in (b, right))
    return float(apart), float(error)
