"""A wrong output as a picture: which tiles are wrong, and which programs store them."""

import functools
import math
import operator
from collections.abc import Sequence

import torch
from torch import Tensor

from grader.judge.answer import Answer
from grader.judge.compare import never_written, wrong_elements
from grader.judge.tiles import (
    Bands,
    Touch,
    column_labels,
    even_bands,
    matrix,
    matrix_shape,
    programs,
    recorded,
    row_labels,
    tile_bands,
    union,
)  # fmt: skip
from grader.results import ErrorMap

MAX_ELEMENTS = 1 << 20  # of a tensor; a picture of more would take long
MAX_SECONDS = 0.4  # that a call on the interpreter may take to be worth another one
LIMIT = (16, 32)  # rows and columns of cells

Wanted = tuple[Tensor, Tensor]  # value and allowed error


def draw(answer: Answer, tensors: Sequence[Tensor], wanted: Sequence[Wanted]) -> ErrorMap | None:
    """The first output of a call that is wrong; None if all are right. tensors: outputs, and arrays of the record."""
    for place, (got, (right, bound)) in enumerate(zip(tensors, wanted, strict=False)):
        unwritten = never_written(got, answer.outputs[place].mark)
        wrong = wrong_elements(got.to(right.device), right, bound).cpu() | unwritten
        if wrong.any():
            name = "out" if len(wanted) == 1 else f"out{place + 1}"
            kernel, touch = _stores(answer, tensors, f"output {place + 1}", tuple(got.shape))
            worst = _worst(got, right.cpu(), bound.cpu(), unwritten, wrong)
            said = f"{_says(name, got, right, unwritten, worst)}{_whose(touch, kernel, worst)}"
            return _map(name, got.shape, unwritten, wrong, kernel, touch, said)
    return None


def _says(name: str, got: Tensor, right: Tensor, unwritten: Tensor, place: int) -> str:
    element = f"{name}[{', '.join(map(str, _index(place, got.shape)))}]"
    if unwritten.any():
        return f"{element} was never written"
    return f"worst: {element} is {got.flatten()[place].item():.6g}, expected {right.flatten()[place].item():.6g}"


def _stores(answer: Answer, tensors: Sequence[Tensor], role: str, shape: tuple[int, ...]) -> tuple[str, Touch | None]:
    """The last launch that stores to the output: its kernel, and who stores what. None if nobody has seen it."""
    found: tuple[str, Touch | None] = "", None
    for launch, pairs in recorded(answer, tensors) if answer.record.complete else ():
        for tensor, (_, stores) in zip(launch.tensors, pairs, strict=True):
            if stores and tensor.role == role and tensor.shape == shape:
                found = launch.kernel, stores
    return found


def _map(
    name: str, shape: Sequence[int], unwritten: Tensor, wrong: Tensor, kernel: str, touch: Touch | None, worst: str
) -> ErrorMap:
    bands = tile_bands(touch, shape, LIMIT) if touch else even_bands(shape, LIMIT)
    bad, bare = (part.reshape(matrix_shape(shape)) for part in (wrong, unwritten))
    cells = tuple("".join(_mark(bad[at], bare[at]) for at in row) for row in bands)
    owners = _owners(bands, shape, touch) if touch else ((), ())
    rows, columns = row_labels(bands, shape), column_labels(bands, shape)
    return ErrorMap(name, rows, columns, cells, *owners, _note(bands, kernel), worst)


def _mark(wrong: Tensor, unwritten: Tensor) -> str:
    if unwritten.any():
        return "o"
    return "#" if wrong.all() else "+" if wrong.any() else "."


def _owners(bands: Bands, shape: Sequence[int], touch: Touch) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The programs of each band of rows, and of each band of columns."""
    sets = matrix(touch.sets, shape)
    cells = [[union(touch, sets[at]) for at in row] for row in bands]
    rows, columns = (
        tuple(programs(functools.reduce(operator.or_, band), touch.grid) or "none" for band in bands)
        for bands in (cells, zip(*cells, strict=True))
    )
    return rows, columns


def _note(bands: Bands, kernel: str) -> str:
    if not kernel:
        height, width = bands.rows[1] - bands.rows[0], bands.columns[1] - bands.columns[0]
        size = f"{height} × {width} elements" if bands.columns[-1] > 1 else f"{height} elements"
        return f"a cell is a block of {size}; which program stores it was not seen"
    return f"a cell is {'a tile' if bands.merged == 1 else f'up to {bands.merged} tiles'} that {kernel} stores"


def _worst(got: Tensor, right: Tensor, bound: Tensor, unwritten: Tensor, wrong: Tensor) -> int:
    """The place, row-major, of the first unwritten element, else of the one furthest off in units of the allowed error."""
    off = (got.double() - right).abs() / bound.clamp_min(torch.finfo(torch.float64).tiny)
    off = torch.where(wrong, off.nan_to_num(nan=math.inf, posinf=math.inf), -1.0)
    return int((unwritten.to(torch.uint8) if unwritten.any() else off).flatten().argmax())


def _whose(touch: Touch | None, kernel: str, place: int) -> str:
    """Which program stored the element, where that was seen."""
    if touch is None:
        return ""
    mask = touch.masks[int(touch.sets[place])]
    members = [n for n in range(math.prod(touch.grid)) if mask >> n & 1]
    if len(members) == 1:
        return f"; program {_index(members[0], touch.grid)} stores it"
    return f"; programs {programs(mask, touch.grid)} store it" if members else f"; no program of {kernel} stores it"


def _index(place: int, shape: Sequence[int]) -> tuple[int, ...]:
    """The index of a place that is counted row-major."""
    return tuple(place // math.prod(shape[axis + 1 :]) % size for axis, size in enumerate(shape))
