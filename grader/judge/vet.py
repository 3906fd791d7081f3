"""Is an exercise fit to be handed out? Each finding answers one question about its files, its tests or its solution.

The tests are tried on outputs that nobody computed: zeros, the mean, a copy of the input, an answer to another question.
If such an output passed, the tests would be worth nothing, however many there are.
"""

import json
import math
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from grader import course, mistakes
from grader.course import Course, Exercise
from grader.hints import hints
from grader.judge import compiling, traffic
from grader.judge.cases import Case, Recorder, Recording
from grader.judge.grade import expectation
from grader.judge.job import Finding
from grader.judge.nursery import Nursery, decide_engine
from grader.judge.plugin import Checks, run_checks
from grader.judge.submission import Submission
from grader.mistakes import Mistake
from grader.results import CheckResult, Kind, Status

SECTIONS = ["Goal", "Contract", "Formula", "Picture", "Cost", "Your part", "Try it", "Traps", "Hints", "Further reading"]
SPEC_LINES = 120
CLEARLY = 2.0  # a fake output must exceed the allowed error this many times
FILL = "FILL: "  # where `grader new` left something to the author
TODO = re.compile(r"# TODO\((\d+)\): .+\.$")

Fake = Callable[[Sequence[Tensor], Tensor, Tensor], Tensor]  # (inputs, expected, expected of the first case) -> output


def vet(track: Course, exercise: Exercise, nursery: Nursery) -> Iterator[Finding]:
    """Every question about one exercise, answered."""
    yield _filled(track, exercise)
    yield from _spec(track, exercise)
    yield from _stub_text(track, exercise)
    yield _stub_result(track, exercise, nursery)
    yield from _solution_result(track, exercise, nursery)
    yield from _tests(track, exercise, nursery)
    yield from _mistakes(track, exercise, nursery)


def _filled(track: Course, exercise: Exercise) -> Finding:
    lines = [*_entry(track, exercise), *_lines(track, exercise)]
    places = [f"{path}, line {number}: {line.partition(FILL)[2]}" for path, number, line in lines if FILL in line]
    return Finding(not places, "no place is left to fill", "\n     ".join(["Places to fill:", *places]))


def _entry(track: Course, exercise: Exercise) -> Iterator[tuple[Path, int, str]]:
    """The lines of the exercise's entry in course.toml, from its id to the next one's."""
    own = False
    for number, line in enumerate((track.root / "course.toml").read_text(encoding="utf-8").splitlines(), 1):
        own = f'"{exercise.id}"' in line if line.startswith("id = ") else own
        if own:
            yield Path("course.toml"), number, line


def _lines(track: Course, exercise: Exercise) -> Iterator[tuple[Path, int, str]]:
    """The lines of all files of the exercise."""
    for folder in (track.solution(exercise).parent, track.spec(exercise).parent):
        for path in sorted(path for path in folder.iterdir() if path.suffix in (".py", ".md", ".toml")):
            for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
                yield path.relative_to(track.root), number, line


def _spec(track: Course, exercise: Exercise) -> Iterator[Finding]:
    path = track.spec(exercise)
    spec = path.read_text(encoding="utf-8")
    found = re.findall(r"^## (.+)$", spec, re.MULTILINE)
    yield Finding(found == SECTIONS, "the spec has its sections", f"Found {found}; expected {SECTIONS}.")
    lines = len(spec.splitlines())
    yield Finding(lines <= SPEC_LINES, f"the spec has at most {SPEC_LINES} lines", f"It has {lines}.")
    yield Finding(len(hints(spec)) == 3 and all(hints(spec)), "there are three hints", f"Found {len(hints(spec))}.")
    dead = [link for link in re.findall(r"\]\((?!http)([^)#]+)", spec) if not (path.parent / link).exists()]
    yield Finding(not dead, "links of the spec resolve", f"Dead: {dead}")
    yield Finding(f"grader check {exercise.id}" in spec, "the spec says how to try it", f"Add: grader check {exercise.id}")


def _stub_text(track: Course, exercise: Exercise) -> Iterator[Finding]:
    lines = track.stub(exercise).read_text(encoding="utf-8").splitlines()
    kept = [line for line in lines if line.strip() != "pass" and not TODO.match(line.strip())]
    rest = iter(track.solution(exercise).read_text(encoding="utf-8").splitlines())
    strangers = [line for line in kept if not any(line == other for other in rest)]
    yield Finding(not strangers, "the stub is the solution with gaps", f"Not in the solution: {strangers[:1]}")
    numbers = [int(number) for number in re.findall(r"# TODO\((\d+)\)", "\n".join(lines))]
    yield Finding(numbers == list(range(1, len(numbers) + 1)) and bool(numbers), "TODOs are numbered", f"Found {numbers}.")
    spec = track.spec(exercise).read_text(encoding="utf-8")
    explained = [int(number) for number in re.findall(r"^\d\. `TODO\((\d+)\)`", spec, re.MULTILINE)]
    yield Finding(explained == numbers, "the spec explains each TODO", f"It explains {explained}; the stub has {numbers}.")


def _stub_result(track: Course, exercise: Exercise, nursery: Nursery) -> Finding:
    checks = _grade(track, exercise, track.stub(exercise), nursery).results
    first = {check.function: check for check in reversed(checks)}
    fine = set(first) == set(exercise.functions) and all(c.kind is Kind.NOT_STARTED for c in first.values())
    reasons = [f"{c.function}: {c.kind or c.status} {' '.join(c.reason)}" for c in first.values()]
    return Finding(fine, f"the stub runs on the {nursery.engine} and counts as not started", "; ".join(reasons))


def _solution_result(track: Course, exercise: Exercise, nursery: Nursery) -> Iterator[Finding]:
    done = _grade(track, exercise, track.solution(exercise), nursery)
    checks = done.results
    wrong = [c for c in checks if c.status not in (Status.PASSED, Status.NOT_RUN) or c.reason not in ((), ("needs a GPU",))]
    reasons = [f"{c.label}: {c.kind or c.status} {' '.join(c.reason)}" for c in wrong[:1]]
    yield Finding(bool(checks) and not wrong, f"the solution passes on the {nursery.engine}", "; ".join(reasons))
    if nursery.engine != "gpu":
        solution = Submission(track.solution(exercise), exercise, nursery)
        _, compiled = compiling.run(solution, nursery, done.specimens, exercise.functions)
        refused = [" ".join(check.reason) for check in compiled if check.status is not Status.PASSED]
        yield Finding(not refused, f"the solution compiles for {compiling.DEFAULT.title}", "; ".join(refused))


def _mistakes(track: Course, exercise: Exercise, nursery: Nursery) -> Iterator[Finding]:
    """Each known mistake must fail, clearly, and as what it says it is; those that only a GPU shows, on a GPU."""
    text = track.solution(exercise).read_text(encoding="utf-8")
    known = [m for m in mistakes.load(track.mistakes(exercise)) if m.engine in ("interpreter", nursery.engine)]
    for mistake in known:
        file = nursery.new_folder() / "kernel.py"
        file.write_text(mistake.applied(text), encoding="utf-8")
        found = _first_failure(track, exercise, file, nursery)
        if found and 0 < found.margin < CLEARLY:
            found = replace(found, margin=_largest_margin(track, exercise, file, nursery))
        yield _is_caught(mistake, found, applies=mistake.applied(text) != text)


class UntilFailure(Checks):
    """Runs hidden tests up to the first that fails."""

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        super().pytest_runtest_setup(item)
        if any(check.kind for check in self.results):
            item.session.shouldstop = "one has failed"
            pytest.skip("one has failed")


def _first_failure(track: Course, exercise: Exercise, path: Path, nursery: Nursery) -> CheckResult | None:
    """Of the hidden tests; where they pass, of what else is asked without a GPU."""
    submission = Submission(path, exercise, nursery)
    done = UntilFailure(submission, stub="", seed=0, keep_going=False, emit=lambda event: None)
    done.run(track.hidden_tests(exercise))
    submission.stop()
    checks = done.results
    if nursery.engine != "gpu" and not any(check.kind for check in checks):
        checks += traffic.run(submission, track.solution(exercise), exercise.functions)[1]
        checks += compiling.run(submission, nursery, done.specimens, exercise.functions)[1]
        submission.stop()
    return next((check for check in checks if check.status is Status.FAILED), None)


def _largest_margin(track: Course, exercise: Exercise, path: Path, nursery: Nursery) -> float:
    """Over all hidden tests: one of them may have let a mistake through by chance, and another not."""
    return max(check.margin for check in _grade(track, exercise, path, nursery, keep_going=True).results)


def _is_caught(mistake: Mistake, found: CheckResult | None, applies: bool) -> Finding:
    """found: the first check that failed."""
    right = applies and found is not None and found.kind is mistake.kind
    clear = found is not None and (found.margin == 0 or found.margin >= CLEARLY or found.kind is not Kind.VALUES)
    seen = f"{found.kind}, {found.margin:.1f} times the allowed error" if found else "passed"
    cure = f"It is: {seen}." if applies else "It changes nothing: `before` does not occur in kernel.py."
    return Finding(right and clear, f'the mistake "{mistake.name}" is caught as {mistake.kind}', cure)


def _grade(track: Course, exercise: Exercise, path: Path, nursery: Nursery, keep_going: bool = False) -> Checks:
    submission = Submission(path, exercise, nursery)
    try:
        return run_checks(
            submission, track.hidden_tests(exercise), track.stub_text(exercise), 0, keep_going, lambda event: None
        )
    finally:
        submission.stop()


def _tests(track: Course, exercise: Exercise, nursery: Nursery) -> Iterator[Finding]:
    recording = Recording(Submission(track.solution(exercise), exercise, nursery), seed=0)
    recording.run(track.hidden_tests(exercise))
    named = set(recording.oracles)
    yield Finding(named == set(exercise.functions), "every function has an oracle", f"ORACLES has {sorted(named)}.")
    timed = {workload.function for workload in exercise.workloads}
    yield Finding(timed == set(exercise.functions), "every function has a workload", f"Workloads are for {sorted(timed)}.")
    for function, recorders in recording.recorders.items():
        cases = [(recorder, case) for recorder in recorders for case in recorder.recorded if case.size > 1]
        first = _outputs(*cases[0], cases[0][1].arguments)
        for name, fake in FAKES.items():
            found = any(all(_clearly_off(_outputs(r, c, c.arguments), _faked(fake, r, c, first))) for r, c in cases)
            yield Finding(found, f"{function}: {name} fails", "Add a case that such an output fails clearly.")
        yield from _dependence(function, cases)


def _dependence(function: str, cases: Sequence[tuple[Recorder, Case]]) -> Iterator[Finding]:
    """Every tensor must matter: with other values in it, the oracle's answer must be another one."""
    places = {i for _, case in cases for i, argument in enumerate(case.arguments) if isinstance(argument, Tensor)}
    for place in sorted(places):
        having = [(r, c) for r, c in cases if len(c.arguments) > place and isinstance(c.arguments[place], Tensor)]
        pairs = ((_outputs(r, c, c.arguments), _outputs(r, c, _changed(c.arguments, place))) for r, c in having)
        found = any(any(_clearly_off(wanted, [value for value, _ in other])) for wanted, other in pairs)
        yield Finding(found, f"{function}: argument {place + 1} matters", "No case shows that it is used.")


def _changed(arguments: Sequence[Any], place: int) -> list[Any]:
    """The arguments with other values in one tensor."""
    changed = list(arguments)
    changed[place] = changed[place].flip(-1) + 1 if changed[place].dim() else changed[place] + 1
    return changed


def _outputs(recorder: Recorder, case: Case, arguments: Sequence[Any]) -> list[tuple[Tensor, Tensor]]:
    """Value and allowed error of each output on `arguments`."""
    dtype = next(argument.dtype for argument in case.arguments if isinstance(argument, Tensor))
    return expectation(recorder.oracle, arguments, dtype)


def _faked(fake: Fake, recorder: Recorder, case: Case, first: Sequence[tuple[Tensor, Tensor]]) -> list[Tensor]:
    inputs = [argument for argument in case.arguments if isinstance(argument, Tensor)]
    wanted = _outputs(recorder, case, case.arguments)
    return [fake(inputs, right, other) for (right, _), (other, _) in zip(wanted, first, strict=True)]


def _clearly_off(wanted: Sequence[tuple[Tensor, Tensor]], outputs: Sequence[Tensor]) -> list[bool]:
    """For each output, whether it is clearly wrong. wanted: value and allowed error of each."""
    return [_excess(output, right, bound) >= CLEARLY for (right, bound), output in zip(wanted, outputs, strict=True)]


def _excess(output: Tensor, right: Tensor, bound: Tensor) -> float:
    """The largest error of an output, in units of what is allowed."""
    fair = right.isfinite() & output.isfinite()
    smallest = torch.finfo(torch.float64).tiny
    return float(((output - right).abs() / bound.clamp_min(smallest))[fair].max()) if fair.any() else 0.0


def _fit(values: Tensor, shape: torch.Size) -> Tensor:
    """`values` in another shape, repeated or cut off as needed."""
    flat, size = values.double().flatten(), math.prod(shape)
    if not len(flat):
        return torch.zeros(shape, dtype=torch.float64)
    return flat.repeat(-(-size // len(flat)))[:size].reshape(shape)


FAKES: dict[str, Fake] = {
    "an output of zeros": lambda inputs, expected, first: torch.zeros_like(expected),
    "the mean everywhere": lambda inputs, expected, first: torch.full_like(
        expected, float(expected[expected.isfinite()].mean())
    ),
    "a copy of the input": lambda inputs, expected, first: _fit(inputs[0], expected.shape),
    "the first answer again": lambda inputs, expected, first: _fit(first, expected.shape),
}


def main() -> None:
    """Vet the exercises named on the command line, in the course in the first argument; print findings as JSON."""
    track = course.load(Path(sys.argv[1]))
    with closing(Nursery(decide_engine("auto"))) as nursery:
        for name in sys.argv[2:]:
            for finding in vet(track, track.find(name), nursery):
                print(json.dumps({**asdict(finding), "text": f"{name}: {finding.text}"}), flush=True)
