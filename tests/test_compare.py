"""What is said about a wrong output: the right kind, the count, the first place, and a pattern only where there is one."""

import pytest
import torch

from grader.channel import poison
from grader.judge.compare import compare, wrong_elements
from grader.results import Kind

PAYLOAD = 9


def judge(got, expected, allowed=1e-6):
    return compare(got, expected.double(), torch.full(expected.shape, allowed, dtype=torch.float64), PAYLOAD)


def values(*shape):
    return torch.arange(1.0, 1 + torch.Size(shape).numel()).reshape(shape)


def changed(expected, place, by=1.0):
    got = expected.clone()
    got[place] += by
    return got


def test_right_is_right():
    assert judge(values(5, 7), values(5, 7)) is None


def test_within_the_bound_is_right_and_beyond_is_not():
    expected = torch.ones(4)
    assert judge(expected + 1e-3, expected, 2e-3) is None
    assert judge(expected + 1e-3, expected, 5e-4).kind is Kind.VALUES


def test_counts_and_first_place():
    finding = judge(changed(values(4, 6), (2, slice(1, 3))), values(4, 6))
    assert finding.lines[0] == "2 of 24 values are wrong"
    assert finding.lines[1].startswith("first: out[2, 1] is 15, expected 14 (allowed error 1.0e-06)")


def test_single_number_without_dimensions_is_judged():
    finding = judge(values() + 1, values())
    assert finding.kind is Kind.VALUES
    assert finding.lines[:2] == ("1 of 1 values are wrong", "first: out[] is 2, expected 1 (allowed error 1.0e-06)")


@pytest.mark.parametrize(
    ("shape", "place", "says"),
    [
        ((100,), slice(96, None), "only the last 4 elements"),
        ((100,), slice(99, None), "only the last element"),
        ((100,), slice(32, 64), "exactly elements 32 to 63"),
        ((8, 9), 3, "only row 3: all of it"),
        ((8, 9), (3, slice(6, None)), "only row 3: only the last 3 elements"),
        ((8, 9), (slice(None), 4), "only column 4"),
        ((8, 9), (slice(None), slice(7, None)), "only columns 7 to 8, the last 2"),
        ((8, 9), slice(6, None), "only rows 6 to 7, the last 2"),
        ((8, 9), (slice(2, 4), slice(3, 6)), "one tile: rows 2 to 3, columns 3 to 5"),
        ((8, 9), slice(1, None, 2), "4 of 8 rows, the first is row 1"),
    ],
)
def test_place_is_named(shape, place, says):
    assert says in judge(changed(values(*shape), place), values(*shape)).lines[-1]


def test_no_place_is_invented():
    got = values(100)
    got[[3, 40, 77]] += 1
    assert len(judge(got, values(100)).lines) == 2


def test_scaled_is_named():
    assert "every value is 0.5 times" in judge(values(50) / 2, values(50)).lines[-1]


def test_scaled_is_not_named_for_a_constant():
    """With one value everywhere, a factor and an offset look the same."""
    assert "times" not in judge(torch.full((50,), 2.0), torch.full((50,), 1.0)).lines[-1]


def test_transposed_is_named():
    expected = torch.randn(6, 6)
    assert "transposed" in judge(expected.t().contiguous(), expected).lines[-1]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_unwritten_is_told_from_nan(dtype):
    word = {2: torch.int16, 4: torch.int32, 8: torch.int64}[dtype.itemsize]
    got = values(20).to(dtype)
    got.view(word)[16:] = poison(str(dtype).removeprefix("torch."), PAYLOAD)
    finding = judge(got, values(20))
    assert finding.kind is Kind.UNWRITTEN
    assert finding.lines[0] == "4 of 20 elements of `out` were never written"
    got[16:] = torch.nan
    assert judge(got, values(20)).kind is Kind.NOT_FINITE


def test_nothing_written():
    got = torch.full((9,), poison("float32", PAYLOAD), dtype=torch.int32).view(torch.float32)
    assert "nothing was written" in judge(got, values(9)).lines[0]


@pytest.mark.parametrize("special", [torch.nan, torch.inf, -torch.inf])
def test_non_finite_must_match_exactly(special):
    expected = torch.tensor([1.0, special])
    assert judge(expected.clone(), expected) is None
    for other in {torch.inf, -torch.inf, 0.0} - {special}:
        assert judge(torch.tensor([1.0, other]), expected).kind is Kind.VALUES
    assert judge(torch.tensor([special, special]), expected).kind is Kind.NOT_FINITE


def test_overflow_of_the_outputs_dtype_is_expected():
    expected, allowed = torch.tensor([1e5, 1.0]).double(), torch.tensor([100.0, 1e-3]).double()
    assert not wrong_elements(torch.tensor([torch.inf, 1.0]).half(), expected, allowed).any()
    assert wrong_elements(torch.tensor([-torch.inf, 1.0]).half(), expected, allowed).tolist() == [True, False]


def test_nan_bound_accepts_nothing():
    """An oracle that fails to say how far off is fine must not let everything pass."""
    nan = torch.full((1,), torch.nan, dtype=torch.float64)
    assert wrong_elements(torch.tensor([2.0]), torch.tensor([1.0]).double(), nan).all()
