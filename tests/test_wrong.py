"""Real mistakes, made in the reference solutions of 01 to 05: each must be rejected, and for the stated kind of failure.

A mistake is an edit: the text before must occur in the solution, and is replaced everywhere.
"""

import re
from dataclasses import dataclass

import pytest

from grader.results import Kind, Status
from judging import ROOT, grade

VALUES, UNWRITTEN, OUTSIDE = Kind.VALUES, Kind.UNWRITTEN, Kind.OUTSIDE


@dataclass(frozen=True)
class Mistake:
    exercise: str
    name: str
    kind: Kind
    before: str
    after: str


def _mistakes(exercise, *rows):
    return [Mistake(exercise, *row) for row in rows]


NO_MASK = ("offs_n < n_cols", "offs_n < n_cols + 10000")
MISTAKES = [
    *_mistakes(
        "01_vector_add",
        ("no mask at all", OUTSIDE, "mask = offs < n_elements", "mask = offs >= 0"),
        ("mask one too long", OUTSIDE, "offs < n_elements", "offs <= n_elements"),
        ("mask of the tile, not of the tensor", OUTSIDE, "mask = offs < n_elements", "mask = tl.arange(0, BLOCK_SIZE) < n_elements"),
        ("grid rounded down", UNWRITTEN, "triton.cdiv(n_elements, BLOCK_SIZE)", "n_elements // BLOCK_SIZE"),
        ("every program has the first tile", UNWRITTEN, "pid * BLOCK_SIZE + tl.arange", "tl.arange"),
        ("tiles that overlap", UNWRITTEN, "pid * BLOCK_SIZE + tl.arange", "pid + tl.arange"),
        ("only the first dimension", UNWRITTEN, "x.numel()", "x.shape[0] if x.dim() else 1"),
        ("subtracts", VALUES, "x + y, mask", "x - y, mask"),
        ("adds in float16", VALUES, "x + y, mask", "(x.to(tl.float16) + y.to(tl.float16)), mask"),
        ("writes over x", Kind.INPUT_CHANGED, "out = torch.empty_like(x)", "out = x"),
        ("block that is no power of two", Kind.COMPILE, "BLOCK_SIZE = 1024", "BLOCK_SIZE = 1000"),
    ),
    *_mistakes(
        "02_row_wise_sum",
        ("no mask", OUTSIDE, *NO_MASK),
        ("rows taken as contiguous", OUTSIDE, "row * stride_xm", "row * n_cols"),
        ("columns taken as contiguous", VALUES, "offs_n * stride_xn", "offs_n"),
        ("only one tile", VALUES, "range(0, n_cols, BLOCK_N)", "range(0, BLOCK_N, BLOCK_N)"),
        ("sum kept in float16", VALUES, "partial += x.to(tl.float32)", "partial = (partial + x.to(tl.float32)).to(tl.float16)"),
        ("mean, not sum", VALUES, "tl.store(out_ptr + row, row_sum)", "tl.store(out_ptr + row, row_sum / n_cols)"),
        ("all rows to one place", Kind.RACE, "tl.store(out_ptr + row,", "tl.store(out_ptr,"),
        ("offset in int32", OUTSIDE, ".to(tl.int64)", ""),
    ),
    *_mistakes(
        "03_row_wise_max",
        ("padding of zero", VALUES, 'other=-float("inf")', "other=0.0"),
        ("no mask", OUTSIDE, *NO_MASK),
        ("starts at zero", VALUES, 'tl.full((BLOCK_N,), -float("inf")', "tl.full((BLOCK_N,), 0.0"),
        ("a sentinel of -1e9", VALUES, '-float("inf")', "-1e9"),
        ("last column left out", Kind.NOT_FINITE, "offs_n < n_cols", "offs_n < n_cols - 1"),
        ("largest absolute value", VALUES, "tl.maximum(partial, x.to(tl.float32))", "tl.maximum(partial, tl.abs(x.to(tl.float32)))"),
    ),
    *_mistakes(
        "04_softmax",
        ("no maximum subtracted", Kind.NOT_FINITE, "tl.exp(x - row_max)", "tl.exp(x)"),
        ("padding of zero", VALUES, 'other=-float("inf")', "other=0.0"),
        ("sum of the raw exponentials", VALUES, "tl.sum(numerator, axis=0)", "tl.sum(tl.exp(x), axis=0)"),
        ("not divided", VALUES, "numerator / row_sum", "numerator"),
        ("store without a mask", OUTSIDE, "numerator / row_sum, mask=mask_n", "numerator / row_sum"),
        ("a small number in the sum", VALUES, "numerator / row_sum", "numerator / (row_sum + 1e-3)"),
    ),
    *_mistakes(
        "05_online_softmax",
        ("old sum not rescaled", VALUES, "row_sum * tl.exp(row_max - shift)", "row_sum"),
        ("factor upside down", Kind.NOT_FINITE, "tl.exp(row_max - shift)", "tl.exp(shift - row_max)"),
        ("maximum of the last tile", Kind.NOT_FINITE, "tl.maximum(row_max, tl.max(x, axis=0))", "tl.max(x, axis=0)"),
        ("padding of zero", VALUES, 'other=-float("inf")).to', "other=0.0).to"),
        ("NaN where a row begins with -inf", Kind.NOT_FINITE, 'tl.where(new_max == -float("inf"), 0.0, new_max)', "new_max"),
        ("chunks added without rescaling", VALUES, "chunk_sum * tl.exp(chunk_max - shift)", "chunk_sum"),
        ("chunks padded with zero", Kind.NOT_FINITE, 'mask=mask_c, other=-float("inf")', "mask=mask_c, other=0.0"),
        ("sums of chunks never stored", Kind.UNDEFINED, "    tl.store(chunk_sum_ptr + row * n_chunks + chunk, chunk_sum)\n", ""),
        ("last chunk not written", UNWRITTEN, "write_kernel[(n_rows, n_chunks)]", "write_kernel[(n_rows, n_cols // BLOCK_N)]"),
    ),
]  # fmt: skip


def _slug(mistake):
    return f"{mistake.exercise[:2]}-{re.sub('[^a-z0-9]+', '-', mistake.name.lower())}"


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wrong")
    submissions = {}
    for mistake in MISTAKES:
        solution = (ROOT / "solutions" / mistake.exercise / "kernel.py").read_text()
        assert mistake.before in solution, f"{mistake} does not apply"
        path = folder / f"{_slug(mistake)}.py"
        path.write_text(solution.replace(mistake.before, mistake.after))
        submissions[path] = mistake
    graded = grade(ROOT, [(mistake.exercise, path) for path, mistake in submissions.items()], seed=1)
    return {mistake: graded[path] for path, mistake in submissions.items()}


@pytest.mark.parametrize("mistake", MISTAKES, ids=_slug)
def test_is_rejected_for_its_kind(results, mistake):
    result = results[mistake]
    failed = next((check for check in result.checks if check.status is Status.FAILED), None)
    assert (result.status, result.kind) == (Status.FAILED, mistake.kind), failed
