"""The interval that a speed verdict rests on. Timing itself needs a GPU."""

import math
import random

import pytest

from grader.judge.timing import MIN_PAIRS, interval


def test_too_few_values_give_no_interval():
    assert interval([1.0] * 7) == (0.0, math.inf)


def test_interval_is_symmetric_in_ranks():
    assert interval([float(i) for i in range(12)]) == (1.0, 10.0)


@pytest.mark.parametrize("count", [MIN_PAIRS, 30, 60])
def test_interval_covers_the_median_in_99_of_100(count):
    draws = random.Random(1)
    hits = 0
    for _ in range(4000):
        low, high = interval([math.exp(draws.gauss(0.1, 0.05)) for _ in range(count)])
        hits += low <= math.exp(0.1) <= high
    assert hits / 4000 > 0.985


def test_outliers_do_not_move_it_far():
    values = [1.0 + 0.001 * i for i in range(20)]
    _, high = interval([*values[:-2], 50.0, 100.0])
    assert high < 1.02
