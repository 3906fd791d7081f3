"""The random inputs of timed calls, and the part of their outputs that is looked at: the same in judge and runner."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch

WINDOW = 1 << 22  # elements of each output of a timed call that travel to the judge


def draw(tensors: Sequence[Mapping[str, Any]], calls: int, seed: int) -> Iterator[tuple[torch.Tensor, ...]]:
    """`calls` sets of normal random tensors on the GPU; the same seed, GPU and torch give the same bits.

    tensors: a "shape" and a "dtype" for each tensor of a set.
    """
    source = torch.Generator("cuda").manual_seed(seed)

    def tensor(spec: Mapping[str, Any]) -> torch.Tensor:
        return torch.randn(spec["shape"], generator=source, device="cuda", dtype=getattr(torch, spec["dtype"]))

    for _ in range(calls):
        yield tuple(tensor(spec) for spec in tensors)


def window(output: torch.Tensor, place: float) -> torch.Tensor:
    """At most WINDOW neighbouring elements of an output, row-major; `place` from 0 (the first) to 1 (the last)."""
    flat = output.reshape(-1)
    start = int(place * max(0, len(flat) - WINDOW))
    return flat[start : start + WINDOW]
