"""Which known mistake a wrong result comes from, told by its values alone, never by the look of the code.

The mistakes of mistakes.toml are made in the reference solution, one after another, and called on the inputs that the
submission got wrong. A mistake is named only if its result is the submission's, to rounding, on every input tried, also on
those that the submission got right. What depends on tiles is tried with those that the submission loads; what depends on a
number, with those that stand in its text. When nothing equals, two mistakes at once are tried; when still nothing does,
nothing is said.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import cache, partial
from itertools import combinations, groupby
from pathlib import Path

from torch import Tensor

from grader.judge import compare
from grader.judge.cases import Case, Recorder, record
from grader.judge.grade import expectation
from grader.judge.submission import Submission
from grader.judge.suspects import Suspect, has_tiles, reached
from grader.judge.trial import Question, Trial
from grader.mistakes import Mistake
from grader.results import CheckResult, Diagnosis

SEEDS = (1, 2)  # the second only where the first tells too little
ENOUGH = 4
SMALL = 1 << 16  # elements of a case that is worth calling dozens of kernels on
LARGE = 1 << 22  # of the one that failed, which only those are called on that no small one tells apart
OF_THE_FAILED = 6  # cases of the hidden test that failed, from either end
ALIKE = 2  # mistakes that may be named together


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
        likeliest = sorted(known, key=lambda mistake: (mistake.kind is not check.kind, mistake.kind))
        found = _diagnosis(trial, _equals(trial, solution, likeliest)) if trial.can_tell else None
        if found:
            yield found


def _equals(trial: Trial, solution: str, known: Sequence[Mistake]) -> list[tuple[Mistake, ...]]:
    """The mistakes whose results are the submission's: single ones, else two at once."""
    groups = trial.by_tiles()
    with trial.threads() as pool:
        for suspects in _lineups(trial, solution, known):
            convicted = pool.map(partial(trial.convicts, solution, groups), suspects)
            found = [suspect.mistakes for suspect, guilty in zip(suspects, convicted, strict=True) if guilty]
            if found:
                return found
    return []


def _lineups(trial: Trial, solution: str, known: Sequence[Mistake]) -> Iterator[list[Suspect]]:
    """Suspects that are tried together, the likeliest first: those of one kind of failure, as they are and retiled."""
    right = reached(solution, trial.function)
    judged = [m for m in known if m.kind in compare.KINDS and m.engine in ("interpreter", trial.engine)]
    judged = [mistake for mistake in judged if reached(mistake.applied(solution), trial.function) != right]
    by_kind = (list(alike) for _, alike in groupby(judged, key=lambda mistake: mistake.kind))
    lineups: list[list[tuple[Mistake, ...]]] = [[(mistake,) for mistake in alike] for alike in by_kind]
    lineups.append(list(combinations(judged, 2)))
    for lineup in lineups:
        for retiled in (False, True) if trial.tiles and has_tiles(solution) else (False,):
            yield [Suspect(made, retiled) for made in lineup]


def questions(recorders: Iterable[Recorder], failed: CheckResult) -> list[Question]:
    """The case that failed with others of its test, and two of each other test: small ones, the smallest first."""
    chosen = []
    for recorder in recorders:
        cases = [case for case in recorder.recorded if 0 < case.size <= SMALL]
        small = sorted(cases, key=lambda case: case.size)
        some = [*small[:1], *small[1:][-1:]]
        if recorder.label == failed.label:
            itself = [case for case in recorder.recorded[failed.cases - 1 : failed.cases] if case.size <= LARGE]
            some = [*itself, *small[:OF_THE_FAILED], *small[-OF_THE_FAILED:]]
        unique = {id(case): case for case in some}
        chosen += [(case.size, recorder, case) for case in unique.values()]
    chosen.sort(key=lambda entry: entry[0])
    return [_question(recorder, case) for _, recorder, case in chosen]


def _question(recorder: Recorder, case: Case) -> Question:
    dtype = next(argument.dtype for argument in case.arguments if isinstance(argument, Tensor))
    wanted = expectation(recorder.oracle, case.arguments, dtype, recorder.device, case.exact)
    return Question(case.arguments, tuple(wanted))


def _diagnosis(trial: Trial, found: Sequence[tuple[Mistake, ...]]) -> Diagnosis | None:
    """None if there is nothing to name."""
    mistakes = _nameable(found)
    if not mistakes:
        return None
    names, texts = (tuple(getattr(mistake, part) for mistake in mistakes) for part in ("name", "diagnosis"))
    hint = min(mistake.hint for mistake in mistakes)
    return Diagnosis(trial.function, names, texts, len(found[0]) > 1, hint, len(trial.wrong))


def _nameable(found: Sequence[tuple[Mistake, ...]]) -> list[Mistake]:
    """The mistakes of which a learner can be told: no more than can be looked at; of several pairs what is in each."""
    if len(found) > 1 and len(found[0]) > 1:
        return [mistake for mistake in found[0] if all(mistake in pair for pair in found)]
    return [mistake for some in found for mistake in some] if len(found) <= ALIKE else []
