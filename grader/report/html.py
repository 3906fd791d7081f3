"""Results as one HTML page that needs nothing beside itself. Whatever a learner wrote is escaped, never markup."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path, PurePath

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from grader.report import picture, wording
from grader.report.wording import TrackRow
from grader.results import Cell, CheckResult, ExerciseResult, Kind, Speed, Status, Trace

_SPEED = {Speed.MEETS: Status.PASSED, Speed.MISSES: Status.FAILED, Speed.UNCLEAR: Status.NOT_RUN}


def render(title: str, rows: Sequence[TrackRow], when: str) -> str:
    """The whole page. title: of the course; when: the moment of writing, in ISO format."""
    return _page("report.html.jinja", title=title, rows=rows, when=when)


def render_traces(title: str, traces: Sequence[Trace]) -> str:
    """The page of `grader trace`. title: of the exercise."""
    return _page("trace.html.jinja", title=title, traces=traces)


def _page(template: str, **content: object) -> str:
    page = _environment().get_template(template).render(**content)
    return "".join(c for c in page if c == "\n" or c.isprintable())


def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(
        wording=wording,
        zip=zip,
        groups=_groups,
        failed=_failed,
        verdict=_verdict,
        check_words=_check_words,
        remark=_remark,
        speed=_SPEED,
        moment=_moment,
        short=_short,
        printed=_printed,
        picture=picture,
        shade=_shade,
    )
    return environment


def _shade(cell: Cell) -> str:
    """The class of a cell: the more often its elements were touched, the darker it is."""
    return f"x{min(cell.most, 4)}"


def _groups(result: ExerciseResult) -> list[tuple[str, list[CheckResult], list[CheckResult]]]:
    """For each function: its name, the checks to show one by one, and those that wait for an earlier one."""
    by_function: dict[str, list[CheckResult]] = {}
    for check in result.checks:
        by_function.setdefault(check.function, []).append(check)
    return [(name, [c for c in cs if not wording.waits(c)], wording.waiting(cs)) for name, cs in by_function.items()]


def _failed(words: str, status: Status) -> tuple[str, Status]:
    """A kind of failure with the word that goes with its mark; everything else as it is."""
    return (f"failed: {words}" if status is Status.FAILED else words), status


def _verdict(row: TrackRow, result: ExerciseResult) -> list[str]:
    """The closing lines of the terminal, with paths that tell nothing of the machine."""
    undiagnosed = replace(result, diagnoses=())  # those have a place of their own
    spec = f"exercises/{row.exercise.id}/spec.md"
    return list(wording.closing(row.exercise, undiagnosed, _short(result.submission), spec))


def _check_words(check: CheckResult) -> str:
    """The words beside a check's mark. A workload that was timed without a clear verdict counts as not run, but did run."""
    if check.kind is Kind.NOT_STARTED:
        return str(check.kind)
    timed = check.status is Status.NOT_RUN and check.cases and not wording.skipped(check)
    return "unclear" if timed else str(check.status)


def _remark(check: CheckResult) -> str:
    """What to say beside a check's label, which already has its mark and its status."""
    return check.reason[0] if wording.skipped(check) else str(check.kind or "")


def _moment(text: str) -> str:
    """A moment in ISO format, to the minute, as people write it."""
    try:
        return f"{datetime.fromisoformat(text):%Y-%m-%d %H:%M %Z}".strip()
    except ValueError:
        return text


def _short(path: str) -> str:
    """The end of a path: exercises/01_vector_add/kernel.py."""
    return str(PurePath(*PurePath(path).parts[-3:]))


def _printed(result: ExerciseResult) -> str:
    return "\n".join(result.output.expandtabs().splitlines())
