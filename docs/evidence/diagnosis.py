"""How often does the diagnosis name the right mistake? Grade every kernel in tests/diagnosis and write diagnosis.md.

    python docs/evidence/diagnosis.py [EXERCISE…]

Each kernel there was written independently of the reference solution, with a known mistake in it, with two, or with one that
is in no list. Without names of exercises, the page is written; with names, it is only printed.
"""

import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from grader import course, mistakes  # noqa: E402
from grader.judge.job import Job, Unit, examine, run  # noqa: E402
from grader.results import ExerciseResult, Status  # noqa: E402
from planted import planted  # noqa: E402

TRACK = course.load(ROOT)


@dataclass(frozen=True)
class Row:
    """One kernel: what is in it, and what was named. made: the mistakes, none if it is in no list."""

    kernel: str
    made: frozenset[str]
    named: frozenset[str]
    cases: int
    seconds: float

    @property
    def outcome(self) -> str:
        if not self.named:
            return "silent" if self.made else "right"
        if self.named < self.made:
            return "one of two"
        alternatives = len(self.made) == 1 and self.made < self.named  # two that nobody can tell apart
        return "right" if self.named == self.made or alternatives else "wrong name"


def rows(exercises) -> Iterator[Row]:
    """Grade the kernels of some exercises, one after another."""
    for exercise in exercises:
        with tempfile.TemporaryDirectory() as folder:
            kernels = {str(kernel.write(Path(folder))): kernel for kernel in planted(exercise.id)}
            units = tuple(Unit(exercise.id, path) for path in kernels)
            for result in run(Job(str(ROOT), units, engine="interpreter", compiling=False)):
                if isinstance(result, ExerciseResult):
                    assert result.status is Status.FAILED, result.submission
                    yield row(kernels[result.submission], result)


def row(kernel, result) -> Row:
    """What came of one kernel."""
    named = frozenset(name for diagnosis in result.diagnoses for name in diagnosis.names)
    cases = sum(diagnosis.cases for diagnosis in result.diagnoses)
    return Row(f"{kernel.exercise}/{kernel.name}", kernel.made, named, cases, result.seconds)


def kills() -> Iterator[str]:
    """Whether every known mistake is caught, by `grader vet`."""
    for exercise in TRACK.exercises:
        found = [f for f in examine("vet", str(ROOT), exercise.id) if "the mistake" in f.text]
        on_gpu = sum(mistake.engine == "gpu" for mistake in mistakes.load(TRACK.mistakes(exercise)))
        yield f"| {exercise.id} | {len(found)} | {sum(f.ok for f in found)} | {on_gpu} |"


def page(found, killed) -> str:
    """The numbers and the tables, as Markdown."""
    known, unknown = [r for r in found if r.made], [r for r in found if not r.made]
    counts = Counter(r.outcome for r in found)
    named = sum(r.outcome == "right" for r in known)
    return "\n".join(
        [
            f"# Diagnosis: what is named, and what is not ({date.today()})",
            "",
            "Command: `python docs/evidence/diagnosis.py`, on the CPU interpreter. *silent*: no mistake was named.",
            "",
            f"- {len(known)} kernels with known mistakes: the right one named for {named} ({named / len(known):.0%}),",
            f"  one of the two that were made for {counts['one of two']}, nothing for {counts['silent']}.",
            f"- {len(unknown)} kernels with a mistake of no list: nothing named for {counts['right'] - named}.",
            f"- Wrong names: {counts['wrong name']} of {len(found)}.",
            "",
            "## Every known mistake is caught",
            "",
            "`grader vet` makes each mistake in the reference solution; it must fail with its own kind of failure, and by",
            "twice the allowed error if values are judged.",
            "",
            "| exercise | mistakes made | caught as what they are | only a GPU shows |",
            "|---|---|---|---|",
            *killed,
            "",
            "## Kernel by kernel",
            "",
            "| kernel | mistake made | outcome | named | wrong results compared | seconds |",
            "|---|---|---|---|---|---|",
            *(
                f"| {r.kernel} | {' + '.join(sorted(r.made)) or 'of no list'} | {r.outcome} "
                f"| {' / '.join(sorted(r.named))} | {r.cases or ''} | {r.seconds:.0f} |"
                for r in found
            ),
            "",
        ]
    )


def main(names):
    found = []
    for one in rows([TRACK.find(name) for name in names] or TRACK.exercises):
        made, named = " + ".join(sorted(one.made)), " / ".join(sorted(one.named))
        print(f"{one.seconds:4.0f} s {one.outcome:10} {one.kernel:45} {made} -> {named}", flush=True)
        found.append(one)
    if not names:
        (ROOT / "docs" / "evidence" / "diagnosis.md").write_text(page(found, list(kills())), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
