"""From who touched each element to a grid of tiles: neighbours that were always touched together become one cell.

Tensors are seen as matrices: one dimension as a column, more than two as rows of the last one.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy
from numpy.typing import NDArray
from torch import Tensor

from grader.judge.answer import Answer, RecordedLaunch
from grader.judge.submission import CheckFailed
from grader.results import Cell, Kind, Tiles

LIMIT = (16, 16)  # rows and columns of cells; more are merged

Array = NDArray[numpy.int32]
Grid = tuple[int, int, int]


@dataclass(frozen=True)
class Touch:
    """Who touched each element of a tensor in one launch, in one direction. Arrays are of shape (n_elements,).

    sets: places in `masks`, whose bits are programs. times: how often. tiles: alike where always touched together.
    """

    grid: Grid
    masks: tuple[int, ...]
    sets: Array
    times: Array
    tiles: Array


Pair = tuple[Touch | None, Touch | None]  # the loads of a tensor, and its stores


@dataclass(frozen=True)
class Bands:
    """How a matrix falls into cells: where bands of rows and of columns begin, and the end of the last.

    merged: how many tiles a cell holds, at most.
    """

    rows: tuple[int, ...]
    columns: tuple[int, ...]
    merged: int = 1

    def __iter__(self) -> Iterator[list[tuple[slice, slice]]]:
        """Cell by cell, row by row."""
        columns = [slice(a, b) for a, b in pairwise(self.columns)]
        return ([(slice(a, b), column) for column in columns] for a, b in pairwise(self.rows))


def recorded(answer: Answer, tensors: Sequence[Tensor]) -> Iterator[tuple[RecordedLaunch, list[Pair]]]:
    """Each launch with the loads and stores of its tensors. tensors: outputs and arrays of `answer`. Raises CheckFailed."""
    rest = iter(tensors[len(answer.outputs) :])
    for launch in answer.record.launches:
        yield launch, _touches(launch, [next(rest) for _ in launch.arrays])


def _touches(launch: RecordedLaunch, arrays: Sequence[Tensor]) -> list[Pair]:
    """Of each tensor of a launch its loads and its stores. arrays: those of `launch`. Raises CheckFailed."""
    n_programs = math.prod(launch.grid)
    masks = tuple(int.from_bytes(bytes(row.tolist()), "little") & (1 << n_programs) - 1 for row in arrays[0])
    rest = iter(arrays[1:])
    found = []
    for tensor in launch.tensors:
        loads = _touch(launch.grid, masks, next(rest)) if tensor.loaded else None
        stores = _touch(launch.grid, masks, next(rest)) if tensor.stored else None
        found.append((loads, stores))
    return found


def _touch(grid: Grid, masks: tuple[int, ...], array: Tensor) -> Touch:
    sets, times, tiles = array.numpy()
    if sets.size and not (sets.min() >= 0 and sets.max() < len(masks) and times.min() >= 0):
        raise CheckFailed(Kind.CRASH, "the process sent a record of accesses that makes no sense")
    return Touch(grid, masks, sets, times, tiles)


def picture(touch: Touch, shape: Sequence[int], limit: tuple[int, int] = LIMIT) -> Tiles:
    """The tiles of one tensor of this shape."""
    bands = tile_bands(touch, shape, limit)
    sets, times = matrix(touch.sets, shape), matrix(touch.times, shape)
    cells = tuple(tuple(_cell(touch, sets[at], times[at]) for at in row) for row in bands)
    return Tiles(row_labels(bands, shape), column_labels(bands, shape), cells, bands.merged)


def times_picture(times: Array, shape: Sequence[int]) -> Tiles:
    """How often each element was touched, whoever did it."""
    values = matrix(times, shape)
    bands = _bands([values], LIMIT)
    cells = tuple(tuple(Cell("", int(values[at].min()), int(values[at].max())) for at in row) for row in bands)
    return Tiles(row_labels(bands, shape), column_labels(bands, shape), cells, bands.merged)


def tile_bands(touch: Touch, shape: Sequence[int], limit: tuple[int, int]) -> Bands:
    """Cuts wherever neighbours were not touched by the same accesses."""
    return _bands([matrix(part, shape) for part in (touch.sets, touch.times, touch.tiles)], limit)


def even_bands(shape: Sequence[int], limit: tuple[int, int]) -> Bands:
    """Blocks of equal size, where nobody knows the tiles."""
    sizes = matrix_shape(shape)
    rows, columns = ((*range(0, n, -(-n // most)), n) for n, most in zip(sizes, limit, strict=True))
    return Bands(rows, columns)


def matrix_shape(shape: Sequence[int]) -> tuple[int, int]:
    return (math.prod(shape[:-1]), shape[-1]) if len(shape) > 1 else (math.prod(shape), 1)


def matrix(values: NDArray[numpy.generic], shape: Sequence[int]) -> NDArray[numpy.generic]:
    return values.reshape(matrix_shape(shape))


def programs(mask: int, grid: Grid) -> str:
    """The programs in a mask, as short as a cell is: "3", "0,1", "0,*", "2-4", "0+3", "all", "5 programs"; "" for none."""
    members = [n for n in range(math.prod(grid)) if mask >> n & 1]
    if len(members) == math.prod(grid) > 1:
        return "all"
    used = max((axis + 1 for axis, size in enumerate(grid) if size > 1), default=1)
    along = [sorted({(n // math.prod(grid[axis + 1 :])) % grid[axis] for n in members}) for axis in range(used)]
    if not members:
        return ""
    words = [_along(values, size) for values, size in zip(along, grid, strict=False)]
    boxed = math.prod(len(values) for values in along) == len(members)
    return ",".join(words) if boxed and all(words) else f"{len(members)} programs"


def _along(values: Sequence[int], size: int) -> str:
    """Some places on one axis of a grid; "" if they are too many and not side by side."""
    if len(values) == size > 1:
        return "*"
    if len(values) > 1 and values[-1] - values[0] == len(values) - 1:
        return f"{values[0]}-{values[-1]}"
    return "+".join(map(str, values)) if len(values) <= 4 else ""


def row_labels(bands: Bands, shape: Sequence[int]) -> tuple[str, ...]:
    """What a person would write in front of the last index: "0:64", or "0,1,0:64" in a tensor of four dimensions."""
    leading = shape[:-1] if len(shape) > 1 else shape
    return tuple(_rows(start, end, leading) for start, end in pairwise(bands.rows))


def column_labels(bands: Bands, shape: Sequence[int]) -> tuple[str, ...]:
    """As `row_labels`, for the last index; "" where there is but one dimension."""
    return tuple(_span(start, end) for start, end in pairwise(bands.columns)) if len(shape) > 1 else ("",)


def _rows(start: int, end: int, leading: Sequence[int]) -> str:
    for axis in reversed(range(len(leading))):
        block = math.prod(leading[axis + 1 :])
        outer, first = divmod(start // block, leading[axis])
        same = outer == ((end - 1) // block) // leading[axis]
        if same and start % block == 0 and end % block == 0:
            before = [str(outer // math.prod(leading[k + 1 : axis]) % leading[k]) for k in range(axis)]
            parts = [*before, _span(first, first + (end - start) // block)]
            return ",".join([*parts, *[":"] * (len(leading) - axis - 1)])
    return f"rows {start}:{end}" if leading else ""


def _span(start: int, end: int) -> str:
    return str(start) if end - start == 1 else f"{start}:{end}"


def _bands(matrices: Sequence[NDArray[numpy.generic]], limit: tuple[int, int]) -> Bands:
    """Cut where one of the matrices differs from one row or column to the next."""
    across, down = numpy.zeros(matrices[0].shape[0] - 1, bool), numpy.zeros(matrices[0].shape[1] - 1, bool)
    for values in matrices:
        across |= (values[1:] != values[:-1]).any(axis=1)
        down |= (values[:, 1:] != values[:, :-1]).any(axis=0)
    (rows, height), (columns, width) = (
        _grouped([0, *(numpy.flatnonzero(cuts) + 1).tolist(), len(cuts) + 1], most)
        for cuts, most in zip((across, down), limit, strict=True)
    )
    return Bands(rows, columns, height * width)


def _grouped(cuts: Sequence[int], most: int) -> tuple[tuple[int, ...], int]:
    """At most so many bands, each of equally many tiles; and how many tiles that is."""
    step = -(-(len(cuts) - 1) // most)
    return (*cuts[:-1:step], cuts[-1]), step


def _cell(touch: Touch, sets: NDArray[numpy.generic], times: NDArray[numpy.generic]) -> Cell:
    return Cell(programs(union(touch, sets), touch.grid), int(times.min()), int(times.max()))


def union(touch: Touch, sets: NDArray[numpy.generic]) -> int:
    """The mask of all programs that are in one of the sets."""
    mask = 0
    for number in numpy.unique(sets).tolist():
        mask |= touch.masks[number]
    return mask
