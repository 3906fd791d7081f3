"""Hidden tests of 09_approx_activation. Values and seed are new in every run; labels and shapes are no secret."""

import pytest
import torch

from grader.judge.grade import Grade, Oracle

BLOCK = 1024


def gelu_exact(x):
    """The oracle of the exact form."""
    return torch.nn.functional.gelu(x)


def gelu_approx(x):
    """The oracle of the tanh form."""
    return torch.nn.functional.gelu(x, approximate="tanh")


def fused(x, residual, bias):
    """The oracle of the fused form."""
    return residual + gelu_approx(x + bias)


# For negative x, 1 + erf(…) and 1 + tanh(…) are small differences of numbers near 1, each wrong by 2**-24, or up to four
# times that where a GPU divides. Times x / 2, that is an error of up to 2·|x|·2**-24, however small the result: at x = -5
# it is -1.43e-6, and honest float32 gives -1.49e-6. So rounding errors are measured against |x|, not against the result.
# Fused, one |x + bias| more: x + bias is rounded as well, and GELU, whose slope is at most 1.13, passes that on.
ORACLES = {
    "gelu_exact": Oracle(value=gelu_exact, scale=lambda x: 2 * x.abs()),
    "gelu_approx": Oracle(value=gelu_approx, scale=lambda x: 2 * x.abs()),
    "fused_residual_bias_gelu": Oracle(value=fused, scale=lambda x, residual, bias: 3 * (x + bias).abs() + residual.abs()),
}
FORMS = pytest.mark.only("gelu_exact", "gelu_approx")
FUSED = pytest.mark.only("fused_residual_bias_gelu")


def triple(*shape, dtype=torch.float32, device="cpu"):
    """Three different random tensors: x and residual of `shape`, and a bias with a value for each column."""
    x, residual = torch.randn((2, *shape), device=device)
    bias = torch.randn(shape[-1:], device=device)
    return (2 * x).to(dtype), (residual - 3).to(dtype), (bias + 0.5).to(dtype)


@FORMS
def test_values(grade: Grade):
    """one full tile, x from -6 to 6"""
    for dtype in grade.dtypes:
        grade(torch.linspace(-6, 6, BLOCK).to(dtype))


@FORMS
def test_ragged_tail(grade: Grade):
    """sizes that are no multiple of a tile"""
    for dtype in grade.dtypes:
        for size in (1, BLOCK - 1, BLOCK + 1, 5003):
            grade(torch.randn(size).mul(2).to(dtype))


@FORMS
def test_any_shape(grade: Grade):
    """any number of dimensions, and nothing at all"""
    for shape in ((), (33, 65), (3, 5, 7, 11), (3, 0, 5)):
        grade(torch.randn(shape))
    grade(torch.randn(5000)[3:4100], note="a view that begins at element 3")


@FORMS
def test_large_values(grade: Grade):
    """large positive and negative x"""
    for dtype in grade.dtypes:
        x = torch.tensor([7.0, 10.0, 20.0, 50.0, 100.0, 1000.0, 60000.0])
        grade(torch.cat([x, -x, torch.zeros(2)]).to(dtype), note="up to 60,000 and -60,000")
    grade(torch.tensor([1e8, 1e13, 1e30, -1e8, -1e13, -1e30]), note="up to 1e30 and -1e30")


@FORMS
def test_tiny_values(grade: Grade):
    """tiny x"""
    grade(torch.cat([torch.randn(500) * 1e-3, torch.randn(500) * 1e-20]))


@FUSED
def test_fused_one_row(grade: Grade):
    """one row"""
    for dtype in grade.dtypes:
        for n_cols in (BLOCK, 1, BLOCK - 1, BLOCK + 1):
            grade(*triple(n_cols, dtype=dtype))


@FUSED
def test_fused_rows(grade: Grade):
    """many rows: each column has its own bias"""
    for dtype in grade.dtypes:
        for shape in ((3, BLOCK), (5, 1009), (400, 13)):
            grade(*triple(*shape, dtype=dtype))
    grade(*triple(2, 2 * BLOCK + 5), note="rows of several tiles")
    grade(*triple(3001, 1), note="a single column")


@FUSED
def test_fused_any_shape(grade: Grade):
    """any number of dimensions, and nothing at all"""
    for shape in ((3, 5, 7, 11), (0, 5), (3, 0)):
        grade(*triple(*shape))
    x, residual, bias = triple(5000)
    grade(x[3:4100], residual[64:4161], bias[517:4614], note="views that begin at elements 3, 64 and 517")


@FUSED
def test_fused_order(grade: Grade):
    """one input at a time is zero"""
    x, residual, bias = triple(9, 211)
    grade(x, torch.zeros_like(residual), bias, note="residual is 0")
    grade(x, residual, torch.zeros_like(bias), note="bias is 0")
    grade(torch.zeros_like(x), residual, bias, note="x is 0")


@FUSED
def test_fused_large_values(grade: Grade):
    """large positive and negative x + bias"""
    for dtype in grade.dtypes:
        _, residual, bias = triple(200, 7, dtype=dtype)
        x = torch.tensor([50.0, -50.0, 100.0, -100.0, 1000.0, -1000.0, 30000.0, -60000.0]).repeat(25)
        grade(x[:, None].repeat(1, 7).to(dtype), residual, bias, note="x up to 30,000 and down to -60,000")
    x = torch.full((3, 500), 60000.0).half()
    grade(x, -x, torch.full((500,), 30000.0).half(), note="x + bias is 90,000, more than float16 can hold")


@FUSED
def test_fused_cancelling(grade: Grade):
    """a residual that nearly cancels the activation"""
    for dtype in grade.dtypes:
        x, _, bias = triple(7, 501, dtype=dtype)
        activation = gelu_approx(x.double() + bias.double())
        grade(x, -activation.to(dtype), bias, note="every rounding on the way shows")


@FUSED
def test_fused_one_kernel(grade: Grade):
    """one kernel does it all, and nothing but the result is allocated"""
    grade(*triple(5, BLOCK + 3), scratch=0, kernels=1)


@pytest.mark.only("gelu_approx")
def test_operator(grade: Grade):
    """registered as an operator that torch.compile keeps"""
    for dtype in grade.dtypes:
        grade.compiled("course::gelu_approx", torch.randn(37, 41).to(dtype))


@pytest.mark.gpu
@FORMS
def test_large(grade: Grade):
    """large inputs"""
    for dtype in grade.dtypes:
        grade(torch.randn(50_000_017, device=grade.device).mul(3).to(dtype))


@pytest.mark.gpu
@FUSED
def test_fused_large(grade: Grade):
    """large inputs"""
    for dtype in grade.dtypes:
        grade(*triple(3001, 16_383, dtype=dtype, device=grade.device))
