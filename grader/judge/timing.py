"""Is the submission fast enough? Two runners on one GPU, submission and reference solution, take turns: A B B A.

Each turn is a block of calls on fresh inputs with a cold cache, timed by the GPU's own events. One call of each block,
chosen afterwards, is compared with the oracle. Neighbouring blocks of A and B form a pair, so a drift of the clocks hits
both alike; the verdict rests on the median of the pairs' ratios and its 99 % interval, and is "unclear" when the target
lies inside that interval. Nothing here trusts a time that the GPU could not physically reach.
"""

import math
import secrets
import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import torch

from grader.channel import BadFrame
from grader.course import Workload
from grader.inputs import draw, window
from grader.judge.answer import Output, parse_outputs, parse_seconds
from grader.judge.grade import GPU_CALL_TIMEOUT, compare_with_oracle, take_outputs
from grader.judge.submission import CheckFailed, Submission
from grader.judge.tolerance import Oracle
from grader.results import CheckResult, Kind, Speed, Status, TimingResult

MIN_PAIRS, MAX_PAIRS = 12, 60
BUDGET = 20.0  # seconds for one workload; after that, what is not clear is called unclear
MAX_CALLS = 12  # per block
CONFIDENCE = 0.99
IMPOSSIBLE = 1.15  # times the measured copy rate


@dataclass(frozen=True)
class Contest:
    """One workload and the two that run it."""

    workload: Workload
    oracle: Oracle
    submission: Submission
    reference: Submission

    @property
    def inputs(self) -> list[dict[str, Any]]:
        return [{"shape": t.shape, "dtype": t.dtype} for t in self.workload.inputs]

    @property
    def input_bytes(self) -> int:
        return sum(math.prod(t.shape) * getattr(torch, t.dtype).itemsize for t in self.workload.inputs)


def run(
    submission: Submission, solution: Path, oracles: Mapping[str, Oracle]
) -> tuple[tuple[TimingResult, ...], tuple[CheckResult, ...]]:
    """Time every workload of the exercise in new runners. The second part holds a check for each workload."""
    if not solution.is_file() or not submission.exercise.workloads:
        return (), ()
    exercise = submission.exercise
    rivals = [Submission(path, exercise, submission.nursery) for path in (submission.path, solution)]
    try:
        judged = [_judge(Contest(w, oracles[w.function], *rivals)) for w in exercise.workloads]
    finally:
        for rival in rivals:
            rival.stop()
    return tuple(timing for timing, _ in judged if timing), tuple(check for _, check in judged)


def _judge(contest: Contest) -> tuple[TimingResult | None, CheckResult]:
    function, label = contest.workload.function, f"speed on {contest.workload.label}"
    began = time.monotonic()
    try:
        timing = _measure(contest)
    except CheckFailed as failure:
        if failure.kind is not Kind.MEMORY:
            return None, CheckResult(function, label, Status.FAILED, failure.kind, failure.lines)
        return None, CheckResult(function, label, Status.NOT_RUN, reason=("this GPU has too little memory for it",))
    except torch.OutOfMemoryError:
        return None, CheckResult(function, label, Status.NOT_RUN, reason=("this GPU has too little memory for it",))
    reason = (f"{timing.ratio:.2f} times the reference solution's time; the target is {timing.target:g}", timing.note)
    misses = timing.verdict is Speed.MISSES
    status = Status.FAILED if misses else Status.PASSED if timing.verdict is Speed.MEETS else Status.NOT_RUN
    kind = Kind.TOO_SLOW if misses else None
    lines = () if status is Status.PASSED else tuple(line for line in reason if line)
    return timing, CheckResult(function, label, status, kind, lines, timing.pairs, time.monotonic() - began)


def _measure(contest: Contest) -> TimingResult:
    calls = _calls_per_block(contest)
    output_bytes = _warm_up(contest, calls)
    ours: list[float] = []
    theirs: list[float] = []
    deadline = time.monotonic() + BUDGET
    while True:
        for first in (True, False):  # A B, then B A
            pair = [_block(contest, contest.submission if mine else contest.reference, calls) for mine in (first, not first)]
            ours.append(pair[0 if first else 1])
            theirs.append(pair[1 if first else 0])
        low, high = interval([a / b for a, b in zip(ours, theirs, strict=True)])
        clear = high <= contest.workload.target or low > contest.workload.target
        enough = len(ours) >= MIN_PAIRS and (clear or time.monotonic() > deadline)
        if enough or len(ours) >= MAX_PAIRS:
            return _result(contest, ours, theirs, contest.input_bytes + output_bytes)


def _result(contest: Contest, ours: Sequence[float], theirs: Sequence[float], n_bytes: int) -> TimingResult:
    ratios = [a / b for a, b in zip(ours, theirs, strict=True)]
    low, high = interval(ratios)
    seconds, target = statistics.median(ours), contest.workload.target
    verdict = Speed.MEETS if high <= target else Speed.MISSES if low > target else Speed.UNCLEAR
    note = "too close to the target to tell on this machine; run it again on an idle GPU" if verdict is Speed.UNCLEAR else ""
    if n_bytes / seconds > IMPOSSIBLE * copy_rate():
        verdict, note = Speed.UNCLEAR, "the time is shorter than this GPU needs to move the bytes; please report this"
    return TimingResult(
        contest.workload.function, contest.workload.label, verdict, target, statistics.median(ratios), low, high,
        seconds, statistics.median(theirs), n_bytes / seconds, len(ours), note,
    )  # fmt: skip


def interval(values: Sequence[float]) -> tuple[float, float]:
    """A 99 % interval for the median, from order statistics: it assumes nothing but that values are independent.

    The k-th smallest of n values lies above the median with the probability of fewer than k heads in n tosses. With fewer
    than 8 values no such interval exists, and the whole line is given.
    """
    ordered, n = sorted(values), len(values)
    tail, k = 0.0, 0
    while k < n // 2:
        tail += math.comb(n, k) / 2.0**n
        if 2 * tail > 1 - CONFIDENCE:
            break
        k += 1
    return (ordered[k - 1], ordered[n - k]) if k else (0.0, math.inf)


def copy_rate() -> float:
    """Bytes per second of a large copy on this GPU, reads and writes counted: what memory-bound work can reach."""
    source = torch.empty(1 << 29, dtype=torch.uint8, device="cuda")
    target = torch.empty_like(source)
    times = []
    for _ in range(7):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        target.copy_(source)
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end) / 1e3)
    return 2 * len(source) / float(statistics.median(times))


def _calls_per_block(contest: Contest) -> int:
    """As many as fit into a third of the free memory, for two runners with inputs and outputs."""
    free, _ = torch.cuda.mem_get_info()
    return max(1, min(MAX_CALLS, free // 3 // (4 * contest.input_bytes)))


def _warm_up(contest: Contest, calls: int) -> int:
    """Compile, tune and reach a steady clock on both sides; return the bytes of one call's outputs."""
    for rival in (contest.submission, contest.reference) * 2:
        _block(contest, rival, calls)
    output_bytes, _ = _show(contest.reference, 0, 0.0)
    return output_bytes


def _block(contest: Contest, rival: Submission, calls: int) -> float:
    """The median time of a block of calls, in seconds; one output of the submission is checked. Raises CheckFailed."""
    seed = secrets.randbits(62)
    request = {
        "do": "time",
        "function": contest.workload.function,
        "inputs": contest.inputs,
        "calls": calls,
        "seed": seed,
    }
    request["options"] = contest.workload.options
    times, _ = rival.ask(request, None, GPU_CALL_TIMEOUT, lambda frame: parse_seconds(frame, calls))
    if rival is contest.submission:
        _verify(contest, seed, calls)
    return statistics.median(times)


def _verify(contest: Contest, seed: int, calls: int) -> None:
    """Look at a part of one call's outputs, both chosen only now, and compare it with the oracle on the same inputs."""
    chosen, place = secrets.randbelow(calls), secrets.randbelow(1 << 20) / (1 << 20)
    _, outputs = _show(contest.submission, chosen, place)
    inputs = next(islice(draw(contest.inputs, calls, seed), chosen, None))
    arguments = (*inputs, *contest.workload.options)
    try:
        compare_with_oracle(contest.oracle, arguments, outputs, "cuda", part=lambda whole: window(whole, place))
    except CheckFailed as failure:
        raise CheckFailed(failure.kind, *failure.lines, "case: a part of the output of a timed call") from None


def _show(rival: Submission, call: int, place: float) -> tuple[int, list[torch.Tensor]]:
    """A window of the outputs of one call of the last block, and the bytes that the whole outputs have."""
    request = {"do": "show", "call": call, "place": place}
    (outputs, sizes, size), memory = rival.ask(request, None, GPU_CALL_TIMEOUT, _parse_shown)
    n_bytes = sum(n * o.dtype.itemsize for n, o in zip(sizes, outputs, strict=True) if o.dtype)
    return n_bytes, take_outputs(outputs, size, memory)


def _parse_shown(frame: Mapping[str, Any]) -> tuple[tuple[Output, ...], list[int], int]:
    if "outputs" not in frame:
        raise BadFrame("a timed call did not return plain tensors")
    return parse_outputs(frame), [math.prod(shape) for shape in frame["shapes"]], int(frame["size"])
