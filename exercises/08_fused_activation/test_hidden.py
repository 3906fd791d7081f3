"""Hidden tests of 08_fused_activation. Values and seed are new in every run; labels and shapes are no secret."""

import pytest
import torch

from grader.judge.grade import Grade, Oracle

BLOCK = 1024
VANISHED = 2.0**-126 / 2.0**-24  # a sigmoid below the smallest normal float32 may become 0; in units of 2**-24


def fused(x, gate, residual):
    """The oracle."""
    return torch.nn.functional.silu(x) * gate + residual


def scale(x, gate, residual):
    """How wrong honest roundings may be, in units of 2**-24.

    exp turns an error of its argument into a relative error of its result. The argument is x · log2(e), rounded twice (the
    constant, the product), so 2·|x|. The 4 is for a GPU's own exp and its division.
    """
    product = torch.nn.functional.silu(x) * gate
    return product.abs() * (4 + 2 * x.abs()) + (x * gate).abs() * VANISHED + residual.abs()


ORACLES = {"fused_activation": Oracle(value=fused, scale=scale)}


def triple(*shape, dtype=torch.float32, device="cpu"):
    """Three different random tensors: x around 0, gate and residual shifted away from it."""
    x, gate, residual = torch.randn((3, *shape), device=device)
    return (2 * x).to(dtype), (gate + 1).to(dtype), (residual - 3).to(dtype)


def test_one_block(grade: Grade):
    """one full tile"""
    for dtype in grade.dtypes:
        grade(*triple(BLOCK, dtype=dtype))


def test_ragged_tail(grade: Grade):
    """sizes that are no multiple of a tile"""
    for dtype in grade.dtypes:
        for size in (1, BLOCK - 1, BLOCK + 1, 10_007):
            grade(*triple(size, dtype=dtype))


def test_any_shape(grade: Grade):
    """any number of dimensions, and nothing at all"""
    for shape in ((), (33, 65), (3, 5, 7, 11), (3, 0, 5)):
        grade(*triple(*shape))


def test_offset_views(grade: Grade):
    """tensors that begin inside a larger one"""
    x, gate, residual = triple(5000)
    grade(x[3:4100], gate[517:4614], residual[64:4161], note="views that begin at elements 3, 517 and 64")


def test_neutral_inputs(grade: Grade):
    """one input at a time has no effect"""
    x, gate, residual = triple(1500)
    grade(x, torch.ones(1500), residual, note="gate is 1")
    grade(x, gate, torch.zeros(1500), note="residual is 0")
    for dtype in grade.dtypes:
        x, gate, residual = triple(1500, dtype=dtype)
        grade(torch.zeros_like(x), gate, residual, exact=True, note="x is 0: the residual comes back, bit for bit")
        grade(x, torch.zeros_like(gate), residual, exact=True, note="gate is 0: the residual comes back, bit for bit")


def test_large_values(grade: Grade):
    """large positive and negative x"""
    for dtype in grade.dtypes:
        x = torch.tensor([10.0, 20.0, 50.0, 88.0, 90.0, 100.0, 1000.0, 60000.0]).repeat(40)
        _, gate, residual = triple(320, dtype=dtype)
        grade(x.to(dtype), gate.sign(), residual, note="x from 10 to 60,000")
        grade(-x.to(dtype), gate, residual, note="x from -10 to -60,000")
    x = torch.linspace(-110, 110, 2201)
    grade(x, torch.ones(2201), torch.zeros(2201), note="x from -110 to 110")
    grade(torch.tensor([1e30, -1e30, 1e-30, -1e-30]), torch.full((4,), 1e5), torch.ones(4), note="huge and tiny")


def test_cancelling_residual(grade: Grade):
    """a residual that nearly cancels silu(x) · gate"""
    for dtype in grade.dtypes:
        x, gate, _ = triple(3001, dtype=dtype)
        product = torch.nn.functional.silu(x.double()) * gate.double()
        grade(x, gate, -product.to(dtype), note="every rounding on the way shows")
    big = torch.full((1201,), 300.0).half()
    grade(big, big, torch.full((1201,), -60000.0).half(), note="silu(x) · gate is 90,000, more than float16 can hold")


def test_one_kernel(grade: Grade):
    """one kernel does it all, and nothing but the result is allocated"""
    grade(*triple(5 * BLOCK + 3), scratch=0, kernels=1)


@pytest.mark.gpu
def test_large(grade: Grade):
    """large inputs"""
    for dtype in grade.dtypes:
        grade(*triple(50_000_017, dtype=dtype, device=grade.device))
