"""The bound: honest ways to compute fit into it with room to spare, and known mistakes exceed it at least twice."""

import pytest
import torch

from grader.judge.tolerance import allowed

HALF = pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32], ids=str)


def share(got, expected, scale, length):
    """The largest error as a share of the allowed one."""
    return float(((got.double() - expected).abs() / allowed(expected, scale, length, got.dtype)).max())


def sum_case(dtype, n=4096, mean=1.0):
    x = (torch.randn(8, n) + mean).to(dtype)
    exact = x.double()
    return x, exact.sum(1), exact.abs().sum(1)


@HALF
@pytest.mark.parametrize("mean", [0.0, 1.0, 10.0])
def test_honest_sums_fit(dtype, mean):
    torch.manual_seed(0)
    x, expected, scale = sum_case(dtype, mean=mean)
    one_by_one = torch.zeros(8)
    for column in x.float().T:
        one_by_one = one_by_one + column
    for honest in (x.float().sum(1), x.float().flip(1).sum(1), one_by_one):
        assert share(honest.to(dtype), expected, scale, 4096) < 0.7


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_low_precision_accumulator_does_not_fit(dtype):
    torch.manual_seed(0)
    x, expected, scale = sum_case(dtype)
    total = torch.zeros(8, dtype=dtype)
    for column in x.T:
        total = total + column
    assert share(total, expected, scale, 4096) > 2


@HALF
def test_one_dropped_element_does_not_fit(dtype):
    torch.manual_seed(0)
    x, expected, scale = sum_case(dtype, n=100)
    assert share(x.float()[:, :-1].sum(1).to(dtype), expected, scale, 100) > 2


def test_zeros_do_not_fit_where_values_are_small():
    """A fixed absolute tolerance would accept an all-zero softmax over a long row."""
    expected = torch.softmax(torch.randn(2, 32768).double(), 1)
    assert share(torch.zeros(2, 32768), expected, expected, 32768) > 1000


def test_tf32_does_not_fit_a_float32_product():
    torch.manual_seed(0)
    a, b = torch.randn(64, 1000), torch.randn(1000, 64)
    expected, scale = a.double() @ b.double(), a.double().abs() @ b.double().abs()

    def tf32(x):
        return (x.view(torch.int32) & ~0x1FFF).view(torch.float32)  # ten bits of mantissa are kept

    assert share(a @ b, expected, scale, 1000) < 0.7
    assert share(tf32(a) @ tf32(b), expected, scale, 1000) > 2


def test_results_too_small_for_float32_may_be_flushed_to_zero():
    expected = torch.tensor([1e-39], dtype=torch.float64)
    assert share(torch.zeros(1), expected, expected, 1) <= 1
