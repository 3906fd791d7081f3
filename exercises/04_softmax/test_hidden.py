"""Hidden tests of 04_softmax. Values and seed are new in every run; labels and shapes are no secret."""

import pytest
import torch

from grader.judge.grade import Grade, Oracle

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
ORACLES = {"softmax": ORACLE, "stable_softmax": ORACLE}


def test_full_tile(grade: Grade):
    """rows that fill a tile"""
    for dtype in grade.dtypes:
        for n_cols in (16, 128, 1024):
            grade(torch.randn(3, n_cols).to(dtype))


def test_ragged_row(grade: Grade):
    """rows of any length"""
    for dtype in grade.dtypes:
        for n_cols in (1, 2, 3, 100, 127, 129, 1009, 4097):
            grade(torch.randn(3, n_cols).to(dtype))


def test_number_of_rows(grade: Grade):
    """one row, and many"""
    for n_rows in (1, 7, 40):
        grade(torch.randn(n_rows, 37))


def test_far_from_zero(grade: Grade):
    """values far from zero"""
    x = torch.randn(3, 1000)
    for shifted, note in ((x + 1000, "+1000"), (x - 1000, "-1000"), (x * 100, "times 100")):
        grade(shifted, note=note)
    grade(torch.full((2, 1000), -1e4), note="constant")
    grade((x - 5e4).half(), note="-50000")


def test_rows_of_different_size(grade: Grade):
    """rows that are much larger or smaller than their neighbours"""
    grade(torch.randn(5, 100) + 50 * torch.arange(5.0)[:, None], note="each row 50 above the last")
    grade(torch.randn(2, 100) + torch.tensor([[-500.0], [500.0]]), note="-500 and +500")


def test_tiny_values(grade: Grade):
    """tiny and equal values"""
    grade(torch.randn(2, 1000) * 1e-30)
    for dtype in grade.dtypes:
        grade(torch.zeros(3, 8191).to(dtype), note="all zero")
        grade(torch.zeros(3, 1).to(dtype), exact=True, note="one zero per row")


def test_one_large_value(grade: Grade):
    """one value far above the others"""
    for dtype in grade.dtypes:
        x = torch.randn(3, 200) * 0.3
        x[:, 17] = 8.5
        grade(x.to(dtype))


def test_some_minus_infinity(grade: Grade):
    """-inf entries"""
    for dtype in grade.dtypes:
        x = torch.randn(3, 1000).to(dtype)
        for columns, note in ((slice(900), "the first 900 are -inf"), (slice(1, None), "all but the first are -inf")):
            masked = x.clone()
            masked[:, columns] = -INF
            grade(masked, note=note)
        grade(x.masked_fill(torch.rand(x.shape) < 0.5, -INF), note="half of it is -inf")


def test_whole_row_minus_infinity(grade: Grade):
    """a row of nothing but -inf is NaN; its neighbours are not"""
    x = torch.randn(3, 1009)
    x[1] = -INF
    grade(x)


def test_strides(grade: Grade):
    """transposed and sliced inputs"""
    for dtype in grade.dtypes:
        grade(torch.randn(301, 5).to(dtype).t(), note="transposed")
        grade(torch.randn(4, 900).to(dtype)[:, 7:708], note="columns 7 to 707 of 900")
        grade(torch.randn(4, 900).to(dtype)[::2, ::3], note="every second row, every third column")
        grade(torch.randn(1, 300).to(dtype).expand(4, 300), note="one row, expanded to four")


def test_wide_rows(grade: Grade):
    """wide rows, up to 65,536 columns"""
    grade(torch.randn(2, 8192))
    for dtype in grade.dtypes:
        grade(torch.zeros(1, 65_536).to(dtype), note="65,536 zeros")


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
        for n_rows, n_cols in ((4001, 4096), (20_011, 61), (101, 40_009), (33, 65_536)):
            grade(torch.randn(n_rows, n_cols, device=grade.device).to(dtype))
