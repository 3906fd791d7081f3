import pytest
import torch

from grader.judge.grade import Grade, Oracle

ORACLES = {"double": Oracle(value=lambda x: 2 * x, scale=lambda x: x.abs())}


def test_one_tile(grade: Grade):
    """one full tile"""
    grade(torch.randn(64))


def test_ragged(grade: Grade):
    """a ragged tail"""
    for dtype in grade.dtypes:
        grade(torch.randn(100).to(dtype))


@pytest.mark.gpu
def test_large(grade: Grade):
    """a large input"""
    grade(torch.randn(10_000_019, device=grade.device))
