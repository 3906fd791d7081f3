"""The random inputs of timed calls: judge and runner draw them alike, so that no byte of them has to travel."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch


def draw(tensors: Sequence[Mapping[str, Any]], calls: int, seed: int) -> list[tuple[torch.Tensor, ...]]:
    """`calls` sets of normal random tensors on the GPU; the same seed, GPU and torch give the same bits.

    tensors: a "shape" and a "dtype" for each tensor of a set.
    """
    source = torch.Generator("cuda").manual_seed(seed)

    def tensor(spec: Mapping[str, Any]) -> torch.Tensor:
        return torch.randn(spec["shape"], generator=source, device="cuda", dtype=getattr(torch, spec["dtype"]))

    return [tuple(tensor(spec) for spec in tensors) for _ in range(calls)]
