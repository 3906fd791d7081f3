"""Hidden tests of 03_row_wise_max. Values and seed are new in every run; labels and shapes are no secret."""

import pytest
import torch

from grader.judge.grade import Grade, Oracle

BLOCK = 4096
INF = torch.inf
ORACLES = {"row_wise_max": Oracle(value=lambda x: x.amax(dim=1))}  # a maximum rounds nothing: results must be exact


def test_one_tile(grade: Grade):
    """one full tile"""
    for dtype in grade.dtypes:
        grade(torch.randn(3, BLOCK).to(dtype))


def test_ragged_tail(grade: Grade):
    """rows that end inside a tile"""
    for dtype in grade.dtypes:
        for n_cols in (1, 2, 127, 1009, BLOCK - 1, BLOCK + 1, 2 * BLOCK + 619):
            grade(torch.randn(2, n_cols).to(dtype))


def test_negative_rows(grade: Grade):
    """rows of negative values only"""
    for dtype in grade.dtypes:
        for n_cols in (1, 100, BLOCK, BLOCK + 3):
            grade(torch.rand(2, n_cols).neg().sub(1).to(dtype))
    grade(torch.rand(2, 1000) * -1e-30, note="tiny negative values")


def test_very_negative_rows(grade: Grade):
    """rows of very negative values"""
    for lowest in (-1e9, -1e30, -3e38):
        for n_cols in (100, BLOCK):
            grade(torch.rand(2, n_cols).add(1) * lowest / 2, note=f"down to {lowest:.0e}")
    grade(torch.full((2, 1000), -6e4).half(), note="-60000")


def test_minus_infinity(grade: Grade):
    """-inf entries, also a whole row of them"""
    for dtype in grade.dtypes:
        x = torch.randn(3, BLOCK + 10).sub(10).to(dtype)
        x[1] = -INF
        grade(x, note="one row is -inf")
        x[:, :BLOCK] = -INF
        grade(x, note="the first 4096 columns are -inf")
        grade(torch.full((2, 7), -INF).to(dtype), note="all is -inf")


def test_place_of_the_maximum(grade: Grade):
    """the maximum in the first or last column, or at the edge of a tile"""
    for place in (0, 1, BLOCK - 1, BLOCK, -1):
        spike = torch.randn(2, 2 * BLOCK + 5)
        spike[:, place] = 10.0
        grade(spike, note=f"at column {place}")
    grade(torch.linspace(-30, 30, BLOCK + 5).repeat(2, 1), note="rising")
    grade(torch.linspace(30, -30, BLOCK + 5).repeat(2, 1), note="falling")


def test_number_of_rows(grade: Grade):
    """one row, many rows, one column"""
    for shape in ((1, 37), (7, 37), (40, 37), (5, 1)):
        grade(torch.randn(shape))


def test_rows_of_different_size(grade: Grade):
    """rows that are much larger or smaller than their neighbours"""
    x = torch.randn(5, 100)
    grade(x + torch.tensor([[0.0], [1e6], [-1e6], [1e3], [-1e3]]))


def test_close_values(grade: Grade):
    """values that differ in the last digit, large and infinite ones"""
    grade(1 + torch.randint(0, 1000, (3, 1009)) * 2.0**-23, note="steps of 2**-23")
    grade(torch.randn(2, 1009) * 1e30, note="times 1e30")
    grade(torch.full((2, BLOCK + 100), 0.1), note="constant")
    grade(torch.tensor([[1.0, INF, 2.0], [-INF, 3.0, INF]]), note="+inf")


def test_strides(grade: Grade):
    """transposed and sliced inputs"""
    for dtype in grade.dtypes:
        grade(torch.randn(301, 5).to(dtype).t(), note="transposed")
        grade(torch.randn(4, 900).to(dtype)[:, 7:708], note="columns 7 to 707 of 900")
        grade(torch.randn(4, 900).to(dtype)[::2, ::3], note="every second row, every third column")
        grade(torch.randn(1, 300).to(dtype).expand(4, 300), note="one row, expanded to four")
        grade(torch.randn(4, 1).to(dtype).expand(4, 300), note="one column, expanded to 300")


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
