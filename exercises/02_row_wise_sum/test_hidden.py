"""Hidden tests of 02_row_wise_sum. Values and seed are new in every run; labels and shapes are no secret."""

import pytest
import torch

from grader.judge.grade import Grade, Oracle

BLOCK = 4096
INF = torch.inf
ORACLE = Oracle(value=lambda x: x.sum(dim=1), scale=lambda x: x.abs().sum(dim=1), length=lambda x: x.shape[1])
ORACLES = {"row_wise_sum": ORACLE}


def test_one_tile(grade: Grade):
    """one full tile"""
    for dtype in grade.dtypes:
        grade(torch.randn(3, BLOCK).add(1).to(dtype))


def test_ragged_tail(grade: Grade):
    """rows that end inside a tile"""
    for dtype in grade.dtypes:
        for n_cols in (1, 2, 127, 1009, BLOCK - 1, BLOCK + 1, 2 * BLOCK + 619):
            grade(torch.randn(2, n_cols).add(1).to(dtype))


def test_number_of_rows(grade: Grade):
    """one row, and many"""
    for n_rows in (1, 7, 40):
        grade(torch.randn(n_rows, 37).add(1))


def test_strides(grade: Grade):
    """transposed and sliced inputs"""
    for dtype in grade.dtypes:
        grade(torch.randn(301, 5).to(dtype).t(), note="transposed")
        grade(torch.randn(4, 900).to(dtype)[:, 7:708], note="columns 7 to 707 of 900")
        grade(torch.randn(4, 900).to(dtype)[::2, ::3], note="every second row, every third column")
        grade(torch.randn(1, 300).to(dtype).expand(4, 300), note="one row, expanded to four")
        grade(torch.randn(4, 1).to(dtype).expand(4, 300), note="one column, expanded to 300")


def test_whole_numbers(grade: Grade):
    """whole numbers, exact to the last bit"""
    for dtype in grade.dtypes:
        grade(torch.randint(0, 2, (3, BLOCK + 907)).to(dtype), exact=True)


def test_small_after_large(grade: Grade):
    """many small values after large ones"""
    for dtype in grade.dtypes:
        x = torch.full((2, 32 * BLOCK), 2.0**-8)
        x[:, :BLOCK] = 8.0
        grade(x.to(dtype), note="8 in the first 4096 columns, then 1/256")
        grade(torch.full((2, BLOCK), 10.0).to(dtype), note="4096 times 10")


def test_large_on_the_way(grade: Grade):
    """sums on the way that are far larger than the result"""
    for dtype in grade.dtypes:
        grade(torch.tensor([30.0, -29.0]).repeat_interleave(BLOCK).repeat(2, 1).to(dtype), note="30, later -29")
        grade(torch.tensor([4e4, -4e4]).repeat_interleave(3 * BLOCK).repeat(2, 1).to(dtype), note="40000, later -40000")
    grade(torch.full((2, BLOCK), 100.0).half(), note="a sum above the range of float16 is infinite")


def test_far_from_zero(grade: Grade):
    """values far from zero, and tiny ones"""
    x = torch.randn(2, BLOCK + 100)
    for shift in (1000, -1000):
        grade(x + shift, note=f"{shift:+}")
    for factor in (1e30, 1e-30):
        grade(x * factor, note=f"times {factor:.0e}")
    grade(torch.full((2, BLOCK + 100), -1e4), note="constant")
    grade(x + torch.tensor([[-500.0], [500.0]]), note="rows of different size")


def test_infinity(grade: Grade):
    """rows that hold an infinity"""
    x = torch.randn(3, 1009)
    x[0, 5], x[2, -1] = INF, -INF
    grade(x)


def test_long_rows(grade: Grade):
    """rows of more than a million columns"""
    grade(torch.randn(1, 2**20 + 4099))


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
        grade(torch.randn(4001, 10_007, device=grade.device).to(dtype))
        grade(torch.randn(100_003, 61, device=grade.device).to(dtype))
