"""Hidden tests of 01_vector_add. Values and seed are new in every run; labels and shapes are no secret."""

import pytest
import torch

from grader.judge.grade import Grade, Oracle

BLOCK = 1024
ORACLES = {"vector_add": Oracle(value=lambda x, y: x + y, scale=lambda x, y: x.abs() + y.abs())}


def pair(*shape, dtype=torch.float32, device="cpu"):
    """Two different random tensors, shifted away from zero."""
    return tuple(torch.randn(shape, device=device).add(shift).to(dtype) for shift in (1.0, -3.0))


def test_one_block(grade: Grade):
    """one full tile"""
    for dtype in grade.dtypes:
        grade(*pair(BLOCK, dtype=dtype))


def test_ragged_tail(grade: Grade):
    """sizes that are no multiple of a tile"""
    for dtype in grade.dtypes:
        for size in (1, 7, BLOCK - 1, BLOCK + 1, 3 * BLOCK + 619, 10_007):
            grade(*pair(size, dtype=dtype))


def test_many_tiles(grade: Grade):
    """many tiles"""
    grade(*pair(98_432))


def test_any_shape(grade: Grade):
    """any number of dimensions"""
    for shape in ((), (33, 65), (3, 5, 7, 11), (1, 1031)):
        grade(*pair(*shape))


def test_offset_views(grade: Grade):
    """tensors that begin inside a larger one"""
    x, y = pair(5000)
    grade(x[3:4100], y[517:4614], note="views that begin at elements 3 and 517")


def test_empty(grade: Grade):
    """nothing to add"""
    grade(*pair(0))
    grade(*pair(3, 0, 5))


def test_extreme_values(grade: Grade):
    """very large, very small and infinite values"""
    grade(torch.tensor([3e38, -3e38, 1e-38, 1e30, torch.inf, 0.0]), torch.tensor([-3e38, 1e38, 1e-38, 1.0, 1.0, -torch.inf]))
    grade(torch.full((2000,), 2.0**-20), torch.full((2000,), 2.0**-24), note="tiny values")


def test_whole_numbers(grade: Grade):
    """whole numbers, exact to the last bit"""
    for dtype in grade.dtypes:
        grade(*torch.randint(0, 2, (2, 5003)).to(dtype), exact=True)


@pytest.mark.gpu
def test_large(grade: Grade):
    """a hundred million elements"""
    for dtype in grade.dtypes:
        grade(*pair(100_000_007, dtype=dtype, device=grade.device))
