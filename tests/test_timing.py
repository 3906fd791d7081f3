"""What a speed verdict concludes from times, on times made up here. Taking them needs a GPU: tests/test_gpu.py."""

import math
import random

import pytest

from grader.judge.submission import CheckFailed
from grader.judge.verdict import Call, Round, check_claims, decide, interval
from grader.results import Kind, Speed

TARGET = 1.25
AROUND = 400e-6  # seconds that pass around a call: drawing inputs, flushing the cache


def rounds(ratio, count=20, noise=0.01, spikes=0.02, drift=0.0, seed=1, around=AROUND):
    """Rounds of a kernel that takes `ratio` times the reference's 300 µs, on a machine with such faults."""
    draws = random.Random(seed)

    def call(factor, moment):
        spike = 1.5 if draws.random() < spikes else 1.0
        seconds = 300e-6 * factor * (1 + drift * moment) * spike * math.exp(draws.gauss(0, noise))
        return Call(seconds, seconds + (around if factor != 1.0 else AROUND))

    made = []
    for place in range(count):
        times = [place + quarter / 4 for quarter in range(4)]
        mine, theirs = (times[::3], times[1:3]) if draws.random() < 0.5 else (times[1:3], times[::3])
        made.append(Round(tuple(call(ratio, m) for m in mine), tuple(call(1.0, m) for m in theirs)))
    return made


def final(every, target=TARGET):
    """The verdict after as many looks as the grader takes."""
    looks = [decide(every[:count], target) for count in (20, 40, 80, 160)]
    return next((verdict for verdict in looks if verdict.speed is not Speed.UNCLEAR), looks[-1])


def test_too_few_values_give_no_interval():
    assert interval([1.0] * 7) == (-math.inf, math.inf)


def test_interval_is_symmetric_in_ranks():
    assert interval([float(i) for i in range(12)]) == (1.0, 10.0)


@pytest.mark.parametrize("count", [20, 40, 160])
def test_interval_covers_the_median_in_99_of_100(count):
    draws = random.Random(1)
    hits = 0
    for _ in range(4000):
        low, high = interval([draws.gauss(0.1, 0.05) for _ in range(count)])
        hits += low <= 0.1 <= high
    assert hits / 4000 > 0.985


def test_outliers_do_not_move_the_interval_far():
    values = [1.0 + 0.001 * i for i in range(20)]
    _, high = interval([*values[:-2], 50.0, 100.0])
    assert high < 1.02


@pytest.mark.parametrize(
    ("ratio", "speed"), [(1.0, Speed.MEETS), (1.18, Speed.MEETS), (1.32, Speed.MISSES), (3, Speed.MISSES)]
)
@pytest.mark.parametrize("drift", [0.0, 0.004])
def test_verdict_never_changes_on_a_machine_with_one_percent_of_noise(ratio, speed, drift):
    for seed in range(60):
        assert final(rounds(ratio, 160, drift=drift, seed=seed)).speed is speed


def test_at_the_target_it_says_unclear():
    found = [decide(rounds(TARGET, 160, seed=seed), TARGET) for seed in range(100)]
    assert sum(verdict.speed is Speed.UNCLEAR for verdict in found) >= 97
    assert "too close to the target" in next(v.note for v in found if v.speed is Speed.UNCLEAR)


@pytest.mark.parametrize("ratio", [1.0, 1.25, 1.6])
def test_on_a_noisy_machine_it_gives_no_verdict(ratio):
    verdict = final(rounds(ratio, 160, noise=0.25, spikes=0.2))
    assert verdict.speed is Speed.UNCLEAR
    assert "too noisy" in verdict.note


def test_a_reference_that_drifts_against_itself_is_noise():
    """As when another process takes the GPU for every other call."""
    uneven = [Round(r.ours, (r.theirs[0], Call(r.theirs[1].seconds * 1.1, r.theirs[1].spent))) for r in rounds(1.0)]
    assert "too noisy" in decide(uneven, TARGET).note


def test_honest_times_are_believed():
    for seed in range(60):
        check_claims(rounds(0.92, seed=seed), floor=290e-6)


def test_a_process_that_waits_longer_for_other_reasons_is_believed():
    """As measured on an H200: around the calls of one of two equal processes, 200 µs more may pass."""
    check_claims(rounds(1.01, around=AROUND + 200e-6), floor=290e-6)


def test_a_machine_that_disturbs_both_sides_accuses_nobody():
    draws = random.Random(1)

    def disturbed(calls):
        return tuple(Call(c.seconds, c.spent + draws.expovariate(1 / 2e-3)) for c in calls)

    for seed in range(60):
        check_claims([Round(disturbed(r.ours), disturbed(r.theirs)) for r in rounds(1.0, seed=seed)], floor=290e-6)


def test_faster_than_the_gpu_can_be_is_impossible():
    with pytest.raises(CheckFailed) as caught:
        check_claims(rounds(0.1, noise=0), floor=280e-6)
    assert caught.value.kind is Kind.CLOCK
    assert "claim 30 µs; this GPU needs at least 280 µs" in str(caught.value)


def test_work_outside_the_measurement_is_noticed_by_the_judges_clock():
    """The runner claims 290 µs, which is possible; but 450 µs more pass around its calls than around the reference's."""
    with pytest.raises(CheckFailed) as caught:
        check_claims(rounds(0.97, noise=0, around=AROUND + 450e-6), floor=280e-6)
    assert caught.value.kind is Kind.CLOCK
    assert "450 µs more pass" in str(caught.value)
