"""Which known mistake a wrong result comes from, told by its values alone, never by the look of the code.

The mistakes of mistakes.toml are made in the reference solution, one after another, and called on the inputs that the
submission got wrong. A mistake is named only if its result is the submission's, to rounding, on every input tried, also on
those that the submission got right. What depends on the length of a tile is tried with the lengths that the submission
loads. When nothing equals, two mistakes at once are tried; when still nothing does, nothing is said.
"""

import os
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from itertools import combinations, zip_longest
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from grader.judge import compare
from grader.judge.cases import Case, Recorder, record
from grader.judge.compare import never_written, wrong_elements
from grader.judge.grade import Grade, expectation
from grader.judge.submission import CheckFailed, Submission
from grader.mistakes import Mistake, with_tiles
from grader.results import CheckResult, Diagnosis, Kind

SEEDS = (1, 2)  # the second only where the first tells too little
ENOUGH = 4
SMALL = 1 << 16  # elements of a case that is worth calling a dozen kernels on
OF_THE_FAILED = 6  # cases of the hidden test that failed, from either end
SECONDS = {"interpreter": 20.0, "gpu": 60.0}  # after which nothing more is tried; on a GPU most of it is compiling
RELATIVE = 2e-5  # rounding of what is wrong, which nobody has computed a bound for: some hundred steps in float32
FLIP = 2**-7  # relative: where a mistake rounds to half precision on the way, two roundings may part by this
RARELY = 0.05  # of the elements
TELLING = 2  # wrong results that have to be met, of those that chance does not meet
CONTRAST = 10  # right results beside two wrong ones, which chance does not meet either
ALIKE = 2  # mistakes that may be named together


@dataclass(frozen=True)
class Question:
    """The arguments of a call, and for each output the right value and the allowed error, float64."""

    arguments: tuple[Any, ...]
    wanted: tuple[tuple[Tensor, Tensor], ...]


@dataclass(frozen=True)
class Exhibit:
    """What somebody made of a question: each output, and which of its elements were never written; or how it failed."""

    parts: tuple[tuple[Tensor, Tensor], ...] = ()
    tiles: tuple[int, ...] = ()
    failure: Kind | None = None


@dataclass(frozen=True)
class Suspect:
    """The reference solution with mistakes in it."""

    mistakes: tuple[Mistake, ...]
    text: str


def run(
    submission: Submission, solution: str, known: Sequence[Mistake], tests: Path, failed: Iterable[CheckResult]
) -> Iterator[Diagnosis]:
    """The diagnosis of each function that failed, where there is one.

    solution: the text of the reference solution. tests: the file of hidden tests, whose small cases are tried. failed: the
    first check that each of these functions failed.
    """
    recorded = cache(lambda seed: record(submission, tests, seed))
    for check in failed:
        trial = Trial(submission, recorded(SEEDS[0])[check.function][0])
        for seed in SEEDS:
            if len(trial.wrong) < ENOUGH or not trial.can_tell:
                trial.hear(questions(recorded(seed)[check.function], check))
        found = _diagnosis(trial, _equals(trial, solution, known)) if trial.can_tell else None
        if found:
            yield found


def _equals(trial: "Trial", solution: str, known: Sequence[Mistake]) -> list[tuple[Mistake, ...]]:
    """The mistakes whose results are the submission's: single ones, else two at once."""
    judged = [m for m in known if m.kind in compare.KINDS and m.engine in ("interpreter", trial.engine)]
    singles = [Suspect((mistake,), text) for mistake in judged for text in mistake.forms(solution, trial.tiles)]
    pairs = list(_pairs(judged, solution))
    retiled_pairs = next(_retiled(pairs, trial.tiles), [])
    with ThreadPoolExecutor(2 if trial.engine == "gpu" else os.cpu_count()) as pool:  # each takes memory of a GPU
        for suspects in (singles, *_retiled(singles, trial.tiles), pairs, retiled_pairs):
            convicted = pool.map(trial.convicts, suspects)
            found = [suspect.mistakes for suspect, guilty in zip(suspects, convicted, strict=True) if guilty]
            if found:
                return list(dict.fromkeys(found))
    return []


def questions(recorders: Iterable[Recorder], failed: CheckResult) -> list[Question]:
    """The case that failed with others of its test, and two of each other test: small ones, the smallest first."""
    chosen = []
    for recorder in recorders:
        cases = [case for case in recorder.recorded if 0 < case.size <= SMALL]
        small = sorted(cases, key=lambda case: case.size)
        some = [*small[:1], *small[1:][-1:]]
        if recorder.label == failed.label:
            some = [*recorder.recorded[failed.cases - 1 : failed.cases], *small[:OF_THE_FAILED], *small[-OF_THE_FAILED:]]
        unique = {id(case): case for case in some if case.size <= SMALL}
        chosen += [(case.size, recorder, case) for case in unique.values()]
    chosen.sort(key=lambda entry: entry[0])
    return [_question(recorder, case) for _, recorder, case in chosen]


def _question(recorder: Recorder, case: Case) -> Question:
    dtype = next(argument.dtype for argument in case.arguments if isinstance(argument, Tensor))
    wanted = expectation(recorder.oracle, case.arguments, dtype, recorder.device, case.exact)
    return Question(case.arguments, tuple(wanted))


class Trial:
    """One submission's wrong and right results, and the comparison of suspects with them."""

    def __init__(self, submission: Submission, recorder: Recorder) -> None:
        self._submission = submission
        self._recorder = recorder
        self._started = time.monotonic()
        self.wrong: list[tuple[Question, Exhibit]] = []
        self.right: list[tuple[Question, Exhibit]] = []
        self.tiles: tuple[int, ...] = ()

    def hear(self, asked: Iterable[Question]) -> None:
        """Let the submission answer."""
        for question in asked:
            if self._used > 0.5:
                return
            exhibit = self._exhibit(self._submission, question)
            is_wrong = exhibit.failure or any(_wrong(exhibit, question))
            (self.wrong if is_wrong else self.right).append((question, exhibit))
            self.tiles = tuple(sorted({*self.tiles, *exhibit.tiles}, reverse=True))

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
        telling = sum(_is_telling(exhibit, question) for question, exhibit in self.wrong)
        return telling >= TELLING or (len(self.wrong) >= TELLING and len(self.right) >= CONTRAST)

    def convicts(self, suspect: Suspect) -> bool:
        """Whether the suspect's results are the submission's."""
        if self._used > 1:
            return False
        nursery = self._submission.nursery
        folder = nursery.new_folder()
        (folder / "kernel.py").write_text(suspect.text, encoding="utf-8")
        double = Submission(folder / "kernel.py", self._submission.exercise, nursery)
        try:
            return all(self._equal(double, *pair) for pair in (*self.wrong, *self.right))
        finally:
            double.stop()

    def _equal(self, double: Submission, question: Question, ours: Exhibit) -> bool:
        theirs = self._exhibit(double, question)
        return ours.failure is theirs.failure and all(map(_same, ours.parts, theirs.parts, question.wanted))

    def _exhibit(self, submission: Submission, question: Question) -> Exhibit:
        """What a submission makes of a question."""
        grade = Grade(submission, self._recorder.function, self._recorder.oracle)
        try:
            limit = 8 * sum(right.numel() for right, _ in question.wanted)
            outputs, evidence = grade.look(*question.arguments, limit=limit)
        except CheckFailed as failure:
            return Exhibit(failure=failure.kind)
        shapes = [tensor.shape if tensor.is_floating_point() else None for tensor, _ in outputs]
        if shapes != [right.shape for right, _ in question.wanted]:
            return Exhibit(failure=Kind.SHAPE)
        parts = tuple((tensor.to(grade.device), never_written(tensor, mark).to(grade.device)) for tensor, mark in outputs)
        return Exhibit(parts, evidence.tiles)


def _wrong(exhibit: Exhibit, question: Question) -> Iterator[bool]:
    """For each output, whether any element is wrong."""
    for (value, unwritten), wanted in zip(exhibit.parts, question.wanted, strict=True):
        yield bool((wrong_elements(value, *wanted) | unwritten).any())


def _is_telling(exhibit: Exhibit, question: Question) -> bool:
    """Whether a wrong result is one that chance does not meet: neither nothing but NaN or infinities, nor but zeros."""
    for (value, unwritten), wanted in zip(exhibit.parts, question.wanted, strict=False):
        wrong = wrong_elements(value, *wanted) | unwritten
        finite = value[wrong & ~unwritten & value.isfinite()]
        partly = wrong.any() and not (wrong | value.isnan()).all()
        if partly or finite.any():
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
    flipped = ~equal & (apart <= FLIP * b.abs())  # on the edge between two numbers of half precision
    nearer = (apart <= (a - right).abs() / 2)[wrong]
    return bool((equal | flipped).all()) and min(_share(~flipped), _share(nearer)) >= 1 - RARELY


def _share(marked: Tensor) -> float:
    """Which part of some elements is marked; of none, all."""
    return float(marked.double().mean()) if marked.numel() else 1.0


def _retiled(suspects: Sequence[Suspect], tiles: Sequence[int]) -> Iterator[list[Suspect]]:
    """The same suspects with the submission's lengths of tiles, if they are others: one way of choosing after another."""
    for texts in zip_longest(*(with_tiles(suspect.text, tiles) for suspect in suspects)):
        yield [Suspect(suspect.mistakes, text) for suspect, text in zip(suspects, texts, strict=True) if text]


def _pairs(known: Sequence[Mistake], solution: str) -> Iterator[Suspect]:
    """Two mistakes at once, where both can be made."""
    for first, second in combinations(known, 2):
        alone = first.applied(solution)
        both = second.applied(alone)
        if both not in (alone, second.applied(solution)) and first.after in both:
            yield Suspect((first, second), both)


def _diagnosis(trial: Trial, found: list[tuple[Mistake, ...]]) -> Diagnosis | None:
    """None if there is none, or if more of them give the same results than a learner could look at."""
    joint = bool(found) and len(found[0]) > 1
    if not 0 < len(found) <= (1 if joint else ALIKE):
        return None
    mistakes = [mistake for some in found for mistake in some]
    names, texts = (tuple(getattr(mistake, part) for mistake in mistakes) for part in ("name", "diagnosis"))
    hint = min(mistake.hint for mistake in mistakes)
    return Diagnosis(trial.function, names, texts, joint, hint, len(trial.wrong))
