"""The command `grader`: arguments in, calls, exit code out. The only place that exits.

Exit codes of `grader check`: 0 all passed, 1 something failed, 2 wrong use or a broken course, 3 the grader or the machine
could not do it. torch is never imported here; a list must print at once.
"""

import ast
import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from grader import __version__, course
from grader.course import Course, CourseError, Exercise, UnknownExercise
from grader.differences import differences
from grader.hints import hints
from grader.judge.job import Finding, Job, JudgeFailed, Unit, examine, run, stages
from grader.judge.job import bench as run_bench
from grader.judge.job import trace as run_trace
from grader.report import wording
from grader.report.wording import TrackRow
from grader.results import BenchResult, ExerciseResult, Machine, Status
from grader.workspace import Workspace, write

OK, FAILED, WRONG_USE, UNABLE = 0, 1, 2, 3

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False, no_args_is_help=True)


class Engine(StrEnum):
    AUTO = "auto"
    INTERPRETER = "interpreter"
    GPU = "gpu"


class CompilerStage(StrEnum):
    TTIR = "ttir"
    TTGIR = "ttgir"
    LLIR = "llir"
    PTX = "ptx"
    SASS = "sass"
    AMDGCN = "amdgcn"


class CompilerTarget(StrEnum):
    SM_80 = "sm_80"
    SM_90 = "sm_90"
    GFX942 = "gfx942"


class WrongUse(Exception):
    """The command cannot mean anything; the message says what to type instead."""


Names = Annotated[
    list[str] | None, typer.Argument(help="Exercises: an id, a number, or a part of an id.", show_default=False)
]
Name = Annotated[str, typer.Argument(help="An exercise: its id, its number, or a part of its id.", show_default=False)]
Verbose = Annotated[bool, typer.Option("-v", "--verbose", help="Show everything: all checks, versions, printed output.")]
JsonFile = Annotated[
    Path | None, typer.Option("--json", metavar="FILE", help="Write the results to this file, too.", show_default=False)
]
From = Annotated[
    Path | None,
    typer.Option("--from", help="Grade this folder of submissions, or this one kernel file.", show_default=False),
]


def main() -> None:
    """Run the command; errors of use and of the course become one sentence and an exit code."""
    try:
        app()
    except (WrongUse, UnknownExercise, CourseError) as error:
        print(error, file=sys.stderr)
        sys.exit(WRONG_USE)
    except JudgeFailed as error:
        print(f"The grader could not do its work: {error}\nTry: grader doctor", file=sys.stderr)
        sys.exit(UNABLE)
    except OSError as error:
        print(f"{error.strerror}: {error.filename}", file=sys.stderr)
        sys.exit(UNABLE)


@app.callback()
def about() -> None:
    """A course in writing Triton GPU kernels, and its grader."""


@app.command("list")
def list_exercises() -> None:
    """Show the exercises of the track."""
    track = _course()
    workspace = Workspace(track)
    for exercise in track.exercises:
        result = workspace.result(exercise)
        state = (
            ""
            if result is None
            else "changed since"
            if workspace.is_stale(exercise, result)
            else str(result.kind or result.status)
        )
        print(f"{exercise.id:28} {exercise.title:40} {exercise.points:3} points  {state}".rstrip())
    print("\nStart with: grader check 01")


@app.command()
def check(
    names: Names = None,
    every: Annotated[bool, typer.Option("--all", help="Check every exercise.")] = False,
    source: From = None,
    engine: Annotated[Engine, typer.Option(help="Where kernels run.")] = Engine.AUTO,
    json_file: JsonFile = None,
    verbose: Verbose = False,
    seed: Annotated[
        int | None,
        typer.Option(help="Replay the random values of an earlier run; not kept as a result.", show_default=False),
    ] = None,
) -> None:
    """Check exercises; without a name, the first that is not solved."""
    track = _course()
    exercises = _chosen(track, names or [], every, source)
    units, missing = _units(track, exercises, source)
    results = _grade(track, Job(str(track.root), units, engine, seed, keep_going=verbose), verbose)
    if source is None and seed is None:
        for result in results:
            Workspace(track).save(result)
    if json_file:
        write(json_file, json.dumps({"format": 1, "results": [result.to_json() for result in results]}, indent=1) + "\n")
    if len(exercises) > 1:
        _show_track(track, exercises, results, source)
    for path in missing:
        print(f"No submission: {path} does not exist.", file=sys.stderr)
    raise typer.Exit(_exit_code(results, bool(missing)))


@app.command()
def progress(
    grade: Annotated[bool, typer.Option("--grade", help="Check every exercise first.")] = False,
) -> None:
    """Show how far you are. Always exits with 0, whatever the results."""
    track = _course()
    if grade:
        units, _ = _units(track, track.exercises, None)
        for result in _grade(track, Job(str(track.root), units), verbose=False, quiet=True):
            Workspace(track).save(result)
    _show_track(track, track.exercises, None, None)


@app.command()
def report(
    page: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Write the page to this file.", show_default=False)
    ] = None,
) -> None:
    """Write the last results as one HTML page."""
    if page is None:
        raise WrongUse("Say where to write the page: grader report --html FILE")
    if page.is_dir():
        raise WrongUse(f"{page} is a folder; name a file, as in: grader report --html {page / 'report.html'}")
    from grader.report.html import render

    track = _course()
    when = datetime.now(UTC).isoformat(timespec="seconds")
    write(page, render(track.title, _last_rows(track, track.exercises), when))
    print(f"Wrote {page}")


@app.command()
def hint(
    name: Name,
    level: Annotated[int | None, typer.Option(min=1, max=3, help="Show this level.", show_default=False)] = None,
) -> None:
    """Show the next hint for an exercise: first a question, then the shape of the answer, then the steps."""
    track = _course()
    exercise = track.find(name)
    levels = hints(track.spec(exercise).read_text(encoding="utf-8"))
    if not levels:
        raise CourseError(f"{track.spec(exercise)} has no hints.")
    workspace = Workspace(track)
    shown = min(level or workspace.next_hint(exercise, len(levels)), len(levels))
    for diagnosis in workspace.diagnoses(exercise):
        print("\n".join(wording.diagnosis(diagnosis)), end="\n\n")
    print(f"{exercise.number} {exercise.title}, hint {shown} of {len(levels)}\n\n{levels[shown - 1]}\n")
    print(f"More: grader hint {exercise.number}" if shown < len(levels) else f"Try it: grader check {exercise.id}")
    workspace.saw_hint(exercise, shown)


@app.command()
def solution(name: Name) -> None:
    """Show where your file differs from the reference solution, once it is solved or when you ask a second time."""
    from grader.report.terminal import Screen

    track = _course()
    exercise = track.find(name)
    if not Workspace(track).may_see_solution(exercise):
        print("You have not solved this one yet, and what you find yourself stays with you.")
        print(f"A smaller step: grader hint {exercise.number}. To see the solution nevertheless, ask again.")
        return
    files = [track.submission(exercise), track.solution(exercise), track.stub(exercise)]
    texts = [path.read_text(encoding="utf-8", errors="replace") if path.is_file() else "" for path in files]
    Screen().differences(list(differences(*texts)), *(_short(track, path) for path in files[:2]))


@app.command()
def reset(name: Name) -> None:
    """Put the stub of an exercise back; your file is kept as a backup."""
    track = _course()
    exercise = track.find(name)
    backup = Workspace(track).reset(exercise)
    print(f"{_short(track, track.submission(exercise))} is the stub again.")
    if backup:
        print(f"Your file is kept as {_short(track, backup)}")


@app.command()
def solve(names: Annotated[list[str], typer.Argument(help="Exercises.")]) -> None:
    """For instructors: swap reference solutions into exercises/. `unsolve` brings the learner's files back."""
    track = _course()
    for exercise in [track.find(name) for name in names]:
        done = Workspace(track).solve(exercise)
        print(f"{exercise.id}: {'the reference solution is in place' if done else 'was the reference solution already'}.")
    print("Back again: grader unsolve")


@app.command()
def unsolve(names: Names = None) -> None:
    """Bring back the files that `solve` has set aside; without a name, all of them."""
    track = _course()
    wanted = [track.find(name) for name in names or []] or track.exercises
    changed = [exercise.id for exercise in wanted if Workspace(track).unsolve(exercise)]
    print(f"Brought back: {', '.join(changed)}." if changed else "Nothing to bring back: no solution was swapped in.")


@app.command()
def doctor() -> None:
    """Look at this machine: versions, engine, sandbox, and what to do about each problem."""
    problems = _show_findings(examine("doctor"), show_ok=True)
    print("Everything is in order." if not problems else f"{problems} to look at.")
    raise typer.Exit(UNABLE if problems else OK)


@app.command()
def ir(
    name: Name,
    stage: Annotated[CompilerStage, typer.Option(help="What to show.")] = CompilerStage.TTGIR,
    target: Annotated[CompilerTarget, typer.Option(help="For which GPU; it need not be here.")] = CompilerTarget.SM_90,
    solution: Annotated[bool, typer.Option("--solution", help="Show the reference solution's kernels.")] = False,
    diff: Annotated[
        bool, typer.Option("--diff", help="Set yours (left) and the reference solution's side by side.")
    ] = False,
) -> None:
    """Show what the compiler makes of your kernels, without a GPU."""
    track = _course()
    exercise = track.find(name)
    files = [track.submission(exercise), track.solution(exercise)][:: -1 if solution else 1][: 2 if diff else 1]
    shown = list(stages(track.root, exercise.id, files, stage, target))
    if diff:
        from grader.report.terminal import Screen

        for ours, theirs in zip(shown[::2], shown[1::2], strict=True):
            Screen().side_by_side(ours.text.splitlines(), theirs.text.splitlines())
    else:
        print("\n".join(part.text for part in shown))
    raise typer.Exit(OK if all(part.ok for part in shown) else FAILED)


@app.command()
def trace(
    name: Name,
    function: Annotated[
        str | None, typer.Option(metavar="F", help="Only this function; else all of them.", show_default=False)
    ] = None,
    solution: Annotated[bool, typer.Option("--solution", help="Show the reference solution's tiles.")] = False,
    page: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Write a page to this file, too.", show_default=False)
    ] = None,
) -> None:
    """Show which program of your kernels loads and stores which elements, on one small case."""
    from grader.report import picture
    from grader.report.html import render_traces
    from grader.report.terminal import Screen

    track = _course()
    exercise = track.find(name)
    if function and function not in exercise.functions:
        raise WrongUse(f"{exercise.id} has no function {function}; it has {', '.join(exercise.functions)}.")
    wanted = [function] if function else exercise.functions
    missing = set(wanted) - {workload.function for workload in exercise.trace}
    if missing:
        raise CourseError(f"{exercise.id} in course.toml has no trace entry for {missing.pop()}.")
    path = track.solution(exercise) if solution else track.submission(exercise)
    screen, traces = Screen(), []
    for found in run_trace(track.root, exercise.id, path, wanted):
        traces.append(found)
        screen.trace(found)
        screen.line()
    if any(found.launches for found in traces):
        for text in picture.LEGEND:
            screen.line(text)
    if page:
        write(page, render_traces(f"{exercise.number} {exercise.title}", traces))
        print(f"Wrote {page}")
    raise typer.Exit(FAILED if any(found.problem for found in traces) else OK)


@app.command()
def vet(names: Names = None, verbose: Verbose = False) -> None:
    """For authors: prove that exercises are fit to be handed out; without a name, all of them."""
    track = _course()
    wanted = [track.find(name) for name in names or []] or track.exercises
    problems = _show_findings(examine("vet", str(track.root), *(e.id for e in wanted)), show_ok=verbose)
    counted = "1 problem" if problems == 1 else f"{problems} problems"
    print(f"{len(wanted)} vetted, {counted}." if problems else f"{len(wanted)} vetted: fit to be handed out.")
    raise typer.Exit(FAILED if problems else OK)


@app.command()
def new(
    name: Annotated[str, typer.Argument(help="Its id: a free number and a name, as in 15_my_kernel.", show_default=False)],
    title: Annotated[str | None, typer.Option(help="A few plain words; else made from the id.", show_default=False)] = None,
    function: Annotated[str | None, typer.Option(help="What a submission defines; else the id.", show_default=False)] = None,
) -> None:
    """For authors: begin a new exercise, a small one that works and marks what you have to fill."""
    from grader.author import Refused, create

    try:
        made = create(_course(), name, title, function)
    except Refused as error:
        raise WrongUse(str(error)) from None
    print(f"Wrote exercises/{made.id} and solutions/{made.id}, and an entry at the end of course.toml.")
    print(f"It works already: grader check {made.number} --from solutions")
    print(f"What you have to fill: grader vet {made.number}")


@app.command()
def bench(
    names: Names = None,
    json_file: JsonFile = None,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE.png", help="Draw the results; needs matplotlib.", show_default=False),
    ] = None,
) -> None:
    """Time kernels side by side on a GPU: yours, the reference solution, PyTorch, libraries."""
    from grader.report import bench as table
    from grader.report.terminal import Screen

    if plot and not find_spec("matplotlib"):
        raise WrongUse("--plot needs matplotlib: pip install matplotlib")
    track = _course()
    wanted = [track.find(name) for name in names or []] or track.exercises
    screen = Screen()
    events = run_bench(track.root, [exercise.id for exercise in wanted])
    machine, results = next(events), []
    assert isinstance(machine, Machine)
    for text in table.machine_lines(machine):
        screen.line(text)
    for result in events:
        assert isinstance(result, BenchResult)
        results.append(result)
        screen.bench(table.title(machine, result), table.rows(machine, result))
    screen.line()
    for text in table.CAUTION.splitlines():
        screen.line(text)
    if json_file:
        data = {"format": 1, "machine": asdict(machine), "results": [asdict(result) for result in results]}
        write(json_file, json.dumps(data, indent=1) + "\n")
    if plot:
        table.draw(machine, results, plot)
    raise typer.Exit(OK if results else UNABLE)


def _show_findings(findings: Iterable[Finding], show_ok: bool) -> int:
    """Print findings as they come, each problem with its cure; return the number of problems."""
    problems = 0
    for finding in findings:
        problems += not finding.ok
        if show_ok or not finding.ok:
            cure = "" if finding.ok else f"\n     {finding.cure}"
            print(f"{'ok  ' if finding.ok else 'FAIL'} {finding.text}{cure}")
    return problems


@app.command()
def version() -> None:
    """Print the grader's version."""
    print(f"grader {__version__}")


def _course() -> Course:
    return course.load(course.find_root(Path.cwd()))


def _chosen(track: Course, names: Sequence[str], every: bool, source: Path | None) -> tuple[Exercise, ...]:
    """The exercises that a `check` means."""
    if every and names:
        raise WrongUse("Give either names or --all.")
    if every:
        return track.exercises
    if names:
        return tuple(dict.fromkeys(track.find(name) for name in names))
    if source is not None and source.is_file():
        return (_exercise_of(track, source),)
    if source is not None:
        raise WrongUse(f"Which exercises in {source}? Give names or --all.")
    return (_first_unsolved(track),)


def _exercise_of(track: Course, file: Path) -> Exercise:
    """The exercise that a single file answers: by the name of its folder, else by the functions it defines."""
    for exercise in track.exercises:
        if file.resolve().parent.name == exercise.id:
            return exercise
    try:
        tree = ast.parse(file.read_text(encoding="utf-8", errors="replace"))
    except (SyntaxError, ValueError):
        raise WrongUse(f"{file} is not valid Python, so give the exercise's name, too.") from None
    defined = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    found = [exercise for exercise in track.exercises if set(exercise.functions) <= defined]
    if len(found) != 1:
        raise WrongUse(f"Which exercise is {file}? Give its name, too.")
    return found[0]


def _first_unsolved(track: Course) -> Exercise:
    workspace = Workspace(track)
    for exercise in track.exercises:
        if not workspace.has_solved(exercise):
            return exercise
    raise WrongUse("Every exercise is solved. To check them again: grader check --all")


def _units(track: Course, exercises: Sequence[Exercise], source: Path | None) -> tuple[tuple[Unit, ...], list[Path]]:
    """The files to grade, and those that are missing."""
    if source is not None and not source.exists():
        raise WrongUse(f"{source} does not exist.")
    if source is not None and source.is_file() and len(exercises) > 1:
        raise WrongUse(f"{source} is one file; name one exercise.")
    paths = {exercise.id: _submission(track, exercise, source) for exercise in exercises}
    units = tuple(Unit(name, str(path)) for name, path in paths.items() if path.is_file())
    return units, [path for path in paths.values() if not path.is_file()]


def _submission(track: Course, exercise: Exercise, source: Path | None) -> Path:
    if source is None:
        return track.submission(exercise)
    return (source if source.is_file() else source / exercise.id / "kernel.py").resolve()


def _grade(track: Course, job: Job, verbose: bool, quiet: bool = False) -> list[ExerciseResult]:
    """Run a job; show each exercise as soon as it is done, and a progress bar meanwhile."""
    if not job.units:
        return []
    from grader.report.terminal import Screen

    screen, results = Screen(), []
    with screen.progress(job.units[0].exercise) as advance:
        for event in run(job):
            advance(event)
            if isinstance(event, ExerciseResult):
                results.append(event)
                if not quiet:
                    exercise = track.find(event.exercise)
                    edit, spec = (_short(track, path) for path in (Path(event.submission), track.spec(exercise)))
                    screen.exercise(exercise, event, verbose, edit, spec)
                    screen.line()
    return results


def _show_track(
    track: Course, exercises: Sequence[Exercise], results: Sequence[ExerciseResult] | None, source: Path | None
) -> None:
    """The table: of the given results, or of the learner's last ones."""
    from grader.report.terminal import Screen

    rows = _last_rows(track, exercises) if results is None else _rows(exercises, results)
    Screen().track(track.title, rows, wording.next_step(rows) if source is None else f"Graded: {source}")


def _rows(exercises: Sequence[Exercise], results: Sequence[ExerciseResult]) -> list[TrackRow]:
    given = {result.exercise: result for result in results}
    return [TrackRow(exercise, given.get(exercise.id)) for exercise in exercises]


def _last_rows(track: Course, exercises: Sequence[Exercise]) -> list[TrackRow]:
    """The learner's last results, marked as stale where the file has changed since."""
    workspace = Workspace(track)
    kept = [(exercise, workspace.result(exercise)) for exercise in exercises]
    return [TrackRow(e, r, r is not None and workspace.is_stale(e, r)) for e, r in kept]


def _exit_code(results: Sequence[ExerciseResult], missing: bool) -> int:
    found = {result.status for result in results}
    if Status.GRADER_ERROR in found:
        return UNABLE
    return OK if found == {Status.PASSED} and not missing else FAILED


def _short(track: Course, path: Path) -> str:
    """A path as the learner would type it."""
    for base in (Path.cwd(), track.root):
        if path.is_relative_to(base):
            return str(path.relative_to(base))
    return str(path)
