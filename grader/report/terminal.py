"""Results as text on a terminal. Records in, lines out; whatever a learner wrote is printed as it is, never as markup."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from difflib import SequenceMatcher
from itertools import groupby, zip_longest

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from grader.course import Exercise
from grader.judge.job import Event, Started
from grader.report import picture, wording
from grader.report.wording import TrackRow
from grader.results import CheckResult, ErrorMap, ExerciseResult, Status, Tiles, TimingResult, Trace

_PLAIN = {Status.PASSED: "ok", Status.FAILED: "FAIL", Status.NOT_RUN: "-", Status.GRADER_ERROR: "!"}
_STYLES = {Status.PASSED: "green", Status.FAILED: "red", Status.NOT_RUN: "dim", Status.GRADER_ERROR: "yellow"}
_ASCII = str.maketrans({
    "×": "x", "−": "-", "–": "-", "—": "-", "…": "...", "·": "*", "²": "^2", "³": "^3", "∞": "inf", "µ": "u",
    "≥": ">=", "≤": "<=", "“": '"', "”": '"', "’": "'", "█": "#", "░": ".",
})  # fmt: skip
WIDTH = 100
NARROW = 80  # pictures fit on any terminal


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
        self.line(f"{exercise.number} {exercise.title}, {wording.engine(result)}", "bold")
        for function, checks in groupby(result.checks, key=lambda check: check.function):
            self.line()
            self.line(f"  {function}" if function else "")
            self._checks(list(checks), verbose)
        for timing in result.timings:
            self._timing(timing)
        self.line()
        for text in wording.closing(exercise, result, edit, spec):
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
            table.add_row(*(Text(self._fit(cell), style=style) for cell, style in self._cells(row)))
        self.line(title, "bold")
        self.line()
        self._console.print(table)
        self.line()
        self.line(_bar(rows))
        self.line(next_step)

    def bench(self, title: str, rows: Sequence[Sequence[str]]) -> None:
        """One workload, one line for each contender: name, time, rate, share of the ceiling, remark."""
        table = Table(box=None, show_header=False, pad_edge=False)
        for justify in ("left", "right", "right", "right"):
            table.add_column(justify=justify, no_wrap=True)
        table.add_column(overflow="fold")
        for row in rows:
            table.add_row(*(Text(self._fit(cell)) for cell in ("  " + row[0], *row[1:])))
        self.line()
        self.line(title, "bold")
        self._console.print(table)

    def trace(self, trace: Trace) -> None:
        """Which program touched what in one call: launch by launch, then how often in all."""
        self.line(picture.title(trace), "bold")
        for text in picture.remarks(trace):
            self.line(f"  {text}")
        for launch in trace.launches:
            self.line()
            self.line(f"  {picture.launch_title(launch)}", "bold")
            for part in picture.pictures(launch):
                self.line(f"    {part.title}")
                self._tiles(part.tiles)
            for text in picture.untouched(launch):
                self.line(f"    {text}")
        self.line()
        for tensor in trace.totals:
            self.line(f"  {picture.total(tensor)}")
            for verb, tiles in picture.uneven(tensor):
                self.line(f"    {tensor.name}, times {verb}{picture.merged(tiles)}")
                self._tiles(tiles)
        for text in trace.problem:
            self.line(f"  {text}", "red")

    def _tiles(self, tiles: Tiles) -> None:
        """A grid of cells; on a terminal, untouched ones are red and those touched more than once stand out."""
        for first, *cells in picture.table(tiles, NARROW - 6):
            line = Text(f"      {self._fit(first)}", style="dim")
            for cell in cells:
                line.append(f"  {self._fit(cell)}", style=_cell_style(cell.strip()))
            line.rstrip()
            self._console.print(line, soft_wrap=True)

    def side_by_side(self, left: Sequence[str], right: Sequence[str]) -> None:
        """Two texts in two columns, lines that are alike at the same height; a mark between those that are not."""
        width = (self._console.width - 3) // 2
        matcher = SequenceMatcher(a=left, b=right, autojunk=False)
        for kind, start, end, other_start, other_end in matcher.get_opcodes():
            for ours, theirs in zip_longest(left[start:end], right[other_start:other_end], fillvalue=""):
                one, other = (self._fit(text.expandtabs(4))[:width].ljust(width) for text in (ours, theirs))
                self.line(f"{one} {' ' if kind == 'equal' else '|'} {other}".rstrip())

    def _checks(self, checks: Sequence[CheckResult], verbose: bool) -> None:
        for check in (c for c in checks if verbose or not wording.waits(c)):
            status = wording.calm(check)
            remark = check.kind or (f"not run, {check.reason[0]}" if wording.skipped(check) else "")
            self._marked(status, f"{check.label}{f': {remark}' if remark else ''}")
            for text in wording.reason_lines(check):
                self.line(f"         {text}")
            if check.error_map:
                self._error_map(check.error_map)
            if verbose:
                self.line(f"         {check.cases} cases, {check.seconds:.2f} s", "dim")
        if not verbose and (waiting := wording.waiting(checks)):
            self._marked(Status.NOT_RUN, f"{len(waiting)} more, not run: {waiting[0].reason[0]}")

    def _error_map(self, drawn: ErrorMap) -> None:
        if picture.tells(drawn):
            self.line(f"         {picture.map_legend(drawn)}")
            for text in picture.map_lines(drawn, NARROW - 11):
                self.line(f"           {text}")
        self.line(f"         {drawn.worst}")

    def _marked(self, status: Status, text: str) -> None:
        self.line(f"  {self._mark(status):4} {text}", _STYLES[status])

    def _mark(self, status: Status) -> str:
        return _PLAIN[status] if self.plain else wording.MARKS[status]

    def _cells(self, row: TrackRow) -> list[tuple[str, str]]:
        words, status = wording.status(row)
        style = _STYLES[status]
        return [
            ("" if row.stale or row.result is None else self._mark(status), style),
            (f"{row.exercise.number} {row.exercise.title}", ""),
            (words, style),
            (wording.points(row), ""),
            (row.result.engine if row.result else "", ""),
            (wording.ratios(row), ""),
        ]

    def _timing(self, timing: TimingResult) -> None:
        ours, theirs = timing.seconds * 1e6, timing.reference_seconds * 1e6
        self.line(f"  speed of {timing.function} on {timing.label}: {wording.speed(timing)}")
        self.line(f"         {ours:.0f} µs, reference {theirs:.0f} µs; {wording.rate(timing)}, {wording.share(timing)}")
        interval = f"99 % interval {timing.low:.3f} to {timing.high:.3f}, {timing.rounds} rounds"
        self.line(f"         ratio {timing.ratio:.3f} ({interval}), target {timing.target:g}")

    def _details(self, result: ExerciseResult) -> None:
        self.line()
        self.line(f"seed {result.seed}; {', '.join(f'{name} {version}' for name, version in result.versions)}", "dim")
        for counted in result.traffic:
            for text in wording.traffic(counted):
                self.line(text, "dim")
        for kernel in result.compiled:
            self.line(f"{kernel.target}: {wording.compiled(kernel)}", "dim")
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


def _cell_style(words: str) -> str:
    if words == picture.NOBODY:
        return "not dim red"
    return "not dim bold cyan" if words.endswith("x") and words != "1x" else "not dim"


def _bar(rows: Sequence[TrackRow]) -> str:
    width = 28
    filled = width * wording.solved(rows) // max(1, len(rows))
    return f"{'█' * filled}{'░' * (width - filled)} {wording.score(rows)}"
