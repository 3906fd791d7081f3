"""The pattern in an output's wrong elements: their place, or how their values come from the right ones.

A pattern is a statement about all elements, never a guess: it is named only when every one of them fits. When none fits,
nothing is said.
"""

from collections.abc import Iterator

import torch
from torch import Tensor

CLEARLY = 16  # a value this many times what it may be off by tells a factor
MOST = 0.9  # of the values that a pattern moves must be wrong: it must not be the right values that fit it


def pattern(value: Tensor, expected: Tensor, allowed: Tensor, wrong: Tensor) -> str:
    """What the wrong elements have in common, as a sentence; else "". All float64 and of one shape; wrong: which are."""
    return next((text for text in _sentences(value, expected, allowed, wrong) if text), "")


def _sentences(value: Tensor, expected: Tensor, allowed: Tensor, wrong: Tensor) -> Iterator[str]:
    """What could be said, the most telling first; each is found out only if nothing before it can be."""
    yield _transposed(value, expected, allowed)
    yield _shifted(value, expected, allowed, wrong)
    yield _factor(value, expected, allowed, wrong)
    yield _factors(value, expected, allowed, wrong)
    place = where(wrong)
    yield f"where: {place}" if place else ""
    yield _digits(value, expected, wrong)


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


def _fits(value: Tensor, expected: Tensor, allowed: Tensor) -> bool:
    """Whether all of `value` is `expected`, as a judge would see it. Infinities and NaN fit themselves."""
    same = (value == expected) | (value.isnan() & expected.isnan())
    return bool((same | ((value - expected).abs() <= allowed)).all())


def _transposed(value: Tensor, expected: Tensor, allowed: Tensor) -> str:
    """A matrix holds the oracle's values in the order of its transpose."""
    if value.dim() != 2 or min(value.shape) < 2:
        return ""
    views = [(tensor.t().reshape(value.shape), tensor.reshape(value.shape[::-1]).t()) for tensor in (expected, allowed)]
    fits = any(_fits(value, turned, bound) for turned, bound in zip(*views, strict=True))
    return "pattern: these are the right values in transposed order" if fits else ""


def _shifted(value: Tensor, expected: Tensor, allowed: Tensor, wrong: Tensor) -> str:
    """Every element along an axis holds the right value of its neighbour."""
    axes = range(value.dim())[-2:]  # none of a single number
    for axis, word in zip(axes, ("row", "column")[2 - len(axes) :], strict=True):
        size = value.shape[axis]
        if size < 4 or float(wrong.double().mean()) < MOST * (size - 1) / size:
            continue
        word = word if value.dim() > 1 else "element"
        for start, other, side in ((1, 0, "before"), (0, 1, "after")):
            ours = value.narrow(axis, start, size - 1)
            if _fits(ours, *(tensor.narrow(axis, other, size - 1) for tensor in (expected, allowed))):
                return f"pattern: every {word} holds the right values of the {word} {side} it"
    return ""


def _factor(value: Tensor, expected: Tensor, allowed: Tensor, wrong: Tensor) -> str:
    """One factor lies between all values and their oracle. Needs 8 values of different size."""
    if not value.isfinite().all() or not expected.isfinite().all():
        return ""
    factor = _common(value, expected, allowed, wrong)
    return f"pattern: every value is {factor:.4g} times what it should be" if factor else ""


def _factors(value: Tensor, expected: Tensor, allowed: Tensor, wrong: Tensor) -> str:
    """Every row has a factor of its own. A row is what lies along the last axis."""
    if value.dim() < 2 or not value.isfinite().all() or not expected.isfinite().all():
        return ""
    tables = [tensor.reshape(-1, value.shape[-1]) for tensor in (value, expected, allowed, wrong)]
    factors = []
    for row in tables[-1].any(dim=1).nonzero().flatten().tolist():
        factors.append(_common(*(table[row] for table in tables)))
        if not factors[-1]:
            return ""  # at once: there may be very many rows
    if len(factors) < 2:
        return ""
    return f"pattern: every wrong row is right but for a factor of its own, {min(factors):.3g} to {max(factors):.3g}"


def _common(value: Tensor, expected: Tensor, allowed: Tensor, wrong: Tensor) -> float:
    """The one factor between some values and their oracle; 0.0 if there is none, or none that can be told from 1."""
    telling = expected.abs() > CLEARLY * allowed
    ratios, sizes = (value / expected)[telling], expected[telling].abs()
    if len(ratios) < 8 or float(sizes.max() / sizes.min()) < 1.5 or float(wrong[telling].double().mean()) < MOST:
        return 0.0
    factor = float(ratios.median())
    fits = ((value - factor * expected).abs() <= (1 + abs(factor)) * allowed).all()
    return factor if fits and f"{factor:.4g}" not in ("1", "0") else 0.0


def _digits(value: Tensor, expected: Tensor, wrong: Tensor) -> str:
    """How close the wrong values are, where they are close."""
    ours, right = value[wrong], expected[wrong]
    if not ours.isfinite().all() or not right.isfinite().all() or not right.all():
        return ""
    worst = float(((ours - right) / right).abs().max())
    digits = int(-torch.tensor(worst).log10()) if 0 < worst < 1 else 0
    return f"every wrong value is right in about {digits} digits, which are too few" if digits >= 2 else ""
