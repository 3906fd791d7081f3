"""Results as text on a terminal. Records in, lines out; whatever a learner wrote is printed as it is, never as markup."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from grader.course import Exercise
from grader.judge.job import Event, Started
from grader.results import CheckResult, ExerciseResult, Kind, Status, TimingResult

_MARKS = {
    Status.PASSED: ("✓", "ok", "green"),
    Status.FAILED: ("✗", "FAIL", "red"),
    Status.NOT_RUN: ("–", "-", "dim"),
    Status.GRADER_ERROR: ("!", "!", "yellow"),
}
_ASCII = str.maketrans({
    "×": "x", "−": "-", "–": "-", "—": "-", "…": "...", "·": "*", "²": "^2", "³": "^3", "∞": "inf", "µ": "u",
    "≥": ">=", "≤": "<=", "“": '"', "”": '"', "’": "'", "█": "#", "░": ".",
})  # fmt: skip
WIDTH = 100


@dataclass(frozen=True)
class TrackRow:
    """One line of the track's table. `result` is the last one there is; `stale`: the file has changed since."""

    exercise: Exercise
    result: ExerciseResult | None
    stale: bool = False

    @property
    def solved(self) -> bool:
        return self.result is not None and not self.stale and self.result.status is Status.PASSED


class Screen:
    """Prints reports; plain ASCII without colour when the output is no terminal."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(highlight=False, soft_wrap=True)
        encoding = (self._console.encoding or "").lower().replace("-", "")
        self.plain = not self._console.is_terminal or encoding != "utf8"
        if self.plain and not self._console.is_terminal:
            self._console.width = WIDTH

    def line(self, text: str = "", style: str = "") -> None:
        self._console.print(Text(self._fit(text), style=style), soft_wrap=True)

    def exercise(self, exercise: Exercise, result: ExerciseResult, verbose: bool, edit: str, spec: str) -> None:
        """One exercise on one screen. edit, spec: the paths of submission and task as the learner would type them."""
        self.line(f"{exercise.number} {exercise.title}, {_engine(result)}", "bold")
        for function, checks in groupby(result.checks, key=lambda check: check.function):
            self.line()
            self.line(f"  {function}" if function else "")
            self._checks(list(checks), verbose)
        for timing in result.timings:
            self._timing(timing)
        self.line()
        for text in _closing(exercise, result, edit, spec):
            self.line(text)
        if verbose:
            self._details(result)

    @contextmanager
    def progress(self, first: str) -> Iterator[Callable[[Event], None]]:
        """A bar of the checks of the exercise at work, fed with the judge's events; nothing where no terminal is."""
        if self.plain:
            yield lambda event: None
            return
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.completed} of {task.total}"),
            TimeElapsedColumn(),
        )
        with Progress(*columns, console=self._console, transient=True) as bar:
            task = bar.add_task(f"starting {first}", total=None)

            def advance(event: Event) -> None:
                if isinstance(event, Started):
                    bar.reset(task, description=event.exercise, total=event.checks)
                elif isinstance(event, CheckResult):
                    bar.advance(task)

            yield advance

    def track(self, title: str, rows: Sequence[TrackRow], next_step: str) -> None:
        """The table of the whole track, a bar, and the next command to type."""
        table = Table(title=None, box=None, pad_edge=False, header_style="bold")
        for column in ("", "exercise", "status", "points", "engine", "time / reference"):
            table.add_column(column, justify="right" if column in ("points", "time / reference") else "left", no_wrap=True)
        for row in rows:
            table.add_row(*(Text(self._fit(cell), style=style) for cell, style in _cells(row, self.plain)))
        self.line(title, "bold")
        self.line()
        self._console.print(table)
        self.line()
        self.line(_bar(rows))
        self.line(next_step)

    def _checks(self, checks: Sequence[CheckResult], verbose: bool) -> None:
        shown = [c for c in checks if verbose or not _waits(c)]
        for check in shown:
            mark, word, style = _MARKS[Status.NOT_RUN if check.kind is Kind.NOT_STARTED else check.status]
            skipped = check.status is Status.NOT_RUN and len(check.reason) == 1
            remark = check.kind or (f"not run, {check.reason[0]}" if skipped else "")
            self.line(f"  {word if self.plain else mark:4} {check.label}{f': {remark}' if remark else ''}", style)
            for text in () if skipped else "\n".join(check.reason).splitlines():
                self.line(f"         {text}")
            if verbose:
                self.line(f"         {check.cases} cases, {check.seconds:.2f} s", "dim")
        waiting = len(checks) - len(shown)
        if waiting:
            mark, word, style = _MARKS[Status.NOT_RUN]
            self.line(f"  {word if self.plain else mark:4} {waiting} more, not run: {_first_reason(checks)}", style)

    def _timing(self, timing: TimingResult) -> None:
        ours, theirs = timing.seconds * 1e6, timing.reference_seconds * 1e6
        self.line(f"  speed of {timing.function} on {timing.label}: {timing.verdict}")
        self.line(f"         {ours:.0f} µs, reference {theirs:.0f} µs, {timing.rate / 1e12:.2f} TB/s")
        interval = f"99 % interval {timing.low:.3f} to {timing.high:.3f}, {timing.pairs} pairs"
        self.line(f"         ratio {timing.ratio:.3f} ({interval}), target {timing.target:g}")

    def _details(self, result: ExerciseResult) -> None:
        self.line()
        self.line(f"seed {result.seed}; {', '.join(f'{name} {version}' for name, version in result.versions)}", "dim")
        for layer in result.sandbox:
            self.line(f"sandbox: {layer}", "dim")
        if result.output:
            self.line("printed by the submission:")
            for text in result.output.splitlines():
                self.line(f"    {text}")

    def _fit(self, text: str) -> str:
        """Without control characters; as ASCII where the terminal may not know more."""
        printable = "".join(c for c in text if c.isprintable())
        return printable.translate(_ASCII).encode("ascii", "replace").decode() if self.plain else printable


def _engine(result: ExerciseResult) -> str:
    if result.engine == "gpu":
        return f"on {result.device or 'the GPU'}"
    return "on the CPU interpreter"


def _waits(check: CheckResult) -> bool:
    """Whether a check was left out because an earlier one failed, which one line says for all."""
    return check.status is Status.NOT_RUN and bool(check.reason) and check.reason[0].endswith("comes first")


def _first_reason(checks: Iterable[CheckResult]) -> str:
    return next(check.reason[0] for check in checks if _waits(check))


def _closing(exercise: Exercise, result: ExerciseResult, edit: str, spec: str) -> Iterator[str]:
    """What the result means, and what to do next."""
    count = f"{result.passed_checks} of {len(result.checks)} checks passed"
    waiting = sum(check.status is Status.NOT_RUN for check in result.checks)
    if result.status is Status.PASSED and result.engine == "gpu":
        yield f"Passed: {count} on {result.device}."
    elif result.status is Status.PASSED:
        yield f"Passed on the CPU interpreter: {count}. {_need(waiting)}Not timed, not verified on a GPU."
    elif result.status is Status.GRADER_ERROR:
        yield "The grader or this machine could not do it; this is not your kernel's fault. Try: grader doctor"
    elif result.status is Status.NOT_RUN:
        yield "Nothing was graded."
    else:
        yield f"{count}. Edit {edit}"
        yield f"Read the task: {spec}. Stuck? grader hint {exercise.number}"


def _need(waiting: int) -> str:
    return "" if not waiting else "1 needs a GPU. " if waiting == 1 else f"{waiting} need a GPU. "


def _cells(row: TrackRow, plain: bool) -> list[tuple[str, str]]:
    result = row.result
    status, style = _status(row)
    mark = "" if result is None else _MARKS[_calm(result)][1 if plain else 0]
    ratios = [f"{timing.ratio:.2f}" for timing in result.timings] if result else []
    return [
        ("" if row.stale else mark, style),
        (f"{row.exercise.number} {row.exercise.title}", ""),
        (status, style),
        (f"{row.exercise.points if row.solved else 0} of {row.exercise.points}", ""),
        (result.engine if result else "", ""),
        (", ".join(ratios), ""),
    ]


def _calm(result: ExerciseResult) -> Status:
    """What nobody has begun is no failure to shout about."""
    return Status.NOT_RUN if result.kind is Kind.NOT_STARTED else result.status


def _status(row: TrackRow) -> tuple[str, str]:
    if row.result is None:
        return "not checked", "dim"
    if row.stale:
        return f"changed since it {_past(row.result)}", "dim"
    text = f"{row.result.kind or row.result.status}" if row.result.status is Status.FAILED else str(row.result.status)
    return text, "dim" if row.result.kind is Kind.NOT_STARTED else _MARKS[row.result.status][2]


def _past(result: ExerciseResult) -> str:
    return str(result.status) if result.status in (Status.PASSED, Status.FAILED) else "was checked"


def _bar(rows: Sequence[TrackRow]) -> str:
    solved, width = sum(row.solved for row in rows), 28
    filled = width * solved // max(1, len(rows))
    points = sum(row.exercise.points for row in rows if row.solved)
    total = sum(row.exercise.points for row in rows)
    return f"{'█' * filled}{'░' * (width - filled)} {solved} of {len(rows)} solved, {points} of {total} points"
