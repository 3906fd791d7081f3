"""Every load, store and atomic of an interpreted kernel, checked as it happens against the tensors of the launch.

* Outside: an address that belongs to no tensor of the launch stops the kernel before it is touched.
* Undefined: a load from memory that nothing has written.
* Race: two programs of one launch meet at an address without atomics, and what is there depends on who came first.

All of it is exact: the interpreter hands over the very addresses. Each finding names kernel, line, program and element.
"""

import bisect
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn

import numpy
import torch
from numpy.typing import NDArray

from grader.results import Kind
from grader.runner.tracing import Recorder
from grader.runner.traffic import Loads, Traffic

Mask = NDArray[numpy.bool_]
Addresses = NDArray[numpy.int64]
Places = NDArray[numpy.int64]  # of elements, counted in the order of their addresses' decoding

NOBODY = -2  # instead of the number of a program's turn
MAX_FINDINGS = 4


class OutsideMemory(Exception):
    """A kernel used an address that belongs to no tensor of its launch; the message is for the learner."""


@dataclass(frozen=True)
class Finding:
    """One access that no right kernel makes."""

    kind: Kind
    text: str  # "stores outside out_ptr: …"
    kernel: str
    program: tuple[int, ...]
    line: int

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass
class Shadow:
    """What happened to each element that the submission allocated. Turns number the programs of all launches.

    writer: the turn of the last store. reader: twice the turn of the last load, and one more if there was another program
    before it in the same launch.
    """

    written: Mask
    writer: NDArray[numpy.int64]
    reader: NDArray[numpy.int64]

    @classmethod
    def of(cls, size: int, written: bool) -> "Shadow":
        return cls(numpy.full(size, written), *(numpy.full(size, NOBODY, dtype=numpy.int64) for _ in range(2)))


@dataclass(frozen=True)
class Extent:
    """The elements of one tensor, as addresses. `steps` and `sizes`: bytes and counts of its dimensions, widest first."""

    name: str
    base: int
    item: int
    sizes: tuple[int, ...]
    steps: tuple[int, ...]
    axes: tuple[int, ...]  # which dimension of the tensor each of them is
    shape: tuple[int, ...]
    storage: int  # the address where its memory begins, which tells it from others
    shadow: Shadow | None  # None for an input: kernels read it and nothing else

    @classmethod
    def of(cls, name: str, tensor: torch.Tensor, shadow: Shadow | None) -> "Extent":
        item = tensor.element_size()
        dims = [(s * item, n, axis) for axis, (n, s) in enumerate(zip(tensor.shape, tensor.stride(), strict=True))]
        dims = sorted((d for d in dims if d[1] > 1 and d[0]), reverse=True)
        steps, sizes, axes = (tuple(d[part] for d in dims) for part in range(3))
        storage = tensor.untyped_storage().data_ptr()
        return cls(name, tensor.data_ptr(), item, sizes, steps, axes, tuple(tensor.shape), storage, shadow)

    @cached_property
    def last(self) -> int:
        """The address of the last byte."""
        return self.base + sum((n - 1) * s for n, s in zip(self.sizes, self.steps, strict=True)) + self.item - 1

    @cached_property
    def places_in_all(self) -> int:
        """How many places `places` can name."""
        return (self.last + 1 - self.base) // self.item if self.whole else math.prod(self.sizes)

    @cached_property
    def whole(self) -> bool:
        """Whether every address from the first element to the last is an element's, or may be.

        So it is where the elements lie side by side, and where they overlap so that an address could be several.
        """
        inner = self.item
        dense = nested = True
        for size, step in zip(reversed(self.sizes), reversed(self.steps), strict=True):
            dense &= step == inner
            nested &= step >= inner
            inner = step * size
        return dense or not nested

    def places(self, addresses: Addresses) -> tuple[Places, Mask]:
        """The place of the element at each address, and whether there is one."""
        offsets = addresses - self.base
        if self.whole:
            inside = (offsets >= 0) & (addresses <= self.last)
            return offsets // self.item, inside
        inside = offsets >= 0
        place = numpy.zeros_like(offsets)
        for size, step in zip(self.sizes, self.steps, strict=True):
            index = offsets // step
            inside &= index < size
            offsets = offsets - index * step
            place = place * size + index
        return place, inside & (offsets < self.item)

    def element(self, place: int) -> str:
        """How a person writes the element: `out_ptr[3, 5]`."""
        index = [0] * len(self.shape)
        for size, axis in zip(reversed(self.sizes), reversed(self.axes), strict=True):
            index[axis], place = place % size, place // size
        return f"{self.name}[{', '.join(map(str, index))}]"

    def nearest(self, addresses: Addresses) -> tuple[int, int]:
        """Of some addresses, the one that is least far outside: its distance in bytes, and itself."""
        away = numpy.maximum(numpy.maximum(self.base - addresses, addresses - self.last), 0)
        place = int(away.argmin())
        return int(away[place]), int(addresses[place])

    def distance(self, address: int) -> str:
        """How far outside an address is: "3 elements past its end"."""
        if self.base <= address <= self.last:
            return "between its elements"
        away = (address - self.last - 1) // self.item + 1 if address > self.last else -((self.base - address) // -self.item)
        side = "past its end" if address > self.last else "before its start"
        return f"{away:,} element{'s' * (away != 1)} {side}"


@dataclass
class Sanitizer:
    """Checks the accesses of one launch after another, of one submission."""

    path: Path
    findings: list[Finding] = field(default_factory=list)
    omitted: list[int] = field(default_factory=list)  # lines with a masked load that says no `other`, and needed one
    traffic: Traffic = field(default_factory=Traffic)
    loads: Loads = field(default_factory=Loads)  # but those of trials
    recorder: Recorder | None = None  # of the call, if somebody wants to know who touched what
    _inputs: set[int] = field(default_factory=set)
    _shadows: dict[int, Shadow] = field(default_factory=dict)
    _extents: list[Extent] = field(default_factory=list)
    _starts: list[int] = field(default_factory=list)
    _kernel: str = ""
    _program: tuple[int, ...] = ()
    _turn: int = 0
    _first_turn: int = 0
    _atomics: bool = False
    _races: list[Finding] = field(default_factory=list)
    _recording: Recorder | None = None  # of the launch
    _is_trial: bool = False  # whether the launch is a trial of an autotuner

    def begin_call(self, inputs: Sequence[torch.Tensor]) -> None:
        self.findings, self.omitted, self._shadows = [], [], {}
        self.traffic, self.loads = Traffic(), Loads()
        self._inputs = {tensor.untyped_storage().data_ptr() for tensor in inputs}

    def allocated(self, tensor: torch.Tensor, written: bool) -> None:
        """The submission has allocated `tensor`; written: with values, as by zeros()."""
        self._shadows[tensor.untyped_storage().data_ptr()] = Shadow.of(tensor.numel(), written)

    def refilled(self, tensor: torch.Tensor) -> None:
        shadow = self._shadows.get(tensor.untyped_storage().data_ptr())
        if shadow is not None:
            shadow.written[:] = True

    def begin_launch(self, kernel: str, tensors: Sequence[tuple[str, torch.Tensor]], trial: bool = False) -> None:
        """tensors: each with the name of its parameter, and whole where the argument is a part of one.

        trial: whether an autotuner only tries a configuration.
        """
        self._kernel, self._first_turn, self._atomics, self._races = kernel, self._turn + 1, False, []
        extents = {t.data_ptr(): Extent.of(name, t, self._shadow(t)) for name, t in tensors if t.numel()}
        self._recording = None if trial else self.recorder
        self._is_trial = trial
        if self._recording:
            self._recording.begin_launch(kernel, list(extents.values()), [tensor for _, tensor in tensors])
        self._extents = sorted(extents.values(), key=lambda extent: extent.base)
        self._starts = [extent.base for extent in self._extents]

    def _shadow(self, tensor: torch.Tensor) -> Shadow | None:
        """None for an input; for memory of an earlier call one in which everything has been written."""
        pointer = tensor.untyped_storage().data_ptr()
        if pointer in self._inputs:
            return None
        return self._shadows.setdefault(pointer, Shadow.of(tensor.numel(), written=True))

    def end_launch(self) -> None:
        """Programs that meet by atomics may know what they do: then nothing is said about what else they share."""
        self._extents, self._starts = [], []
        if not self._atomics:
            self._note(*self._races)

    def begin_program(self, program: tuple[int, ...], grid: tuple[int, ...]) -> None:
        self._program = program
        if self._recording:
            self._recording.begin_program(program, grid)
        self.loads.begin_program()
        self._turn += 1

    def notice_tile(self, shape: tuple[int, ...]) -> None:
        """Remember the shape of what a load takes at once, but of a trial."""
        if not self._is_trial:
            self.loads.tiles.add(shape)

    def load(self, addresses: Addresses, size: int) -> None:
        """addresses: of what a load really reads, masked lanes left out; size: bytes of each. Raises OutsideMemory."""
        for extent, places in self._locate(addresses, size, "loads"):
            self._record(extent, places, size, stored=False)
            self.traffic.count(extent.storage, extent.name, len(places) * size, 0)
            if not self._is_trial:
                self.loads.notice(extent.storage, int(places[0]))
            shadow = extent.shadow
            if shadow is None:
                continue
            unwritten = ~shadow.written[places]
            if unwritten.any():
                place = int(places[unwritten.argmax()])
                self._note(self._finding(Kind.UNDEFINED, f"loads {extent.element(place)}, which nothing has written"))
            self._meet(self._written_by_others(shadow, places), extent, places, "loads {}, which {} stores")
            shadow.reader[places] = 2 * self._turn + self._read_by_others(shadow, places)

    def store(self, addresses: Addresses, size: int, changes: Callable[[], Mask]) -> None:
        """changes: tells whether each stored value differs from what is there. Raises OutsideMemory."""
        for extent, places in self._locate(addresses, size, "stores"):
            self._record(extent, places, size, stored=True)
            self.traffic.count(extent.storage, extent.name, 0, len(places) * size)
            shadow = extent.shadow
            if shadow is None:
                self._note(self._finding(Kind.INPUT_CHANGED, f"stores to {extent.element(int(places[0]))}, an input"))
                continue
            written, read = self._written_by_others(shadow, places), self._read_by_others(shadow, places)
            if (written.any() or read.any()) and len(places) == len(addresses):
                changed = changes()
                self._meet(written & changed, extent, places, "stores {}, and so does {}, but another value")
                self._meet(read & changed, extent, places, "stores {}, which {} loads")
            shadow.writer[places] = self._turn
            shadow.written[places] = True

    def atomic(self, addresses: Addresses, size: int) -> None:
        """Raises OutsideMemory."""
        self._atomics = True
        for extent, places in self._locate(addresses, size, "updates"):
            for stored in (False, True):
                self._record(extent, places, size, stored)
            self.traffic.count(extent.storage, extent.name, len(places) * size, len(places) * size)
            if extent.shadow is None:
                self._note(self._finding(Kind.INPUT_CHANGED, f"updates {extent.element(int(places[0]))}, an input"))
                continue
            unwritten = ~extent.shadow.written[places]
            if unwritten.any():
                place = int(places[unwritten.argmax()])
                self._note(self._finding(Kind.UNDEFINED, f"updates {extent.element(place)}, which nothing has written"))
            extent.shadow.written[places] = True

    def overrun(self, addresses: Addresses) -> None:
        """A GPU would store to these addresses as well, which the interpreter does not touch."""
        for extent in self._extents:
            addresses = addresses[~extent.places(addresses)[1]]
        if len(addresses):
            text = f"{self._outside(addresses, 'stores')}: a GPU stores through a descriptor in pieces of 16 bytes"
            self._note(self._finding(Kind.OUTSIDE, text))

    def _record(self, extent: Extent, places: Places, size: int, stored: bool) -> None:
        if self._recording:
            self._recording.touch(extent, places, size, stored)

    def omits_other(self) -> None:
        """A load with a mask that is false somewhere did not say what those elements are."""
        line = self._line()
        if line not in self.omitted and len(self.omitted) < MAX_FINDINGS:
            self.omitted.append(line)

    def _written_by_others(self, shadow: Shadow, places: Places) -> Mask:
        """Where another program of this launch has stored."""
        turns = shadow.writer[places]
        met: Mask = (turns >= self._first_turn) & (turns != self._turn)
        return met

    def _read_by_others(self, shadow: Shadow, places: Places) -> Mask:
        """Where another program of this launch has loaded."""
        marks = shadow.reader[places]
        turns = marks >> 1
        met: Mask = (turns >= self._first_turn) & ((turns != self._turn) | (marks & 1 == 1))
        return met

    def _meet(self, met: Mask, extent: Extent, places: Places, text: str) -> None:
        """Note a race where two programs met."""
        if met.any() and not self._races:
            element = extent.element(int(places[met.argmax()]))
            self._races.append(self._finding(Kind.RACE, text.format(element, "another program of the same launch")))

    def _locate(self, addresses: Addresses, size: int, verb: str) -> Iterator[tuple[Extent, Places]]:
        """The tensors that the addresses belong to, and the places in them. Raises OutsideMemory if one belongs to none."""
        while len(addresses):
            nearest = bisect.bisect_right(self._starts, int(addresses[0])) - 1
            if nearest < 0:
                self._stop(addresses, verb)
            extent = self._extents[nearest]  # it begins last before the address: the address is in no other
            places, inside = extent.places(addresses)
            if size > extent.item:  # a pointer that was cast: its last byte must lie inside as well
                ends = addresses + (size - 1)
                if not extent.places(ends)[1].all():
                    self._stop(ends, verb)
            if not inside[0]:
                self._stop(addresses, verb)
            if inside.all():
                yield extent, places
                return
            yield extent, places[inside]
            addresses = addresses[~inside]

    def _stop(self, addresses: Addresses, verb: str) -> NoReturn:
        """Say which tensor is nearest, and raise."""
        for extent in self._extents:
            addresses = addresses[~extent.places(addresses)[1]]
        finding = self._finding(Kind.OUTSIDE, self._outside(addresses, verb))
        self._note(finding)
        raise OutsideMemory(f"{finding.kernel} {finding.text}, in program {finding.program}")

    def _outside(self, addresses: Addresses, verb: str) -> str:
        if not self._extents:
            return f"{verb} from an address, but the launch has no tensor"
        extent = min(self._extents, key=lambda extent: extent.nearest(addresses))
        _, address = extent.nearest(addresses)
        if len(addresses) == 1:
            return f"{verb} outside {extent.name}, {extent.distance(address)}"
        return f"{verb} {len(addresses):,} elements outside {extent.name}, the nearest {extent.distance(address)}"

    def _finding(self, kind: Kind, text: str) -> Finding:
        return Finding(kind, text, self._kernel, self._program, self._line())

    def _note(self, *findings: Finding) -> None:
        known = {(finding.kind, finding.line) for finding in self.findings}
        new = [finding for finding in findings if (finding.kind, finding.line) not in known]
        self.findings += new[: MAX_FINDINGS - len(self.findings)]

    def _line(self) -> int:
        """The line of the submission that is being executed; 0 if there is none."""
        frame = sys._getframe(1)
        while frame is not None:
            if frame.f_code.co_filename == str(self.path):
                return frame.f_lineno
            frame = frame.f_back  # type: ignore[assignment]
        return 0


def active(addresses: NDArray[Any], mask: Mask) -> Addresses:
    """The addresses whose lane is not masked, as signed numbers, in one row."""
    flat, wanted = addresses.ravel(), mask.ravel()
    return (flat if wanted.all() else flat[wanted]).astype(numpy.int64)


def as_booleans(mask: Any) -> Mask:
    """A mask, which is an array or the buffer of one, as the language has it: one boolean for each lane.

    Where it was combined with a comparison of 64-bit numbers, the interpreter keeps it as such: 0 and 1. Triton 3.9 refuses
    to load with such a mask.
    """
    return numpy.asarray(mask).astype(bool, copy=False)


def summary(findings: Sequence[Finding]) -> list[dict[str, Any]]:
    return [finding.to_json() for finding in findings]
