"""Hidden tests of 10_layernorm. Values and seed are new in every run; labels and shapes are no secret."""

import pytest
import torch

from grader.judge.grade import Grade, Oracle


def layernorm(x, weight, bias, eps=1e-5):
    """The oracle: the variance is biased, and eps stands inside the root."""
    centred = x - x.mean(dim=1, keepdim=True)
    var = centred.square().mean(dim=1, keepdim=True)
    return centred / torch.sqrt(var + eps) * weight + bias


def scale(x, weight, bias, eps=1e-5):
    """A mean of n numbers is off by up to about √n · u32 · mean|x|, and rstd · |weight| carries that error into the result.

    Where the mean is far larger than the deviations, x - mean cancels and this term is all that counts: at mean 10,000
    and deviation 1 even a perfect kernel keeps only three or four digits. It counts twice, for kernels that write
    x · rstd - mean · rstd and round two large products. The mean's error enters the variance only squared, so the
    variance adds no more than its own relative error, √n · u32, which the first term holds.
    """
    centred = (x - x.mean(dim=1, keepdim=True)).abs()
    rstd = 1 / torch.sqrt(centred.square().mean(dim=1, keepdim=True) + eps)
    return (centred + 2 * x.abs().mean(dim=1, keepdim=True)) * rstd * weight.abs() + bias.abs()


ORACLES = {"layernorm": Oracle(value=layernorm, scale=scale, length=lambda x, *rest: x.shape[1])}


def inputs(n_rows, n_cols, dtype=torch.float32, mean=0.0, std=1.0, device="cpu"):
    """A matrix with the wanted mean and deviation, and a weight and a bias that no row can do without."""
    x = torch.randn(n_rows, n_cols, device=device) * std + mean
    weight, bias = torch.randn(2, n_cols, device=device).add(0.5)
    return x.to(dtype), weight.to(dtype), bias.to(dtype)


def test_full_tile(grade: Grade):
    """rows of a power of two"""
    for dtype in grade.dtypes:
        grade(*inputs(3, 1024, dtype))


def test_ragged_tail(grade: Grade):
    """rows of any other length, with a mean that is not zero"""
    for dtype in grade.dtypes:
        for n_cols in (3, 17, 127, 129, 768, 1025):
            grade(*inputs(2, n_cols, dtype, mean=5.0))


def test_many_rows(grade: Grade):
    """more rows than columns"""
    for dtype in grade.dtypes:
        grade(*inputs(11, 7, dtype, mean=-3.0))


def test_weight_and_bias(grade: Grade):
    """weight and bias, also where they nearly cancel"""
    x, weight, bias = inputs(3, 300)
    grade(x, weight, torch.zeros_like(bias), note="bias 0")
    grade(x, torch.zeros_like(weight), bias, note="weight 0")
    for dtype in grade.dtypes:
        x = torch.where(torch.randn(3, 300) > 0, 1.0, -1.0) * 0.7 + torch.randn(3, 300) * 0.01
        weight = torch.full((300,), 100.0)
        grade(x.to(dtype), weight.to(dtype), -weight.to(dtype), note="weight 100, bias -100")


def test_one_column(grade: Grade):
    """rows of one column, which have no variance"""
    for dtype in grade.dtypes:
        grade(*inputs(4, 1, dtype, mean=2.0))


def test_little_variance(grade: Grade):
    """rows of little or no variance, where eps decides"""
    for dtype in grade.dtypes:
        grade(*inputs(3, 300, dtype, std=1e-3), note="deviation 0.001")
        grade(*inputs(3, 300, dtype, mean=0.25, std=1e-3), note="mean 0.25, deviation 0.001")
        _, weight, bias = inputs(1, 300, dtype)
        constant = torch.tensor([[0.0], [-3.0]], dtype=dtype).repeat(1, 300)
        grade(constant, weight, bias, note="every entry of row 0 is 0, of row 1 -3")


def test_eps(grade: Grade):
    """eps as an argument"""
    for dtype in grade.dtypes:
        grade(*inputs(2, 100, dtype, mean=1.0), 0.1, note="eps 0.1")
        grade(*inputs(2, 100, dtype, std=1e-3), 1e-8, note="deviation 0.001, eps 1e-08")


def test_far_from_zero(grade: Grade):
    """rows far from zero"""
    for mean in (1000.0, -1000.0, 1e4):
        grade(*inputs(3, 300, mean=mean), note=f"mean {mean:g}, deviation 1")
    for dtype in grade.dtypes:
        grade(*inputs(3, 300, dtype, mean=1000.0, std=30.0), note="mean 1000, deviation 30")
    x, weight, bias = inputs(3, 300)
    grade(x + torch.tensor([[-500.0], [0.0], [2000.0]]), weight, bias, note="rows of different size")


def test_large_values(grade: Grade):
    """large values, and tiny ones"""
    for dtype in grade.dtypes:
        grade(*inputs(2, 1000, dtype, std=300.0), note="deviation 300")
        x, weight, bias = inputs(2, 1000, dtype)
        grade((x * 1e-6).to(dtype), weight, bias, note="deviation 1e-06")
    grade(*inputs(2, 1000, mean=1e14, std=1e15), note="deviation 1e+15")


def test_whole_numbers(grade: Grade):
    """zeros and ones, whose result is exact in half precision"""
    for dtype in grade.dtypes[1:]:  # float32 may be off by the last bit of 1 / sqrt
        half_ones = torch.stack([torch.randperm(1000) % 2 for _ in range(3)])  # mean 1/2, variance 1/4
        weight, bias = torch.randint(0, 2, (2, 1000))
        grade(half_ones.to(dtype), weight.to(dtype), bias.to(dtype), 0.75, exact=True, note="variance + eps = 1")


def test_strides(grade: Grade):
    """transposed and sliced inputs"""
    for dtype in grade.dtypes:
        for view, note in (
            (torch.randn(301, 5).to(dtype).t(), "transposed"),
            (torch.randn(6, 900).to(dtype)[::2, 7:708:2], "every second row, every second column from 7 to 707"),
            (torch.randn(1, 300).to(dtype).expand(3, 300), "one row, expanded to three"),
        ):
            _, weight, bias = inputs(1, view.shape[1], dtype)
            grade(view, weight, bias, note=note)
    x, weight, bias = inputs(3, 1000)
    grade(x[:, :500], weight[3:503], bias[17:517], note="weight and bias that begin inside larger tensors")


def test_wide_rows(grade: Grade):
    """rows of up to 65,536 columns"""
    for n_cols in (40_009, 65_536):
        grade(*inputs(1, n_cols, mean=1.0))


def test_far_rows(grade: Grade):
    """rows that lie more than 2**31 elements apart"""
    storage = torch.empty(2 * 2**30 + 64, dtype=torch.float16)
    x = storage.as_strided((3, 64), (2**30, 1))
    rows, weight, bias = inputs(3, 64, torch.float16)
    x.copy_(rows)
    grade(x, weight, bias, note="row stride 2**30")


@pytest.mark.gpu
def test_large(grade: Grade):
    """large inputs"""
    for dtype in grade.dtypes:
        grade(*inputs(2048, 8192, dtype, mean=3.0, device=grade.device))
        grade(*inputs(20_011, 1009, dtype, mean=3.0, device=grade.device))
        grade(*inputs(256, 65_536, dtype, device=grade.device))
