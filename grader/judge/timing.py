"""Is the submission fast enough? Two runners on one GPU, submission and reference solution, take turns: A B B A.

Every call gets fresh inputs and a cold cache and is timed by the GPU's own events. Rounds are added until the verdict is
clear or the time is up; "unclear" is an answer, too.

Nothing here trusts the runner: outputs of timed calls, chosen when it is too late to do anything about them, are compared
with the oracle; the judge's own clock and the laws of physics bound what a runner may claim.
"""

import math
import random
import secrets
import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from grader.channel import BadFrame
from grader.course import Workload
from grader.inputs import draw, window
from grader.judge import ceiling
from grader.judge.answer import Output, parse_outputs, parse_seconds
from grader.judge.ceiling import Ceiling
from grader.judge.grade import GPU_CALL_TIMEOUT, compare_with_oracle, take_outputs
from grader.judge.submission import CheckFailed, Submission
from grader.judge.tolerance import Oracle
from grader.judge.verdict import Call, Round, check_claims, decide
from grader.results import CheckResult, Kind, Speed, Status, TimingResult

FIRST_LOOK, MAX_ROUNDS = 20, 160  # the rounds are doubled as long as the verdict is unclear
BUDGET = 20.0  # seconds for the rounds of one workload; after that, what is not clear is called unclear
LOOKS = 6 / (2 * FIRST_LOOK)  # how likely the output of a timed call is looked at
STEADY = 0.01  # warm-up ends when the median of five calls moves less than this
MAX_WARM_UP = 60  # calls


@dataclass(frozen=True)
class Contest:
    """One workload and the two that run it."""

    workload: Workload
    oracle: Oracle
    submission: Submission
    reference: Submission


def run(
    submission: Submission, solution: Path, oracles: Mapping[str, Oracle]
) -> tuple[tuple[TimingResult, ...], tuple[CheckResult, ...]]:
    """Time every workload of the exercise in new runners. The second part holds a check for each workload."""
    if not solution.is_file() or not submission.exercise.workloads:
        return (), ()
    exercise = submission.exercise
    rivals = [Submission(path, exercise, submission.nursery) for path in (submission.path, solution)]
    try:
        best = ceiling.measure()
        judged = [_judge(Contest(w, oracles[w.function], *rivals), best) for w in exercise.workloads]
    finally:
        for rival in rivals:
            rival.stop()
    return tuple(timing for timing, _ in judged if timing), tuple(check for _, check in judged)


def _judge(contest: Contest, best: Ceiling) -> tuple[TimingResult | None, CheckResult]:
    function, label = contest.workload.function, f"speed on {contest.workload.label}"
    began = time.monotonic()
    try:
        timing = measure(contest, best)
    except CheckFailed as failure:
        return None, CheckResult(function, label, Status.FAILED, failure.kind, failure.lines)
    except (torch.OutOfMemoryError, TooLittleMemory):
        return None, CheckResult(function, label, Status.NOT_RUN, reason=("this GPU has too little memory for it",))
    reason = (f"{timing.ratio:.2f} times the reference solution's time; the target is {timing.target:g}", timing.note)
    misses = timing.verdict is Speed.MISSES
    status = Status.FAILED if misses else Status.PASSED if timing.verdict is Speed.MEETS else Status.NOT_RUN
    kind = Kind.TOO_SLOW if misses else None
    lines = () if status is Status.PASSED else tuple(line for line in reason if line)
    return timing, CheckResult(function, label, status, kind, lines, 4 * timing.rounds, time.monotonic() - began)


def measure(contest: Contest, best: Ceiling) -> TimingResult:
    """Time one workload. Raises CheckFailed, torch.OutOfMemoryError, TooLittleMemory."""
    n_bytes = input_bytes(contest.workload) + _warm_up(contest)
    rounds = _rounds(contest)
    verdict = decide(rounds, contest.workload.target)
    floor = best.floor(n_bytes, contest.workload.flops)
    check_claims(rounds, floor)
    ours = statistics.median(call.seconds for r in rounds for call in r.ours)
    theirs = statistics.median(call.seconds for r in rounds for call in r.theirs)
    return TimingResult(
        contest.workload.function, contest.workload.label, verdict.speed, contest.workload.target,
        contest.workload.excellent, verdict.ratio, verdict.low, verdict.high, ours, theirs, n_bytes,
        contest.workload.flops, floor / ours, len(rounds), verdict.note,
    )  # fmt: skip


def _rounds(contest: Contest) -> list[Round]:
    """Rounds until the verdict is clear, or time is up. Raises CheckFailed."""
    rounds: list[Round] = []
    deadline = time.monotonic() + BUDGET
    look = FIRST_LOOK
    while True:
        while len(rounds) < look and (len(rounds) < FIRST_LOOK or time.monotonic() < deadline):
            rounds.append(_round(contest))
        clear = decide(rounds, contest.workload.target).speed is not Speed.UNCLEAR
        if clear or look >= MAX_ROUNDS or time.monotonic() > deadline:
            _verify(contest)  # the last call at the least
            return rounds
        look *= 2


def _round(contest: Contest) -> Round:
    outside, inside = random.SystemRandom().sample((contest.submission, contest.reference), 2)
    a, b, c, d = [_call(contest, rival) for rival in (outside, inside, inside, outside)]
    pairs = {outside: (a, d), inside: (b, c)}
    return Round(pairs[contest.submission], pairs[contest.reference])


class TooLittleMemory(Exception):
    """The workload does not fit into this GPU twice."""


def _warm_up(contest: Contest) -> int:
    """Compile, tune and reach steady times; return the bytes of one call's outputs. Raises CheckFailed, TooLittleMemory.

    The reference goes first: if it has no room for itself and another, that is not the submission's fault.
    """
    before, _ = torch.cuda.mem_get_info()
    try:
        output_bytes = _steady(contest, contest.reference)
    except CheckFailed as failure:
        if failure.kind is Kind.MEMORY:
            raise TooLittleMemory from failure
        raise RuntimeError(f"the reference solution failed when it was timed: {failure}") from failure
    left, _ = torch.cuda.mem_get_info()
    if left < 1.5 * (before - left):
        raise TooLittleMemory
    _steady(contest, contest.submission)
    return output_bytes


def _steady(contest: Contest, rival: Submission) -> int:
    """Call until five calls take as long as the five before; the bytes of the outputs."""
    seconds = [time_call(rival, contest.workload, secrets.randbits(62)).seconds for _ in range(10)]
    while len(seconds) < MAX_WARM_UP and abs(math.log(_median5(seconds) / _median5(seconds[:-5]))) > STEADY:
        seconds += [time_call(rival, contest.workload, secrets.randbits(62)).seconds for _ in range(5)]
    output_bytes, _ = show(rival, 0.0)
    return output_bytes


def _median5(seconds: Sequence[float]) -> float:
    return statistics.median(seconds[-5:])


def _call(contest: Contest, rival: Submission) -> Call:
    """One timed call; now and then its output is looked at, which is decided only afterwards. Raises CheckFailed."""
    seed = secrets.randbits(62)
    call = time_call(rival, contest.workload, seed)
    if rival is contest.submission and secrets.randbelow(1 << 20) < LOOKS * (1 << 20):
        _compare(contest, seed)
    return call


def _verify(contest: Contest) -> None:
    """Look at one call for certain. Raises CheckFailed."""
    seed = secrets.randbits(62)
    time_call(contest.submission, contest.workload, seed)
    _compare(contest, seed)


def _compare(contest: Contest, seed: int) -> None:
    """Compare a part of the last call's output, chosen only now, with the oracle on the same inputs."""
    place = secrets.randbelow(1 << 20) / (1 << 20)
    _, outputs = show(contest.submission, place)
    arguments = (*draw(described(contest.workload), seed), *contest.workload.options)
    try:
        compare_with_oracle(contest.oracle, arguments, outputs, "cuda", part=lambda whole: window(whole, place))
    except CheckFailed as failure:
        raise CheckFailed(failure.kind, *failure.lines, "case: a part of the output of a timed call") from None
    finally:
        del arguments, outputs
        torch.cuda.empty_cache()  # the runners need the memory


def input_bytes(workload: Workload) -> int:
    """The bytes of a workload's inputs."""
    return sum(math.prod(t.shape) * getattr(torch, t.dtype).itemsize for t in workload.inputs)


def described(workload: Workload) -> list[dict[str, Any]]:
    """The inputs of a workload as a runner wants them."""
    return [{"shape": t.shape, "dtype": t.dtype} for t in workload.inputs]


def time_call(
    rival: Submission, workload: Workload, seed: int, function: str = "", timeout: float = GPU_CALL_TIMEOUT
) -> Call:
    """One call on inputs drawn from `seed`. function: if it has another name than the workload's. Raises CheckFailed."""
    rival.ask({"do": "draw", "inputs": described(workload), "seed": seed}, None, timeout, bool)
    request = {"do": "time", "function": function or workload.function, "options": workload.options}
    began = time.monotonic()
    seconds, _ = rival.ask(request, None, timeout, parse_seconds)
    return Call(seconds, time.monotonic() - began)


def show(rival: Submission, place: float) -> tuple[int, list[torch.Tensor]]:
    """A window of the outputs of the last call, and the bytes that the whole outputs have. Raises CheckFailed."""
    request = {"do": "show", "place": place}
    (outputs, sizes, size), memory = rival.ask(request, None, GPU_CALL_TIMEOUT, _parse_shown)
    n_bytes = sum(n * o.dtype.itemsize for n, o in zip(sizes, outputs, strict=True) if o.dtype)
    return n_bytes, take_outputs(outputs, size, memory)


def _parse_shown(frame: Mapping[str, Any]) -> tuple[tuple[Output, ...], list[int], int]:
    if "outputs" not in frame:
        raise BadFrame("a timed call did not return plain tensors")
    return parse_outputs(frame), [math.prod(shape) for shape in frame["shapes"]], int(frame["size"])
