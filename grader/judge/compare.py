"""Compare one output with the oracle and say what was seen: how many elements are wrong, the first one, the pattern.

A pattern is named only when every wrong element fits it. When none fits, the counts are all that is said.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from grader.channel import POISON_MARKS, poison
from grader.results import Kind

_INTEGERS = {2: torch.int16, 4: torch.int32, 8: torch.int64}


@dataclass(frozen=True)
class Finding:
    """What is wrong with one output, in plain words."""

    kind: Kind
    lines: tuple[str, ...]


def compare(got: Tensor, expected: Tensor, allowed: Tensor, mark: int, name: str = "out") -> Finding | None:
    """Judge `got` (any float dtype) against `expected` and `allowed` (float64), all of one shape; None if it is right.

    mark: of the poison that filled the output before the call; 0 for none. name: what to call the tensor in a message.
    """
    unwritten = never_written(got, mark)
    if unwritten.any():
        return _describe_unwritten(unwritten, name)
    wrong = wrong_elements(got, expected, allowed)
    if not wrong.any():
        return None
    appeared = wrong & ~got.isfinite() & expected.isfinite()
    kind = Kind.NOT_FINITE if appeared.any() else Kind.VALUES
    pattern = _pattern(got.double(), expected, allowed, wrong)
    lines = (_count(wrong, appeared, got), _first(got, expected, allowed, wrong, name), pattern)
    return Finding(kind, tuple(line for line in lines if line))


def never_written(got: Tensor, mark: int) -> Tensor:
    """Which elements still hold the poison, bit for bit. Only floats have a poison that no kernel computes."""
    if mark not in POISON_MARKS or not got.dtype.is_floating_point:
        return torch.zeros_like(got, dtype=torch.bool)
    fill = poison(str(got.dtype).removeprefix("torch."), mark)
    return got.contiguous().view(_INTEGERS[got.element_size()]) == fill


def wrong_elements(got: Tensor, expected: Tensor, allowed: Tensor) -> Tensor:
    """Which elements are out of bounds. NaN must be NaN, an infinity the same infinity; NaN never counts as close."""
    value, stored = got.double(), expected.to(got.dtype).double()  # stored: where the output's dtype must overflow
    close = (value - expected).abs() <= allowed
    same = (value == stored) | (value.isnan() & expected.isnan())
    return ~torch.where(expected.isfinite(), close | (same & ~stored.isfinite()), same)


def where(bad: Tensor) -> str:
    """Where the marked elements are, if they form one of the shapes that a kernel's structure leaves; else ""."""
    if bad.all():
        return "all of them" if bad.numel() > 1 else ""
    if bad.dim() == 2:
        return next(_places_in_matrix(bad), "")
    return next(_places_in_a_line(bad.flatten()), "")


def _places_in_a_line(bad: Tensor) -> Iterator[str]:
    first, last, count = _range(bad)
    if count < last - first + 1:
        return
    if last == len(bad) - 1:
        yield f"only the last {count} elements; all before are right" if count > 1 else "only the last element"
    elif count > 1:
        yield f"exactly elements {first} to {last}; all others are right"


def _places_in_matrix(bad: Tensor) -> Iterator[str]:
    rows, columns = bad.any(dim=1), bad.any(dim=0)
    first_row, last_row, n_rows = _range(rows)
    first_column, last_column, n_columns = _range(columns)
    if n_rows == 1:
        inside = next(_places_in_a_line(bad[first_row]), "") if not bad[first_row].all() else "all of it"
        yield f"only row {first_row}" + (f": {inside}" if inside else "")
    if n_columns == 1:
        yield f"only column {first_column}"
    full = int(bad.sum()) == n_rows * n_columns
    solid = full and n_rows == last_row - first_row + 1 and n_columns == last_column - first_column + 1
    if not columns.all() and n_columns == len(columns) - first_column and last_column == len(columns) - 1:
        yield f"only columns {first_column} to {last_column}, the last {n_columns}; all before are right"
    if not rows.all() and n_rows == len(rows) - first_row and last_row == len(rows) - 1:
        yield f"only rows {first_row} to {last_row}, the last {n_rows}; all before are right"
    if solid:
        yield f"one tile: rows {first_row} to {last_row}, columns {first_column} to {last_column}"
    if not rows.all():
        yield f"{n_rows} of {len(rows)} rows, the first is row {first_row}; the other rows are right"


def _range(marked: Tensor) -> tuple[int, int, int]:
    """First and last marked position, and how many are marked."""
    positions = marked.nonzero().flatten()
    return int(positions[0]), int(positions[-1]), len(positions)


def _describe_unwritten(unwritten: Tensor, name: str) -> Finding:
    if unwritten.all():
        return Finding(Kind.UNWRITTEN, (f"nothing was written: `{name}` still holds what the grader filled it with",))
    count = f"{int(unwritten.sum())} of {unwritten.numel()} elements of `{name}` were never written"
    place = where(unwritten)
    first = _index(unwritten, name)
    return Finding(
        Kind.UNWRITTEN,
        (count, f"first: {first}", *([f"where: {place}".replace("are right", "are written")] if place else [])),
    )


def _count(wrong: Tensor, appeared: Tensor, got: Tensor) -> str:
    text = f"{int(wrong.sum())} of {wrong.numel()} values are wrong"
    if not appeared.any():
        return text
    words = [word for word, found in (("NaN", got.isnan() & appeared), ("infinite", got.isinf() & appeared)) if found.any()]
    return f"{text}; {int(appeared.sum())} of them are {' or '.join(words)}"


def _first(got: Tensor, expected: Tensor, allowed: Tensor, wrong: Tensor, name: str) -> str:
    place = wrong.flatten().nonzero()[0]
    value, right, error = (tensor.flatten()[place].item() for tensor in (got, expected, allowed))
    margin = f" (allowed error {error:.1e})" if error == error and error > 0 else ""
    return f"first: {_index(wrong, name)} is {value:.6g}, expected {right:.6g}{margin}"


def _index(marked: Tensor, name: str) -> str:
    return f"{name}[{', '.join(str(i) for i in marked.nonzero()[0].tolist())}]"


def _pattern(value: Tensor, expected: Tensor, allowed: Tensor, wrong: Tensor) -> str:
    if _transposed(value, expected, allowed):
        return "pattern: these are the right values in transposed order"
    factor = _common_factor(value, expected, allowed)
    if factor:
        return f"pattern: every value is {factor:.4g} times what it should be"
    place = where(wrong)
    return f"where: {place}" if place else ""


def _transposed(value: Tensor, expected: Tensor, allowed: Tensor) -> bool:
    """Whether a matrix holds the oracle's values in the order of its transpose."""
    if value.dim() != 2 or min(value.shape) < 2:
        return False
    turned, bound = (tensor.t().reshape(value.shape) for tensor in (expected, allowed))
    return not wrong_elements(value, turned, bound).any()


def _common_factor(value: Tensor, expected: Tensor, allowed: Tensor) -> float:
    """The one factor between all values and their oracle; 0.0 if there is none. Needs 8 values of different size."""
    if not value.isfinite().all() or not expected.isfinite().all():
        return 0.0
    telling = expected.abs() > 16 * allowed
    ratios, sizes = (value / expected)[telling], expected[telling].abs()
    if len(ratios) < 8 or float(sizes.max() / sizes.min()) < 1.5:
        return 0.0
    factor = float(ratios.median())
    fits = ((value - factor * expected).abs() <= (1 + abs(factor)) * allowed).all()
    return factor if fits and factor else 0.0
