"""Hidden tests of 06_matmul. Values and seed are new in every run; labels and shapes are no secret."""

import pytest
import torch

from grader.judge.grade import Grade, Oracle

BLOCK = 128
BLOCK_K = {torch.float32: 32, torch.float16: 64, torch.bfloat16: 64}
ORACLES = {
    "matmul": Oracle(
        value=lambda a, b: a @ b,
        scale=lambda a, b: a.abs() @ b.abs(),
        length=lambda a, b: a.shape[1],
    )
}


def pair(M, K, N, dtype=torch.float32, device="cpu"):
    """Two random matrices, a (M, K) and b (K, N), shifted away from zero by different amounts."""
    return (torch.randn(M, K, device=device) + 0.5).to(dtype), (torch.randn(K, N, device=device) - 0.25).to(dtype)


def test_one_tile(grade: Grade):
    """one full tile"""
    for dtype in grade.dtypes:
        grade(*pair(BLOCK, BLOCK_K[dtype], BLOCK, dtype))


def test_steps_along_k(grade: Grade):
    """several steps along K"""
    for dtype in grade.dtypes:
        grade(*pair(BLOCK, 3 * BLOCK_K[dtype], BLOCK, dtype))


def test_ragged_k(grade: Grade):
    """K ends inside a step"""
    for dtype in grade.dtypes:
        for K in (5, BLOCK_K[dtype] - 1, BLOCK_K[dtype] + 1):
            grade(*pair(BLOCK, K, BLOCK, dtype))


def test_ragged_tiles(grade: Grade):
    """rows and columns that end inside a tile"""
    for dtype in grade.dtypes:
        grade(*pair(37, 20, 53, dtype))
    for M, N in ((BLOCK - 1, BLOCK + 1), (BLOCK + 1, BLOCK - 1)):
        grade(*pair(M, 20, N))


def test_size_one(grade: Grade):
    """a single row, a single column, a single element"""
    for M, K, N in ((1, 1, 1), (1, 30, 1), (1, 30, 131), (131, 30, 1), (7, 1, 9)):
        grade(*pair(M, K, N))


def test_tile_grids(grade: Grade):
    """more rows than columns, and the other way round"""
    for M, N in ((3 * BLOCK - 9, BLOCK + 7), (BLOCK + 7, 3 * BLOCK - 9)):
        grade(*pair(M, 20, N))


def test_strides(grade: Grade):
    """transposed, sliced and expanded operands"""
    for dtype in grade.dtypes:
        a, b = pair(70, 45, 50, dtype)
        grade(a.t().contiguous().t(), b.t().contiguous().t(), note="both transposed")
        grade(a[:, 7:38], b[3:34, 5:], note="slices of larger matrices")
    a, b = pair(70, 45, 50)
    grade(a.t().contiguous().t(), b, note="a transposed")
    grade(a, b.t().contiguous().t(), note="b transposed")
    grade(a[::2, ::3], b[10:40:2, ::2], note="every second row, every second or third column")
    grade(a[:1].expand(33, 45), b[:, :1].expand(45, 20), note="one row and one column, expanded")


def test_magnitudes(grade: Grade):
    """large, small and constant values"""
    a, b = pair(50, 40, 30)
    grade(a * 1e15, b * 1e15, note="times 10^15")
    grade(a * 1e-12, b * 1e-12, note="times 10^-12")
    grade(a + 1000, b - 1000, note="far from zero")
    grade(torch.full((50, 40), 0.1), torch.full((40, 30), -3.0), note="constant")


def test_long_sums(grade: Grade):
    """long sums of half-precision values"""
    for dtype in grade.dtypes[1:]:
        grade(torch.randn(20, 1024).to(dtype) * 8, torch.randn(1024, 30).to(dtype))


def test_whole_numbers(grade: Grade):
    """whole numbers, exact to the last bit"""
    for dtype in grade.dtypes:
        a, b = torch.randint(0, 2, (65, 199)).to(dtype), torch.randint(0, 2, (199, 67)).to(dtype)
        grade(a, b, exact=True)


def test_far_rows(grade: Grade):
    """rows that lie more than 2**31 elements apart"""
    a, b = pair(3, 3, 64, torch.float16)
    far = torch.empty(2 * 2**30 + 64, dtype=torch.float16)
    grade(far.as_strided((3, 3), (2**30, 1)).copy_(a), b, note="row stride 2**30 in a")
    grade(a, far.as_strided((3, 64), (2**30, 1)).copy_(b), note="row stride 2**30 in b")


@pytest.mark.gpu
def test_large(grade: Grade):
    """large inputs"""
    for dtype in grade.dtypes:
        grade(*pair(4096, 4096, 4096, dtype, grade.device))
        grade(*pair(2049, 5003, 3001, dtype, grade.device))
