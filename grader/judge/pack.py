"""Lay the inputs of one call out in shared memory: each with its own strides, between guard zones of known contents.

The gaps of a strided view are guards too. After the call the judge compares every byte with what it sent: a changed
element means that the submission wrote to its input, any other changed byte that it wrote outside.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import torch
from torch import Tensor

from grader.channel import GUARD_BYTES, Layout, map_memory, new_memory

PAGE = 4096
HUGE_SPAN = 1 << 30  # bytes; a longer view is written row by row, its gaps are never touched


class Surroundings(Enum):
    """What lies around an input. A kernel that reads outside gets this, and its result shows it.

    Neither alone is enough: `tl.max` skips NaN, and 0 · huge is 0 where 0 · NaN is not.
    """

    HUGE = "huge"
    NAN = "nan"

    def fill(self, words: Tensor) -> None:
        if not words.dtype.is_floating_point:
            words.fill_(torch.iinfo(words.dtype).max if words.dtype != torch.bool else True)
        elif self is Surroundings.NAN:
            words.fill_(float("nan"))
        else:
            words.fill_(min(1e30, torch.finfo(words.dtype).max))


@dataclass(frozen=True)
class Change:
    """An input that is not what it was: `inside` its own elements, or in the memory around or between them."""

    argument: int
    inside: bool
    count: int  # bytes


@dataclass(frozen=True)
class Packed:
    """Inputs in shared memory, with a private image of every byte that was written."""

    descriptor: int
    memory: Tensor  # uint8, shared with the runner
    layouts: tuple[Layout, ...]
    extents: tuple[tuple[int, int], ...]
    image: tuple[Tensor, ...]

    def frame(self) -> dict[str, Any]:
        return {
            "size": len(self.memory),
            "layouts": [layout.to_json() for layout in self.layouts],
            "extents": self.extents,
        }

    def change(self) -> Change | None:
        """The first difference from what was sent."""
        for (start, length), image in zip(self.extents, self.image, strict=True):
            now = self.memory[start : start + length]
            if not torch.equal(now, image):
                return self._classify(start, now != image)
        return None

    def _classify(self, start: int, changed: Tensor) -> Change:
        argument = next(i for i, layout in enumerate(self.layouts) if layout.region[0] <= start < sum(layout.region))
        own = torch.zeros(len(changed), dtype=torch.uint8)
        layout = self.layouts[argument]
        if layout.region == (start, len(changed)):
            _view(own, layout).view(_integers(layout)).fill_(-1)
        inside = changed & own.bool()
        return Change(argument, bool(inside.any()), int(inside.sum() if inside.any() else changed.sum()))

    def close(self) -> None:
        os.close(self.descriptor)


def pack(tensors: Sequence[Tensor], surroundings: Surroundings) -> Packed:
    """Copy `tensors` (any strides, any device) into shared memory. Closing the result is the caller's business."""
    layouts: list[Layout] = []
    for tensor in tensors:
        first = sum(layouts[-1].region) if layouts else 0
        layouts.append(_layout(tensor, first))
    size = max(PAGE, sum(layouts[-1].region) if layouts else 0)
    descriptor = new_memory(size)
    memory = torch.frombuffer(map_memory(descriptor, size), dtype=torch.uint8)
    extents: list[tuple[int, int]] = []
    for tensor, layout in zip(tensors, layouts, strict=True):
        extents += _write(memory, tensor, layout, surroundings)
    image = tuple(memory[start : start + length].clone() for start, length in extents)
    return Packed(descriptor, memory, tuple(layouts), tuple(extents), image)


def _layout(tensor: Tensor, first: int) -> Layout:
    """Keeps where the tensor began relative to a 64-byte line: a view that starts off-line stays so."""
    start = GUARD_BYTES + int(tensor.storage_offset()) * tensor.element_size() % 64
    size = -(-(start + _span(tensor) + GUARD_BYTES) // PAGE) * PAGE
    dtype = str(tensor.dtype).removeprefix("torch.")
    return Layout(dtype, tuple(tensor.shape), tensor.stride(), (first, size), start)


def _span(tensor: Tensor) -> int:
    """Bytes from the first element to the end of the last."""
    if not tensor.numel():
        return 0
    last = sum((n - 1) * s for n, s in zip(tensor.shape, tensor.stride(), strict=True))
    return (last + 1) * tensor.element_size()


def _write(memory: Tensor, tensor: Tensor, layout: Layout, surroundings: Surroundings) -> list[tuple[int, int]]:
    """Fill a region and put the tensor into it; return the extents written."""
    if _span(tensor) > HUGE_SPAN > 2 * tensor.numel() * tensor.element_size():
        return [extent for row in range(len(tensor)) for extent in _write_row(memory, tensor, row, layout, surroundings)]
    first, size = layout.region
    region = memory[first : first + size]
    surroundings.fill(region.view(tensor.dtype))
    _view(region, layout)[_once(tensor)] = tensor[_once(tensor)].cpu()
    return [layout.region]


def _write_row(
    memory: Tensor, tensor: Tensor, row: int, layout: Layout, surroundings: Surroundings
) -> list[tuple[int, int]]:
    """One row of a very long view, with guard zones of its own."""
    values = tensor[row]
    start = layout.region[0] + layout.start + row * tensor.stride(0) * tensor.element_size() - GUARD_BYTES
    size = 2 * GUARD_BYTES + _span(values)
    words = memory[start : start + size].view(tensor.dtype)
    surroundings.fill(words)
    first = words.storage_offset() + GUARD_BYTES // words.element_size()
    words.as_strided(values.shape, values.stride(), first).copy_(values)
    return [(start, size)]


def _once(tensor: Tensor) -> tuple[slice, ...]:
    """Index each stored element once: an expanded dimension (stride 0) has one element in memory, not many."""
    return tuple(
        slice(0, 1) if s == 0 and n > 1 else slice(None) for n, s in zip(tensor.shape, tensor.stride(), strict=True)
    )


def _view(region: Tensor, layout: Layout) -> Tensor:
    """The tensor of `layout` inside its region of bytes."""
    words = region.view(getattr(torch, layout.dtype))
    return words.as_strided(layout.shape, layout.stride, words.storage_offset() + layout.start // words.element_size())


def _integers(layout: Layout) -> torch.dtype:
    return {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[getattr(torch, layout.dtype).itemsize]
