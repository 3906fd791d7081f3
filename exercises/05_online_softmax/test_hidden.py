"""Hidden tests of 05_online_softmax. Values and seed are new in every run; labels and shapes are no secret."""

import pytest
import torch

from grader.judge.grade import Grade, Oracle

BLOCK = 4096
INF = torch.inf


def softmax(x):
    """The oracle. A row of nothing but -inf is NaN, as in PyTorch."""
    return torch.softmax(x, dim=1)


def scale(x):
    """The sum's errors, and those of exp's argument, which become relative errors of its result.

    The argument is as exact as x and x - max are; 4 / √n, because that error does not grow with the length of the row.
    """
    argument = (x.amax(dim=1, keepdim=True) - x) + x.abs()
    return softmax(x) * (1 + torch.where(argument.isfinite(), argument, 0.0) * 4 / x.shape[1] ** 0.5)


ORACLE = Oracle(value=softmax, scale=scale, length=lambda x: x.shape[1])
ORACLES = {"online_softmax": ORACLE, "split_online_softmax": ORACLE}


def test_one_tile(grade: Grade):
    """one full tile"""
    for dtype in grade.dtypes:
        grade(torch.randn(3, BLOCK).to(dtype))


def test_ragged_tail(grade: Grade):
    """rows that end inside a tile"""
    for dtype in grade.dtypes:
        for n_cols in (1, 2, 127, 1009, BLOCK - 1, BLOCK + 1, 2 * BLOCK + 619):
            grade(torch.randn(2, n_cols).to(dtype))


def test_moving_maximum(grade: Grade):
    """the maximum rises, falls, or comes first or last"""
    ramp = torch.linspace(-30, 30, 3 * BLOCK + 5).repeat(2, 1)
    grade(ramp, note="rising")
    grade(ramp.flip(1), note="falling")
    for place in (0, -1):
        spike = torch.randn(2, 3 * BLOCK + 5)
        spike[:, place] = 40.0
        grade(spike, note=f"a spike at column {place}")


def test_far_from_zero(grade: Grade):
    """values far from zero"""
    x = torch.randn(2, 2 * BLOCK + 100)
    for shifted, note in ((x + 1000, "+1000"), (x - 1000, "-1000"), (x * 100, "times 100")):
        grade(shifted, note=note)
    grade(torch.full((2, 2 * BLOCK + 100), -1e4), note="constant")
    grade((x - 5e4).half(), note="-50000")
    grade(x + torch.tensor([[-500.0], [500.0]]), note="rows of different size")


def test_tiny_values(grade: Grade):
    """tiny and equal values"""
    grade(torch.randn(2, 1000) * 1e-30)
    grade(torch.zeros(3, BLOCK + 1))


def test_some_minus_infinity(grade: Grade):
    """-inf entries, also a whole tile of them"""
    x = torch.randn(3, 3 * BLOCK)
    for columns, note in (
        (slice(0, BLOCK), "first tile"),
        (slice(BLOCK, 2 * BLOCK), "second tile"),
        (slice(-BLOCK, None), "last tile"),
    ):
        masked = x.clone()
        masked[:, columns] = -INF
        grade(masked, note=f"{note} is -inf")
    grade(x.masked_fill(torch.rand(x.shape) < 0.5, -INF), note="half of it is -inf")


def test_whole_row_minus_infinity(grade: Grade):
    """a row of nothing but -inf is NaN; its neighbours are not"""
    x = torch.randn(3, BLOCK + 10)
    x[1] = -INF
    grade(x)


def test_strides(grade: Grade):
    """transposed and sliced inputs"""
    for dtype in grade.dtypes:
        grade(torch.randn(301, 5).to(dtype).t(), note="transposed")
        grade(torch.randn(4, 900).to(dtype)[:, 7:708], note="columns 7 to 707 of 900")
        grade(torch.randn(4, 900).to(dtype)[::2, ::3], note="every second row, every third column")
        grade(torch.randn(1, 300).to(dtype).expand(4, 300), note="one row, expanded to four")


def test_long_rows(grade: Grade):
    """rows of more than 100,000 columns"""
    grade(torch.randn(2, 131_101))


def test_far_rows(grade: Grade):
    """rows that lie more than 2**31 elements apart"""
    storage = torch.empty(2 * 2**30 + 64, dtype=torch.float16)
    x = storage.as_strided((3, 64), (2**30, 1))
    x.copy_(torch.randn(3, 64))
    grade(x, note="row stride 2**30")


@pytest.mark.gpu
def test_large(grade: Grade):
    """large inputs"""
    for dtype in grade.dtypes:
        grade(torch.randn(512, 50_021, device=grade.device).to(dtype))
        grade(torch.randn(3, 3_000_017, device=grade.device).to(dtype))
