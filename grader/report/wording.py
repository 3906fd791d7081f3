"""What the reports say about records, whether on a terminal or on a page: the same words in both."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from textwrap import wrap

from grader.course import Exercise
from grader.results import CheckResult, CompiledKernel, Diagnosis, ExerciseResult, Kind, Status, TimingResult, TrafficResult

WIDTH = 90  # characters of a paragraph
BALANCE = 50  # operations per byte; every GPU that Triton knows can do more than that, so the operations take the time
MARKS = {Status.PASSED: "✓", Status.FAILED: "✗", Status.NOT_RUN: "–", Status.GRADER_ERROR: "!"}


@dataclass(frozen=True)
class TrackRow:
    """One line of the track's table. `result` is the last one there is; `stale`: the file has changed since."""

    exercise: Exercise
    result: ExerciseResult | None
    stale: bool = False

    @property
    def solved(self) -> bool:
        return self.result is not None and not self.stale and self.result.status is Status.PASSED


def engine(result: ExerciseResult) -> str:
    if result.engine == "gpu":
        return f"on {result.device or 'the GPU'}"
    return "on the CPU interpreter"


def calm(record: CheckResult | ExerciseResult) -> Status:
    """The status to show: what nobody has begun is no failure to shout about."""
    return Status.NOT_RUN if record.kind is Kind.NOT_STARTED else record.status


def waits(check: CheckResult) -> bool:
    """Whether a check was left out because an earlier one failed, which one line says for all."""
    return check.status is Status.NOT_RUN and bool(check.reason) and check.reason[0].endswith("comes first")


def waiting(checks: Iterable[CheckResult]) -> list[CheckResult]:
    return [check for check in checks if waits(check)]


def skipped(check: CheckResult) -> bool:
    """Whether a check was not run for a reason short enough to stand beside its label."""
    return check.status is Status.NOT_RUN and len(check.reason) == 1


def reason_lines(check: CheckResult) -> list[str]:
    """What to write below a check's label."""
    return [] if skipped(check) else "\n".join(check.reason).splitlines()


def closing(exercise: Exercise, result: ExerciseResult, edit: str, spec: str) -> Iterator[str]:
    """What the result means, and what to do next. edit, spec: the paths of submission and task as the learner types them."""
    count = f"{result.passed_checks} of {len(result.checks)} checks passed"
    not_run = sum(check.status is Status.NOT_RUN for check in result.checks)
    if result.status is Status.PASSED and result.engine == "gpu":
        yield f"Passed: {count} on {result.device}."
    elif result.status is Status.PASSED:
        compiles = f", compiles for {result.compiled[0].target}" if result.compiled else ""
        yield f"Passed on the CPU interpreter: {count}. {_need(not_run)}".rstrip()
        traffic = ", traffic" if result.traffic else ""
        safety = "" if "memory safety" in result.unchecked else ", memory safety"
        missed = f" {' and '.join(result.unchecked)} not checked;" if result.unchecked else ""
        yield f"CPU-verified: values{safety}{traffic}{compiles};{missed} not timed, not verified on a GPU."
    elif result.status is Status.GRADER_ERROR:
        yield "The grader or this machine could not do it; this is not your kernel's fault. Try: grader doctor"
    elif result.status is Status.NOT_RUN:
        yield "Nothing was graded."
    else:
        for found in result.diagnoses:
            yield from (*diagnosis(found), "")
        yield f"{count}. Edit {edit}"
        yield f"Read the task: {spec}. Stuck? grader hint {exercise.number}"


def diagnosis(found: Diagnosis) -> Iterator[str]:
    """Which mistake explains the wrong results, and what is behind it."""
    yield equal(found)
    for name, text in zip(found.names, found.texts, strict=True):
        yield f"  {name}"
        yield from (f"    {line}" for line in wrap(text, WIDTH))


def equal(found: Diagnosis) -> str:
    """What the wrong results are equal to, before the mistakes are named."""
    cases = f"{found.cases} wrong results" if found.cases > 1 else "wrong result"
    gives = "what this mistake gives" if len(found.names) == 1 else "what either of two mistakes gives"
    if found.joint:
        gives = "what two mistakes at once give" if len(found.names) > 1 else "what this mistake gives together with another"
    return f"{found.function}: its {cases} equal {gives}, to rounding:"


def status(row: TrackRow) -> tuple[str, Status]:
    """The state of one row: in words, and the status whose mark and colour it gets."""
    if row.result is None:
        return "not checked", Status.NOT_RUN
    if row.stale:
        return f"changed since it {past(row.result)}", Status.NOT_RUN
    return outcome(row.result), calm(row.result)


def outcome(record: CheckResult | ExerciseResult) -> str:
    """The kind of failure, or the status where nothing failed."""
    return str(record.kind or record.status) if record.status is Status.FAILED else str(record.status)


def past(result: ExerciseResult) -> str:
    """What became of the file when it was graded, to follow "since it"."""
    return str(result.status) if result.status in (Status.PASSED, Status.FAILED) else "was checked"


def points(row: TrackRow) -> str:
    return f"{row.exercise.points if row.solved else 0} of {row.exercise.points}"


def speed(timing: TimingResult) -> str:
    """The verdict on one workload in a word or two."""
    return "meets, excellent" if timing.is_excellent else str(timing.verdict)


def rate(timing: TimingResult) -> str:
    """Operations per second where they take the time, else bytes per second."""
    if _bound_by_arithmetic(timing):
        return f"{timing.flops / timing.seconds / 1e12:.0f} TFLOP/s"
    return f"{timing.bytes / timing.seconds / 1e12:.2f} TB/s"


def share(timing: TimingResult) -> str:
    """How much that is of what this GPU reached at best."""
    return f"{timing.fraction:.0%} of a large {'cuBLAS product' if _bound_by_arithmetic(timing) else 'copy'}"


def _bound_by_arithmetic(timing: TimingResult) -> bool:
    return timing.flops / timing.bytes > BALANCE


def traffic(counted: TrafficResult) -> Iterator[str]:
    """What a call moved: a line in all, and one for each tensor."""
    more = f"; {counted.flops:,} operations in tl.dot" if counted.flops else ""
    specials = f"; {counted.specials:,} special functions" if counted.specials else ""
    whole = f"{counted.bytes:,} bytes, {counted.ratio:.2f} times the reference solution's"
    yield f"traffic of {counted.function} on {counted.label}: {whole}{more}{specials}"
    for tensor in counted.tensors:
        yield f"    {moved(tensor.name, tensor.role, tensor.bytes, tensor.loaded, tensor.stored)}"


def moved(name: str, role: str, size: int, loaded: float, stored: float) -> str:
    """How often a tensor of `size` bytes was read and written."""
    return f"{name} ({role}, {size:,} bytes): read {loaded:.2g}, written {stored:.2g} times"


def compiled(kernel: CompiledKernel) -> str:
    """What the compiler made of a kernel, in a line."""
    parts = [f"{kernel.warps} warps"]
    if kernel.registers is not None:
        spilled = f", {kernel.stack} bytes of them spilled" if kernel.stack else ""
        parts.append(f"{kernel.registers} registers{spilled}")
    parts.append(f"loads of {kernel.load_bytes} bytes" if kernel.load_bytes else "loads by descriptor")
    if kernel.shared:
        parts.append(f"{kernel.shared:,} bytes of shared memory")
    if kernel.tensor_cores:
        parts.append(f"tensor cores ({kernel.tensor_cores})")
    if kernel.occupancy is not None:
        parts.append(f"occupancy {kernel.occupancy:.0%}")
    return f"{kernel.kernel}, {kernel.dtype}: {', '.join(parts)}"


def ratios(row: TrackRow) -> str:
    """Times of all workloads, divided by the reference solution's."""
    return ", ".join(f"{timing.ratio:.2f}" for timing in row.result.timings) if row.result else ""


def solved(rows: Sequence[TrackRow]) -> int:
    return sum(row.solved for row in rows)


def score(rows: Sequence[TrackRow]) -> str:
    reached = sum(row.exercise.points for row in rows if row.solved)
    total = sum(row.exercise.points for row in rows)
    return f"{solved(rows)} of {len(rows)} solved, {reached} of {total} points"


def next_step(rows: Iterable[TrackRow]) -> str:
    unsolved = next((row.exercise for row in rows if not row.solved), None)
    return f"Next: grader check {unsolved.id}" if unsolved else "All of it is solved."


def _need(not_run: int) -> str:
    return "" if not not_run else "1 needs a GPU." if not_run == 1 else f"{not_run} need a GPU."
