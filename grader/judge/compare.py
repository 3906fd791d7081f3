"""Compare one output with the oracle and say what was seen: how many elements are wrong, the first one, the pattern."""

from dataclasses import dataclass

import torch
from torch import Tensor

from grader.channel import POISON_MARKS, poison
from grader.judge.patterns import pattern, where
from grader.results import Kind

KINDS = frozenset({Kind.VALUES, Kind.NOT_FINITE, Kind.UNWRITTEN})  # of failures that a comparison finds
_INTEGERS = {2: torch.int16, 4: torch.int32, 8: torch.int64}


@dataclass(frozen=True)
class Finding:
    """What is wrong with one output, in plain words.

    margin: the largest error, in units of what is allowed; 0.0 where that does not say how wrong it is.
    """

    kind: Kind
    lines: tuple[str, ...]
    margin: float = 0.0


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
    seen = pattern(got.double(), expected, allowed, wrong)
    lines = (_count(wrong, appeared, got), _first(got, expected, allowed, wrong, name), seen)
    return Finding(kind, tuple(line for line in lines if line), _margin(got, expected, allowed, wrong))


def _margin(got: Tensor, expected: Tensor, allowed: Tensor, wrong: Tensor) -> float:
    """0.0 where an element is wrong in another way than by the size of its error."""
    fair = got.isfinite() & expected.isfinite() & (allowed > 0)
    if not fair[wrong].all():
        return 0.0
    return float(((got.double() - expected).abs()[wrong] / allowed[wrong]).max())


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
