"""What the kernels of one call moved and computed: bytes by tensor, products, special functions. Counted, never timed."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Moved:
    """Bytes that kernels loaded from one piece of memory and stored to it, each access counted."""

    name: str  # of the parameter that a kernel knew it by
    loaded: int = 0
    stored: int = 0


@dataclass
class Loads:
    """How the programs of one call load: the shapes of tiles, and which way they go through memory."""

    tiles: set[tuple[int, ...]] = field(default_factory=set)
    _steps: int = 0  # loads further on in a tensor than the one before by the same program, less those further back
    _before: dict[int, int] = field(default_factory=dict)  # for each address where memory begins, the place last loaded

    def begin_program(self) -> None:
        self._before = {}

    def notice(self, storage: int, place: int) -> None:
        """place: of the first element of a load."""
        before = self._before.get(storage, place)
        self._steps += (place > before) - (place < before)
        self._before[storage] = place

    def to_json(self) -> dict[str, Any]:
        """Bounded in size."""
        return {"tiles": sorted(self.tiles, key=math.prod)[-8:], "backwards": self._steps < 0}


@dataclass
class Traffic:
    """Counts of one call. Keys of `moved` are the addresses where memory begins."""

    moved: dict[int, Moved] = field(default_factory=dict)
    flops: int = 0  # of tl.dot: two for each product of elements
    specials: int = 0  # elements that went through exp, log, sqrt, sin, erf and their like

    def count(self, storage: int, name: str, loaded: int, stored: int) -> None:
        moved = self.moved.setdefault(storage, Moved(name))
        moved.loaded += loaded
        moved.stored += stored

    @property
    def bytes(self) -> int:
        return sum(moved.loaded + moved.stored for moved in self.moved.values())

    def add(self, other: "Traffic") -> None:
        for storage, moved in other.moved.items():
            self.count(storage, moved.name, moved.loaded, moved.stored)
        self.flops += other.flops
        self.specials += other.specials

    def to_json(self, roles: Mapping[int, tuple[str, int]]) -> dict[str, Any]:
        """roles: for each address what the memory is, such as "argument 1", and its bytes."""
        rows = [
            {"name": m.name, "role": roles.get(s, ("other", 0))[0], "bytes": roles.get(s, ("", 0))[1], **_numbers(m)}
            for s, m in self.moved.items()
        ]
        return {"tensors": rows[:32], "flops": self.flops, "specials": self.specials}


def _numbers(moved: Moved) -> dict[str, int]:
    return {"loaded": moved.loaded, "stored": moved.stored}
