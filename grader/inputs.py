"""The random inputs of a timed call, and the part of its outputs that is looked at: the same in judge and runner."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch

WINDOW = 1 << 22  # elements of each output of a timed call that travel to the judge


def draw(tensors: Sequence[Mapping[str, Any]], seed: int) -> tuple[torch.Tensor, ...]:
    """Normal random tensors on the GPU; the same seed, GPU and torch give the same bits.

    tensors: a "shape" and a "dtype" for each.
    """
    source = torch.Generator("cuda").manual_seed(seed)
    return tuple(
        torch.randn(spec["shape"], generator=source, device="cuda", dtype=getattr(torch, spec["dtype"])) for spec in tensors
    )


def window(output: torch.Tensor, place: float) -> torch.Tensor:
    """At most WINDOW neighbouring elements of an output, row-major; `place` from 0 (the first) to 1 (the last)."""
    flat = output.reshape(-1)
    start = int(place * max(0, len(flat) - WINDOW))
    return flat[start : start + WINDOW]
