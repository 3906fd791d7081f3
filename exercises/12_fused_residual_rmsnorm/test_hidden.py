"""Hidden tests of 12_fused_residual_rmsnorm. Values and seed are new in every run; labels and shapes are no secret."""

import pytest
import torch

from grader.judge.grade import Grade, Oracle


def fused_residual_rmsnorm(x, residual, weight, eps=1e-6):
    """The oracle: (output, residual_out)."""
    h = x + residual
    return h / torch.sqrt(h.square().mean(dim=1, keepdim=True) + eps) * weight, h


def scale(x, residual, weight, eps=1e-6):
    """Nothing cancels in a sum of squares, so errors stay relative to the output itself.

    residual_out is one addition, correctly rounded: it needs no more than what every result is allowed.
    """
    output, h = fused_residual_rmsnorm(x, residual, weight, eps)
    return output.abs(), torch.zeros_like(h)


ORACLES = {"fused_residual_rmsnorm": Oracle(value=fused_residual_rmsnorm, scale=scale, length=lambda x, *rest: x.shape[1])}


def inputs(n_rows, n_cols, dtype=torch.float32, std=1.0, device="cpu"):
    """Two matrices, the residual with a mean and of another size, and a weight that no row can do without."""
    x = torch.randn(n_rows, n_cols, device=device) * std
    residual = (torch.randn(n_rows, n_cols, device=device) * 2 + 1) * std
    weight = torch.randn(n_cols, device=device).add(0.5)
    return x.to(dtype), residual.to(dtype), weight.to(dtype)


def test_full_tile(grade: Grade):
    """rows of a power of two"""
    for dtype in grade.dtypes:
        grade(*inputs(3, 1024, dtype))


def test_ragged_tail(grade: Grade):
    """rows of any other length"""
    for dtype in grade.dtypes:
        for n_cols in (1, 3, 17, 127, 129, 1025):
            grade(*inputs(2, n_cols, dtype))


def test_many_rows(grade: Grade):
    """more rows than columns"""
    for dtype in grade.dtypes:
        grade(*inputs(11, 7, dtype))


def test_one_of_them_zero(grade: Grade):
    """x or residual is zero"""
    for dtype in grade.dtypes:
        x, residual, weight = inputs(2, 300, dtype)
        grade(torch.zeros_like(x), residual, weight, note="x is 0")
        grade(x, torch.zeros_like(x), weight, note="residual is 0")


def test_cancelling(grade: Grade):
    """x and residual cancel, so that eps decides"""
    for dtype in grade.dtypes:
        x, residual, weight = inputs(3, 300, dtype)
        x[1] = -residual[1]
        grade(x, residual, weight, note="row 1 of x and of residual add up to 0")
        grade(*inputs(2, 300, dtype, std=1e-3), note="sums of about 0.001")


def test_eps(grade: Grade):
    """eps as an argument"""
    for dtype in grade.dtypes:
        grade(*inputs(2, 100, dtype), 0.5, note="eps 0.5")
        grade(*inputs(2, 100, dtype, std=1e-3), 1e-5, note="sums of about 0.001, eps 1e-05")


def test_large_values(grade: Grade):
    """sums whose squares are large"""
    for dtype in grade.dtypes:
        grade(*inputs(2, 1000, dtype, std=300.0), note="sums of about 700")
        x, residual, weight = inputs(2, 1000, dtype)
        grade(x, (residual * 2000).to(dtype), weight, note="residual thousands of times larger than x")
    grade(*inputs(2, 1000, std=1e15), note="sums of about 2e+15")


def test_sum_too_large(grade: Grade):
    """sums that only float32 can hold"""
    for dtype in grade.dtypes:
        x, residual, weight = (t.sign() for t in inputs(2, 300, dtype))
        grade(x * 60_000, residual * 50_000, weight, note="x is ±60000, residual ±50000; float16 ends at 65504")


def test_weight(grade: Grade):
    """the weight, also where it is very large"""
    for dtype in grade.dtypes:
        x, residual, weight = inputs(2, 300, dtype)
        grade(x, residual, torch.zeros_like(weight), note="weight 0")
        x, residual = (x * 1e-5).to(dtype), (residual * 1e-5).to(dtype)
        x[:, 17] = 1000  # the others are normalised to about 1e-7, and then blown up again
        weight = (weight.sign() * 50_000).to(dtype)
        weight[17] = 1
        grade(x, residual, weight, note="one entry is 1000, the others 0.00001; their weight is 50000")


def test_whole_numbers(grade: Grade):
    """zeros and ones, whose result is exact in half precision"""
    for dtype in grade.dtypes[1:]:  # float32 may be off by the last bit of 1 / sqrt
        eighths = torch.stack([torch.randperm(1000) % 8 for _ in range(3)])
        x, residual = (eighths == 0).to(dtype), (eighths == 1).to(dtype)  # their sum has the mean square 1/4
        grade(x, residual, torch.randint(0, 2, (1000,)).to(dtype), 0.75, exact=True, note="mean square + eps = 1")


def test_strides(grade: Grade):
    """transposed and sliced inputs, each in its own way"""
    for dtype in grade.dtypes:
        x, residual, weight = inputs(5, 301, dtype)
        turned = residual.t().contiguous().t()
        grade(x, turned, weight, note="residual transposed")
        grade(turned, x, weight, note="x transposed")
        sliced = torch.randn(10, 900).to(dtype)[::2, 7:608:2]
        grade(sliced, residual[:1].expand(5, 301), weight, note="x sliced, residual one row, expanded to five")
        grade(x, sliced, weight, note="residual is every second row, every second column from 7 to 607")
    x, residual, weight = inputs(3, 1000)
    grade(x[:, :500], residual[:, 500:], weight[3:503], note="a weight that begins inside a larger tensor")


def test_wide_rows(grade: Grade):
    """rows of up to 65,536 columns"""
    for n_cols in (40_009, 65_536):
        grade(*inputs(1, n_cols))


def test_far_rows(grade: Grade):
    """rows that lie more than 2**31 elements apart"""
    storage = torch.empty(2 * 2**30 + 64, dtype=torch.float16)
    far = storage.as_strided((3, 64), (2**30, 1))
    x, residual, weight = inputs(3, 64, torch.float16)
    far.copy_(x)
    grade(far, residual, weight, note="row stride of x 2**30")
    far.copy_(residual)
    grade(x, far, weight, note="row stride of residual 2**30")


def test_fused(grade: Grade):
    """one kernel, and no memory beside the two outputs"""
    for dtype in grade.dtypes:
        grade(*inputs(3, 1009, dtype), scratch=0, kernels=1)


@pytest.mark.gpu
def test_large(grade: Grade):
    """large inputs"""
    for dtype in grade.dtypes:
        grade(*inputs(2048, 8192, dtype, device=grade.device))
        grade(*inputs(20_011, 1009, dtype, device=grade.device))
        grade(*inputs(256, 65_536, dtype, device=grade.device))
