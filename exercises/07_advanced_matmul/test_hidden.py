"""Hidden tests of 07_advanced_matmul. Values and seed are new in every run; labels and shapes are no secret.

On the interpreter the autotuner picks a configuration at random for each new combination of sizes and dtypes, so most
cases have sizes of their own, and every configuration meets several of them.
"""

import pytest
import torch

from grader.judge.grade import Grade, Oracle


def product(a, b, bias=None):
    """The oracle."""
    return a @ b if bias is None else a @ b + bias


def scale(a, b, bias=None):
    """The same on absolute values."""
    return product(a.abs(), b.abs(), None if bias is None else bias.abs())


ORACLES = {"advanced_matmul": Oracle(value=product, scale=scale, length=lambda a, b, bias=None: a.shape[1])}


def pair(M, K, N, dtype=torch.float32, device="cpu"):
    """Two random matrices, a (M, K) and b (K, N), shifted away from zero by different amounts."""
    return (torch.randn(M, K, device=device) + 0.5).to(dtype), (torch.randn(K, N, device=device) - 0.25).to(dtype)


def triple(M, K, N, dtype=torch.float32, device="cpu"):
    """The same, and a random bias (N,)."""
    return *pair(M, K, N, dtype, device), (torch.randn(N, device=device) + 2).to(dtype)


def test_small(grade: Grade):
    """a small product without bias"""
    for dtype in grade.dtypes:
        grade(*pair(64, 32, 64, dtype))
        grade(*pair(64, 32, 64, dtype), None, note="the same sizes again, bias=None")


def test_ragged(grade: Grade):
    """rows, columns and K that end inside a tile"""
    for dtype in grade.dtypes:
        grade(*pair(37, 53, 71, dtype))
        grade(*pair(129, 31, 67, dtype))
    for M, K, N in ((63, 5, 131), (65, 131, 258)):
        grade(*pair(M, K, N))


def test_size_one(grade: Grade):
    """a single row, a single column, a single element"""
    for M, K, N in ((1, 1, 1), (1, 30, 131), (131, 30, 1)):
        grade(*pair(M, K, N, torch.float16))


def test_few_tile_rows(grade: Grade):
    """fewer rows of tiles than a group has"""
    grade(*pair(131, 9, 1037), note="2 × 5 tiles of 128 × 256")


def test_many_tile_rows(grade: Grade):
    """a last group with fewer rows of tiles than the others"""
    grade(*pair(1097, 9, 259), note="9 × 2 tiles of 128 × 256")


def test_strides(grade: Grade):
    """transposed, sliced and expanded operands"""
    for dtype in grade.dtypes[:2]:
        a, b = pair(70, 45, 139, dtype)
        grade(a.t().contiguous().t(), b.t().contiguous().t(), note="both transposed")
        grade(a[:, 7:38], b[3:34, 5:], note="slices of larger matrices")
    grade(a[::2, ::3], b[10:40:2, ::2], note="every second row, every second or third column")
    grade(a[:1].expand(33, 45), b[:, :1].expand(45, 20), note="one row and one column, expanded")


def test_bias(grade: Grade):
    """a bias for each column"""
    for M, K, N in ((71, 139, 307), (67, 17, 67), (133, 17, 129)):
        grade(*triple(M, K, N))


def test_fused(grade: Grade):
    """the bias is added by the same kernel"""
    grade(*triple(73, 21, 69), kernels=1)


def test_rounded_once(grade: Grade):
    """product and bias are rounded once, together"""
    for dtype in grade.dtypes:
        a, b, bias = triple(69, 19, 133, dtype)
        grade(a, b, bias)
        grade(a, b, bias * 1000, note="bias times 1000")
        row, b = a[:1].abs(), b.abs()
        bias = -product(row.double(), b.double())[0].to(dtype)
        grade(row.repeat(5, 1), b, bias, note="a bias that cancels the product")


def test_bias_views(grade: Grade):
    """a bias that is a view"""
    a, b, bias = triple(39, 23, 141, torch.float16)
    grade(a, b[:, :70], bias[1::2], note="every second element")
    grade(a, b, bias[:1].expand(141), note="one element, expanded")


def test_magnitudes(grade: Grade):
    """large, small and constant values"""
    a, b, bias = triple(51, 41, 143)
    grade(a * 1e15, b * 1e15, bias * 1e30, note="times 10^15")
    grade(a[:50] * 1e-12, b * 1e-12, bias * 1e-24, note="times 10^-12")
    grade(torch.full((49, 41), 0.1), torch.full((41, 143), -3.0), torch.full((143,), 7.0), note="constant")


def test_whole_numbers(grade: Grade):
    """whole numbers, exact to the last bit"""
    for dtype in grade.dtypes:
        a, b, bias = (torch.randint(0, 2, shape).to(dtype) for shape in ((67, 201), (201, 149), (149,)))
        grade(a, b, bias, exact=True)


def test_far_rows(grade: Grade):
    """rows that lie more than 2**31 elements apart"""
    a, b, bias = triple(3, 3, 64, torch.float16)
    far = torch.empty(2 * 2**30 + 64, dtype=torch.float16)
    grade(far.as_strided((3, 3), (2**30, 1)).copy_(a), b, bias, note="row stride 2**30 in a")
    grade(a, far.as_strided((3, 64), (2**30, 1)).copy_(b), bias, note="row stride 2**30 in b")


@pytest.mark.gpu
def test_large(grade: Grade):
    """large inputs"""
    for dtype in grade.dtypes:
        grade(*pair(4096, 4096, 4096, dtype, grade.device))
        grade(*triple(2049, 5003, 3001, dtype, grade.device))
