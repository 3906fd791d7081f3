"""Which program touched which elements of which tensor, launch by launch: what `grader trace` draws.

Each element keeps a number that stands for a set of programs. Numbers are few, since whole tiles share one, so a record is
as large as the tensor, however often it is touched.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy
import torch
from numpy.typing import NDArray

if TYPE_CHECKING:
    from grader.runner.sanitizer import Extent

Integers = NDArray[numpy.int64]

MAX_LAUNCHES = 16
MAX_TENSORS = 12  # of one launch
MAX_PROGRAMS = 4096  # of one launch
MAX_SETS = 4096  # different sets of programs in one launch
MAX_ELEMENTS = 1 << 21  # of all records together
MAX_ACCESSES = 20_000  # each costs some tens of microseconds
_MIX = 1_000_003  # odd: it spreads what came before over all bits


class _TooMuch(Exception):
    """More happened than a picture can show."""


@dataclass(frozen=True)
class Touched:
    """What happened to each element of one tensor, by loads or by stores. All arrays are as long as its memory.

    sets: the number of the set of programs. bytes: how many were moved. tiles: a mark that only elements have in common
    which were always touched together.
    """

    sets: Integers
    bytes: Integers
    tiles: Integers

    @classmethod
    def none(cls, size: int) -> "Touched":
        return cls(*(numpy.zeros(size, dtype=numpy.int64) for _ in range(3)))


@dataclass
class Launch:
    """One launch. masks: the programs of each set, as bits; set 0 has none. Programs are numbered row-major in the grid."""

    kernel: str
    extents: Mapping[int, "Extent"]  # of what the kernel was given, by first address
    tensors: Mapping[int, torch.Tensor]  # the same as tensors, by the address where memory begins
    grid: tuple[int, int, int] = (0, 0, 0)
    masks: list[int] = field(default_factory=lambda: [0])
    numbers: dict[int, int] = field(default_factory=lambda: {0: 0})
    touched: dict[tuple[int, bool], Touched] = field(default_factory=dict)  # (first address, whether stored)

    def joined(self, known: int, program: int) -> int:
        """The number of the set that has the members of set `known`, and `program`. Raises _TooMuch."""
        mask = self.masks[known] | 1 << program
        if mask not in self.numbers:
            if len(self.masks) == MAX_SETS:
                raise _TooMuch
            self.numbers[mask] = len(self.masks)
            self.masks.append(mask)
        return self.numbers[mask]


@dataclass
class Recorder:
    """Follows the accesses of one call. complete: False once there was more than a picture can show; then it stops."""

    launches: list[Launch] = field(default_factory=list)
    complete: bool = True
    _program: int = 0
    _accesses: int = 0
    _elements: int = 0

    def begin_launch(self, kernel: str, extents: Sequence["Extent"], tensors: Sequence[torch.Tensor]) -> None:
        if self.complete:
            self.complete = len(self.launches) < MAX_LAUNCHES and len(extents) <= MAX_TENSORS
        if self.complete:
            storages = {tensor.untyped_storage().data_ptr(): tensor for tensor in tensors}
            self.launches.append(Launch(kernel, {extent.base: extent for extent in extents}, storages))

    def begin_program(self, program: tuple[int, ...], grid: tuple[int, ...]) -> None:
        if not self.complete:
            return
        self.launches[-1].grid = (grid[0], grid[1], grid[2])
        self._program = (program[0] * grid[1] + program[1]) * grid[2] + program[2]
        if grid[0] * grid[1] * grid[2] > MAX_PROGRAMS:
            self._give_up()

    def touch(self, extent: "Extent", places: Integers, size: int, stored: bool) -> None:
        """One access of the current program: `size` bytes at each of `places`, which are those of the sanitizer."""
        if not self.complete:
            return
        try:
            self._touch(extent, places, size, stored)
        except _TooMuch:
            self._give_up()

    def _touch(self, extent: "Extent", places: Integers, size: int, stored: bool) -> None:
        touched = self._touched(extent, stored)
        self._accesses += 1
        if self._accesses > MAX_ACCESSES:
            raise _TooMuch
        if size > extent.item:  # a pointer that was cast: it reaches over several elements
            places = numpy.add.outer(places, numpy.arange(size // extent.item)).ravel()
            size = extent.item
        numpy.add.at(touched.bytes, places, size)
        touched.tiles[places] = touched.tiles[places] * _MIX + self._accesses
        known, which = numpy.unique(touched.sets[places], return_inverse=True)
        launch = self.launches[-1]
        touched.sets[places] = numpy.array([launch.joined(int(number), self._program) for number in known])[which]

    def _touched(self, extent: "Extent", stored: bool) -> Touched:
        """The record of one tensor, new if there is none. Raises _TooMuch."""
        launch, key = self.launches[-1], (extent.base, stored)
        if key not in launch.touched:
            self._elements += extent.places_in_all
            if self._elements > MAX_ELEMENTS:
                raise _TooMuch
            launch.touched[key] = Touched.none(extent.places_in_all)
        return launch.touched[key]

    def _give_up(self) -> None:
        """Half a launch would make elements look untouched that are not: drop it."""
        self.complete = False
        self.launches.pop()

    def to_json(self, roles: Mapping[int, tuple[str, torch.Tensor]]) -> tuple[dict[str, Any], list[torch.Tensor]]:
        """The record for a frame, and the arrays that belong to it.

        roles: for each address where memory begins what it is, such as "output 1", and the tensor to show it as. For each
        launch there are first its sets, (n_sets, bytes of a mask) uint8; then for each tensor and each direction in which
        it was touched (3, n_elements) int32: sets, times, tiles.
        """
        storages = dict.fromkeys(extent.storage for launch in self.launches for extent in launch.extents.values())
        numbers = {storage: number for number, storage in enumerate(storages)}
        described, arrays = [], []
        for launch in self.launches:
            tensors = list(_described(launch, roles, numbers))
            description = {"kernel": launch.kernel[:80], "grid": launch.grid, "sets": len(launch.masks)}
            described.append({**description, "tensors": [tensor for tensor, _ in tensors]})
            arrays += [_masks(launch), *(array for _, own in tensors for array in own)]
        return {"launches": described, "complete": self.complete}, arrays


def _described(
    launch: Launch, roles: Mapping[int, tuple[str, torch.Tensor]], numbers: Mapping[int, int]
) -> Iterator[tuple[dict[str, Any], list[torch.Tensor]]]:
    """Each tensor of a launch that is small enough to be shown, and its arrays. numbers: tell memories apart."""
    for extent in launch.extents.values():
        role, tensor = roles.get(extent.storage, ("other memory", launch.tensors[extent.storage]))
        if not 1 <= tensor.numel() <= MAX_ELEMENTS or tensor.dim() > 8:
            continue
        places = _places_of(tensor, extent)
        loads, stores = (launch.touched.get((extent.base, stored)) for stored in (False, True))
        description = {
            "memory": numbers[extent.storage],
            "name": extent.name[:60],
            "role": role,
            "dtype": str(tensor.dtype).removeprefix("torch."),
            "shape": tuple(tensor.shape),
            "loaded": loads is not None,
            "stored": stores is not None,
        }
        yield description, [_array(touched, places, extent.item) for touched in (loads, stores) if touched]


def _places_of(tensor: torch.Tensor, extent: "Extent") -> Integers:
    """The place of each element of `tensor`, row-major; -1 where the kernel had no such element."""
    offsets = numpy.zeros((), dtype=numpy.int64)
    for size, stride in zip(tensor.shape, tensor.stride(), strict=True):
        offsets = numpy.add.outer(offsets, numpy.arange(size, dtype=numpy.int64) * stride)
    places, inside = extent.places(tensor.data_ptr() + offsets.ravel() * tensor.element_size())
    return numpy.where(inside, places, -1)


def _array(touched: Touched, places: Integers, item: int) -> torch.Tensor:
    """(3, n_elements) int32: sets, times, tiles. Times are rounded up: half an element was touched, too."""
    times = numpy.minimum(-(-touched.bytes // item), numpy.iinfo(numpy.int32).max)
    rows = (touched.sets, times, touched.tiles ^ touched.tiles >> 32)
    kept = [numpy.where(places >= 0, row[places], 0).astype(numpy.int32) for row in rows]
    return torch.from_numpy(numpy.stack(kept))


def _masks(launch: Launch) -> torch.Tensor:
    """(n_sets, bytes) uint8: bit n, least first, tells whether program n is a member."""
    width = max(1, -(-launch.grid[0] * launch.grid[1] * launch.grid[2] // 8))
    data = b"".join(mask.to_bytes(width, "little") for mask in launch.masks)
    return torch.frombuffer(bytearray(data), dtype=torch.uint8).reshape(-1, width)
