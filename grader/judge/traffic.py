"""How many bytes do the kernels move, beside those of the reference solution? Counted on the interpreter: no time, no noise.

A kernel that waits for memory is as fast as its traffic is small. What is extra is named: a tensor that is read again and
again, or an intermediate result that goes to memory and comes back.
"""

import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from grader.course import Workload
from grader.judge.answer import Moved, Traffic
from grader.judge.grade import unjudged
from grader.judge.submission import CheckFailed, Submission
from grader.results import CheckResult, Kind, Status, TensorTraffic, TrafficResult

MAX_OUTPUT = 64 << 20  # bytes of one call's outputs
MENTIONED = 0.03  # of all bytes: what moves less is not worth a line
SCRATCH = "scratch memory"


def run(
    submission: Submission, solution: Path, functions: Iterable[str]
) -> tuple[tuple[TrafficResult, ...], tuple[CheckResult, ...]]:
    """Count on every traffic workload of `functions`, in new runners. The second part holds a check for each."""
    exercise = submission.exercise
    wanted = [workload for workload in exercise.traffic if workload.function in functions]
    blind = submission.introduction is not None and submission.introduction.unchecked
    if blind or not wanted or not solution.is_file():
        return (), ()
    rivals = [Submission(path, exercise, submission.nursery) for path in (submission.path, solution)]
    try:
        judged = [_judge(workload, *rivals) for workload in wanted]
    finally:
        for rival in rivals:
            rival.stop()
    return tuple(result for result, _ in judged if result), tuple(check for _, check in judged)


def _judge(workload: Workload, submission: Submission, reference: Submission) -> tuple[TrafficResult | None, CheckResult]:
    label, began = f"memory traffic on {workload.label}", time.monotonic()
    try:
        ours, theirs = (_count(workload, rival) for rival in (submission, reference))
    except CheckFailed as failure:
        return None, CheckResult(workload.function, label, Status.FAILED, failure.kind, failure.lines)
    result = TrafficResult(
        workload.function, workload.label, workload.target, ours.bytes, theirs.bytes, ours.flops, ours.specials,
        tuple(_times(moved) for moved in ours.tensors),
    )  # fmt: skip
    seconds = time.monotonic() - began
    if workload.operations and ours.flops > workload.operations * theirs.flops:
        done = f"does {ours.flops:,} operations in tl.dot, {ours.flops / theirs.flops:.2f} times the reference solution's"
        line = f"{done} {theirs.flops:,}; the target is {workload.operations:g}"
        return result, CheckResult(workload.function, label, Status.FAILED, Kind.TOO_SLOW, (line,), 1, seconds)
    if result.ratio <= workload.target:
        return result, CheckResult(workload.function, label, Status.PASSED, cases=1, seconds=seconds)
    moved = f"moves {ours.bytes:,} bytes, {result.ratio:.2f} times the reference solution's {theirs.bytes:,}"
    lines = (f"{moved}; the target is {workload.target:g}", *list(_extras(ours, theirs))[:3])
    return result, CheckResult(workload.function, label, Status.FAILED, Kind.TRAFFIC, lines, 1, seconds)


def _count(workload: Workload, rival: Submission) -> Traffic:
    """What one call on random inputs moves. Raises CheckFailed."""
    grade, arguments = unjudged(rival, workload)
    return grade.observe(*arguments, limit=MAX_OUTPUT).traffic


def _extras(ours: Traffic, theirs: Traffic) -> Iterator[str]:
    """What the submission moves and the reference solution does not, the most first."""
    same = {moved.role: moved for moved in theirs.tensors}
    scratch = [(m.bytes, m.loaded, m.stored) for m in theirs.tensors if m.role == SCRATCH]
    for moved in sorted(ours.tensors, key=lambda moved: -(moved.loaded + moved.stored)):
        other = same.get(moved.role)
        if moved.loaded + moved.stored < MENTIONED * ours.bytes or (moved.bytes, moved.loaded, moved.stored) in scratch:
            continue
        if moved.role == SCRATCH and moved.stored and moved.loaded:
            yield f"an intermediate result of {moved.bytes:,} bytes ({moved.name}) is written and read back"
        elif moved.role.startswith("output") and moved.loaded:
            yield f"{moved.role} ({moved.name}) is read back {_share(moved.loaded, moved.bytes)} times"
        elif other and moved.loaded > other.loaded:
            ours_read, theirs_read = (_share(m.loaded, m.bytes) for m in (moved, other))
            yield f"{moved.role} ({moved.name}) is read {ours_read} times, by the reference solution {theirs_read} times"


def _share(part: int, whole: int) -> str:
    return f"{part / max(whole, 1):.1f}"


def _times(moved: Moved) -> TensorTraffic:
    size = max(moved.bytes, 1)
    return TensorTraffic(moved.name, moved.role, moved.bytes, moved.loaded / size, moved.stored / size)
