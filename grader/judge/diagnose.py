"""Which known mistake a wrong result comes from, told by its values alone, never by the look of the code.

The mistakes of mistakes.toml are made in the reference solution, one after another, and called on the inputs that the
submission got wrong. A mistake is named only if its result is the submission's, to rounding, on every input tried, also on
those that the submission got right. What depends on the length of a tile is tried with the lengths that the submission
loads. When nothing equals, two mistakes at once are tried; when still nothing does, nothing is said.
"""

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from grader.judge.cases import Recorder, record
from grader.judge.compare import never_written, wrong_elements
from grader.judge.grade import Grade, expectation
from grader.judge.submission import CheckFailed, Submission
from grader.mistakes import Mistake, with_tiles
from grader.results import Diagnosis, Kind

JUDGED_BY_VALUE = frozenset({Kind.VALUES, Kind.NOT_FINITE, Kind.UNWRITTEN})
SMALL = 1 << 17  # elements of a case that is worth calling a dozen kernels on
OF_A_TEST = 3  # cases of each hidden test
QUESTIONS = 60
RIGHT_ONES = 8  # questions that the submission got right, and a mistake must, too
SECONDS = 20.0  # after which nothing more is tried
RELATIVE = 2e-5  # rounding of what is wrong, which nobody has computed a bound for: some hundred steps in float32
TELLING = 2  # wrong results that have to be met, of those that chance does not meet
ALIKE = 2  # mistakes that may be named together


@dataclass(frozen=True)
class Question:
    """The arguments of a call, and for each output the right value and the allowed error, float64."""

    arguments: tuple[Any, ...]
    wanted: tuple[tuple[Tensor, Tensor], ...]


@dataclass(frozen=True)
class Exhibit:
    """What somebody made of a question: each output, and which of its elements were never written."""

    parts: tuple[tuple[Tensor, Tensor], ...]
    tiles: tuple[int, ...]


@dataclass(frozen=True)
class Suspect:
    """The reference solution with mistakes in it."""

    mistakes: tuple[Mistake, ...]
    text: str


def run(
    submission: Submission, solution: str, known: Sequence[Mistake], tests: Path, functions: Iterable[str]
) -> Iterator[Diagnosis]:
    """The diagnosis of each of some functions, where there is one.

    solution: the text of the reference solution. tests: the file of hidden tests, whose cases are tried with two seeds.
    """
    recorded = [record(submission, tests, seed) for seed in (1, 2)]
    for function in functions:
        recorders = [recorder for cases in recorded for recorder in cases[function]]
        found = diagnose(submission, solution, known, recorders)
        if found:
            yield found


def diagnose(
    submission: Submission, solution: str, mistakes: Sequence[Mistake], recorders: Sequence[Recorder]
) -> Diagnosis | None:
    """The mistake that explains all wrong results of one function, if one does.

    solution: the text of the reference solution. recorders: cases of the function, from its hidden tests.
    """
    trial = Trial(submission, recorders[0])
    trial.hear(questions(recorders))
    if sum(map(_is_telling, *trial.wrong_ones())) < TELLING:
        return None
    known = [m for m in mistakes if m.kind in JUDGED_BY_VALUE and m.engine in ("interpreter", submission.engine)]
    singles = [Suspect((mistake,), mistake.applied(solution)) for mistake in known]
    rounds = (singles, list(_retiled(singles, trial.tiles)), _pairs(known, solution))
    for suspects in rounds:
        found = [suspect for suspect in suspects if trial.convicts(suspect)]
        names = dict.fromkeys(suspect.mistakes for suspect in found)
        if names:
            return _diagnosis(trial, list(names))
    return None


def questions(recorders: Iterable[Recorder]) -> list[Question]:
    """Some of the small cases of each hidden test, the smallest first."""
    chosen = []
    for recorder in recorders:
        small = sorted((case for case in recorder.recorded if 0 < case.size <= SMALL), key=lambda case: case.size)
        chosen += [(case.size, recorder, case) for case in [*small[:1], *small[:-OF_A_TEST:-1]]]
    chosen.sort(key=lambda entry: entry[0])
    return [_question(recorder, case.arguments) for _, recorder, case in chosen[:QUESTIONS]]


def _question(recorder: Recorder, arguments: tuple[Any, ...]) -> Question:
    dtype = next(argument.dtype for argument in arguments if isinstance(argument, Tensor))
    return Question(arguments, tuple(expectation(recorder.oracle, arguments, dtype, recorder.device)))


class Trial:
    """One submission's wrong and right results, and the comparison of suspects with them."""

    def __init__(self, submission: Submission, recorder: Recorder) -> None:
        self._submission = submission
        self._recorder = recorder
        self._deadline = time.monotonic() + SECONDS
        self.wrong: list[tuple[Question, Exhibit]] = []
        self.right: list[tuple[Question, Exhibit]] = []
        self.tiles: tuple[int, ...] = ()

    def hear(self, asked: Iterable[Question]) -> None:
        """Let the submission answer; what it does not answer is left out."""
        for question in asked:
            if time.monotonic() > self._deadline - SECONDS / 2:
                return
            exhibit = self._exhibit(self._submission, question)
            if exhibit is None:
                continue
            (self.wrong if any(_wrong(exhibit, question)) else self.right).append((question, exhibit))
            self.tiles = tuple(sorted({*self.tiles, *exhibit.tiles}))

    def wrong_ones(self) -> tuple[list[Exhibit], list[Question]]:
        return [exhibit for _, exhibit in self.wrong], [question for question, _ in self.wrong]

    def convicts(self, suspect: Suspect) -> bool:
        """Whether the suspect's results are the submission's."""
        if time.monotonic() > self._deadline:
            return False
        nursery = self._submission.nursery
        folder = nursery.new_folder()
        (folder / "kernel.py").write_text(suspect.text, encoding="utf-8")
        double = Submission(folder / "kernel.py", self._submission.exercise, nursery)
        try:
            return all(self._equal(double, *pair) for pair in (*self.wrong, *self.right[-RIGHT_ONES:]))
        finally:
            double.stop()

    def _equal(self, double: Submission, question: Question, ours: Exhibit) -> bool:
        theirs = self._exhibit(double, question)
        return theirs is not None and all(map(_same, ours.parts, theirs.parts, question.wanted))

    def _exhibit(self, submission: Submission, question: Question) -> Exhibit | None:
        """What a submission makes of a question; None if it fails, or returns outputs of other shapes."""
        grade = Grade(submission, self._recorder.function, self._recorder.oracle)
        try:
            outputs, evidence = grade.look(question.arguments, [right for right, _ in question.wanted])
        except CheckFailed:
            return None
        if [tensor.shape for tensor, _ in outputs] != [right.shape for right, _ in question.wanted]:
            return None
        parts = tuple((tensor.to(grade.device), never_written(tensor, mark).to(grade.device)) for tensor, mark in outputs)
        return Exhibit(parts, evidence.tiles)


def _wrong(exhibit: Exhibit, question: Question) -> Iterator[bool]:
    """For each output, whether any element is wrong."""
    for (value, unwritten), wanted in zip(exhibit.parts, question.wanted, strict=True):
        yield bool((wrong_elements(value, *wanted) | unwritten).any())


def _is_telling(exhibit: Exhibit, question: Question) -> bool:
    """Whether a wrong result is one that chance does not meet: neither nothing but NaN, nor the same value everywhere."""
    for (value, unwritten), wanted in zip(exhibit.parts, question.wanted, strict=True):
        wrong = wrong_elements(value, *wanted) | unwritten
        finite = value[wrong & ~unwritten & value.isfinite()]
        if (wrong.any() and not wrong.all()) or (len(finite) > 1 and bool((finite != finite[0]).any())):
            return True
    return False


def _same(ours: tuple[Tensor, Tensor], theirs: tuple[Tensor, Tensor], wanted: tuple[Tensor, Tensor]) -> bool:
    """Whether two outputs are the same to rounding, and nearer to each other than to what is right."""
    (value, unwritten), (other, skipped), (right, allowed) = ours, theirs, wanted
    if not torch.equal(unwritten, skipped):
        return False
    a, b = value.double(), other.double()
    apart, rounding = (a - b).abs(), torch.finfo(value.dtype).eps + RELATIVE
    equal = (a == b) | (a.isnan() & b.isnan()) | unwritten | (apart <= 2 * allowed + rounding * b.abs())
    wrong = wrong_elements(value, right, allowed) & a.isfinite() & right.isfinite() & ~unwritten
    return bool(equal.all()) and not bool((apart > (a - right).abs() / 2)[wrong].any())


def _retiled(suspects: Iterable[Suspect], tiles: Sequence[int]) -> Iterator[Suspect]:
    """The same suspects with the submission's lengths of tiles."""
    for suspect in suspects:
        for text in with_tiles(suspect.text, tiles):
            yield Suspect(suspect.mistakes, text)


def _pairs(known: Sequence[Mistake], solution: str) -> Iterator[Suspect]:
    """Two mistakes at once, where both can be made."""
    for first, second in combinations(known, 2):
        alone = first.applied(solution)
        both = second.applied(alone)
        if both not in (alone, second.applied(solution)) and first.after in both:
            yield Suspect((first, second), both)


def _diagnosis(trial: Trial, found: list[tuple[Mistake, ...]]) -> Diagnosis | None:
    """None if more mistakes give the same results than a learner could look at."""
    joint = len(found[0]) > 1
    if len(found) > (1 if joint else ALIKE):
        return None
    mistakes = [mistake for some in found for mistake in some]
    names, texts = (tuple(getattr(mistake, part) for mistake in mistakes) for part in ("name", "diagnosis"))
    return Diagnosis(
        trial._recorder.function, names, texts, joint, min(mistake.hint for mistake in mistakes), len(trial.wrong)
    )
