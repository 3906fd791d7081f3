"""Hidden tests of 11_rmsnorm. Values and seed are new in every run; labels and shapes are no secret."""

import pytest
import torch

from grader.judge.grade import Grade, Oracle


def rmsnorm(x, weight, eps=1e-6):
    """The oracle: eps stands inside the root, and no mean is subtracted."""
    return x / torch.sqrt(x.square().mean(dim=1, keepdim=True) + eps) * weight


def scale(x, weight, eps=1e-6):
    """The only sum is one of squares: nothing cancels, so errors stay relative to the result itself."""
    return rmsnorm(x, weight, eps).abs()


ORACLES = {"rmsnorm": Oracle(value=rmsnorm, scale=scale, length=lambda x, *rest: x.shape[1])}


def inputs(n_rows, n_cols, dtype=torch.float32, mean=0.0, std=1.0, device="cpu"):
    """A matrix with the wanted mean and deviation, and a weight that no row can do without."""
    x = torch.randn(n_rows, n_cols, device=device) * std + mean
    weight = torch.randn(n_cols, device=device).add(0.5)
    return x.to(dtype), weight.to(dtype)


def test_full_tile(grade: Grade):
    """rows of a power of two"""
    for dtype in grade.dtypes:
        grade(*inputs(3, 1024, dtype))


def test_ragged_tail(grade: Grade):
    """rows of any other length"""
    for dtype in grade.dtypes:
        for n_cols in (1, 3, 17, 127, 129, 2049):
            grade(*inputs(2, n_cols, dtype))


def test_many_rows(grade: Grade):
    """more rows than columns"""
    for dtype in grade.dtypes:
        grade(*inputs(11, 7, dtype))


def test_mean(grade: Grade):
    """rows with a mean that is not zero"""
    for dtype in grade.dtypes:
        grade(*inputs(3, 300, dtype, mean=5.0), note="mean 5")
        x, weight = inputs(3, 300, dtype)
        grade(x + torch.tensor([[-50.0], [0.0], [200.0]], dtype=dtype), weight, note="rows of different size")


def test_large_values(grade: Grade):
    """values whose squares are large"""
    for dtype in grade.dtypes:
        grade(*inputs(3, 1000, dtype, std=300.0), note="deviation 300")
        x, weight = inputs(2, 100, dtype)
        grade(torch.full_like(x, 60_000.0), weight, note="every entry is 60000")
    grade(*inputs(2, 1000, std=1e15), note="deviation 1e+15")


def test_small_values(grade: Grade):
    """rows of small values or zeros, where eps decides"""
    for dtype in grade.dtypes:
        grade(*inputs(3, 300, dtype, std=1e-3), note="deviation 0.001")
        x, weight = inputs(3, 300, dtype)
        x[1] = 0
        grade(x, weight, note="row 1 is all zeros")
    grade(*inputs(2, 300, std=1e-25), note="deviation 1e-25")


def test_eps(grade: Grade):
    """eps as an argument"""
    for dtype in grade.dtypes:
        grade(*inputs(2, 100, dtype), 0.5, note="eps 0.5")
        grade(*inputs(2, 100, dtype, std=1e-3), 1e-5, note="deviation 0.001, eps 1e-05")


def test_weight(grade: Grade):
    """the weight, also where it is very large"""
    for dtype in grade.dtypes:
        x, weight = inputs(2, 300, dtype)
        grade(x, torch.zeros_like(weight), note="weight 0")
        x = (x * 1e-5).to(dtype)
        x[:, 17] = 1000  # the others are normalised to about 1e-7, and then blown up again
        weight = (weight.sign() * 50_000).to(dtype)
        weight[17] = 1
        grade(x, weight, note="one entry is 1000, the others 0.00001; their weight is 50000")


def test_whole_numbers(grade: Grade):
    """zeros and ones, whose result is exact in half precision"""
    for dtype in grade.dtypes[1:]:  # float32 may be off by the last bit of 1 / sqrt
        quarter_ones = torch.stack([(torch.randperm(1000) % 4 == 0).to(dtype) for _ in range(3)])  # mean square 1/4
        grade(quarter_ones, torch.randint(0, 2, (1000,)).to(dtype), 0.75, exact=True, note="mean square + eps = 1")


def test_strides(grade: Grade):
    """transposed and sliced inputs"""
    for dtype in grade.dtypes:
        for view, note in (
            (torch.randn(301, 5).to(dtype).t(), "transposed"),
            (torch.randn(6, 900).to(dtype)[::2, 7:708:2], "every second row, every second column from 7 to 707"),
            (torch.randn(1, 300).to(dtype).expand(3, 300), "one row, expanded to three"),
        ):
            _, weight = inputs(1, view.shape[1], dtype)
            grade(view, weight, note=note)
    x, weight = inputs(3, 1000)
    grade(x[:, :500], weight[3:503], note="a weight that begins inside a larger tensor")


def test_wide_rows(grade: Grade):
    """rows of up to 65,536 columns"""
    for n_cols in (40_009, 65_536):
        grade(*inputs(1, n_cols))


def test_far_rows(grade: Grade):
    """rows that lie more than 2**31 elements apart"""
    storage = torch.empty(2 * 2**30 + 64, dtype=torch.float16)
    x = storage.as_strided((3, 64), (2**30, 1))
    rows, weight = inputs(3, 64, torch.float16)
    x.copy_(rows)
    grade(x, weight, note="row stride 2**30")


@pytest.mark.gpu
def test_large(grade: Grade):
    """large inputs"""
    for dtype in grade.dtypes:
        grade(*inputs(2048, 8192, dtype, device=grade.device))
        grade(*inputs(20_011, 1009, dtype, device=grade.device))
        grade(*inputs(256, 65_536, dtype, device=grade.device))
