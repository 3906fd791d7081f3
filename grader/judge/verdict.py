"""What timed calls prove: meets, misses or unclear, and whether the times can be true at all. Arithmetic only; no GPU.

The ratio of a round of four calls, A B B A, is free of a steady drift of the clocks. The verdict rests on the median of
the rounds' ratios and its 99 % interval; the reference's two calls in each round show how much the machine varies by
itself.
"""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from grader.judge.submission import CheckFailed
from grader.results import Kind, Speed

CONFIDENCE = 0.99
DRIFT = 0.02  # by which the reference may differ from itself before the machine counts as too noisy
IMPOSSIBLE = 0.85  # of the time that this GPU needs at best
HIDDEN = (0.3, 300e-6)  # of the reference's time, and seconds; honest processes have differed by up to 220 µs


@dataclass(frozen=True)
class Call:
    """Seconds of one call: on the GPU's clock, as the runner says, and in all, on the judge's own clock."""

    seconds: float
    spent: float

    @property
    def unseen(self) -> float:
        """What the GPU's events have not seen: flushing the cache, the launch, the way to the judge and back."""
        return self.spent - self.seconds


@dataclass(frozen=True)
class Round:
    """Four calls in the order A B B A or B A A B."""

    ours: tuple[Call, Call]
    theirs: tuple[Call, Call]

    @property
    def log_ratio(self) -> float:
        return sum(math.log(a.seconds / b.seconds) for a, b in zip(self.ours, self.theirs, strict=True)) / 2

    @property
    def log_noise(self) -> float:
        """The reference against itself, which should be 0."""
        return math.log(self.theirs[0].seconds / self.theirs[1].seconds)

    @property
    def hidden(self) -> float:
        """Seconds for which the submission kept the judge waiting beyond what its claims and the reference explain."""
        return sum(a.unseen - b.unseen for a, b in zip(self.ours, self.theirs, strict=True)) / 2


@dataclass(frozen=True)
class Verdict:
    """What the rounds say: the median ratio submission / reference, its 99 % interval, and what may be concluded."""

    speed: Speed
    ratio: float
    low: float
    high: float
    note: str = ""


def decide(rounds: Sequence[Round], target: float) -> Verdict:
    """The verdict on `rounds` for the largest allowed ratio `target`."""
    logs = [r.log_ratio for r in rounds]
    low, high = (math.exp(bound) for bound in interval(logs))
    ratio = math.exp(statistics.median(logs))
    noise = [r.log_noise for r in rounds]
    below, above = interval(noise)
    if above - below > math.log(target) or abs(statistics.median(noise)) > DRIFT:
        spread = f"{math.exp(below):.2f} to {math.exp(above):.2f}"
        note = f"this machine is too noisy: the reference solution takes {spread} times its own time; use an idle GPU"
        return Verdict(Speed.UNCLEAR, ratio, low, high, note)
    if high <= target or low > target:
        return Verdict(Speed.MEETS if high <= target else Speed.MISSES, ratio, low, high)
    return Verdict(Speed.UNCLEAR, ratio, low, high, "too close to the target to tell; run it again on an idle GPU")


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
    return (ordered[k - 1], ordered[n - k]) if k else (-math.inf, math.inf)


def check_claims(rounds: Sequence[Round], floor: float) -> None:
    """Raise CheckFailed where the submission's times cannot be true. floor: seconds that this GPU needs at best."""
    theirs = [call for r in rounds for call in r.theirs]
    claimed = statistics.median(call.seconds for r in rounds for call in r.ours)
    advice = "work that is done outside the measured call, or on another stream, does not count"
    if claimed < IMPOSSIBLE * floor:
        raise CheckFailed(
            Kind.CLOCK,
            f"its calls claim {claimed * 1e6:.0f} µs; this GPU needs at least {floor * 1e6:.0f} µs for such a workload",
            advice,
        )
    hidden, _ = interval([r.hidden for r in rounds])
    share, least = HIDDEN
    if hidden > max(share * statistics.median(call.seconds for call in theirs), least):
        raise CheckFailed(
            Kind.CLOCK,
            f"its calls claim {claimed * 1e6:.0f} µs, but {hidden * 1e6:.0f} µs more pass than around the reference's calls",
            advice,
        )
