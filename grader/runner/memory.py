"""Tensors in shared memory, seen from the runner: inputs come in, outputs go out."""

import mmap
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from grader.channel import Layout, map_memory, new_memory


@dataclass(frozen=True)
class Inputs:
    """The tensors of one call. On a GPU they are copies, and `give_back` brings what became of them to the judge."""

    tensors: tuple[torch.Tensor, ...]
    host: tuple[torch.Tensor, ...]  # one uint8 view of shared memory for each extent, and its twin on the device
    device: tuple[torch.Tensor, ...]

    def give_back(self) -> None:
        for host, device in zip(self.host, self.device, strict=True):
            host.copy_(device)


def receive(frame: dict[str, Any], descriptor: int, device: str) -> Inputs:
    """Build the inputs that the judge laid out in `descriptor`, with their strides and guard zones.

    Only the frame's `extents` hold data: a tensor may span gigabytes of which a few pages are ever touched.
    """
    shared = map_memory(descriptor, frame["size"])
    os.close(descriptor)
    layouts = [Layout.from_json(layout) for layout in frame["layouts"]]
    if device == "cpu":
        return Inputs(tuple(_tensor(_region(shared, layout), layout) for layout in layouts), (), ())
    tensors, hosts, devices = [], [], []
    for layout in layouts:
        region = torch.empty(layout.region[1], dtype=torch.uint8, device=device)
        first, size = layout.region
        for start, length in (extent for extent in frame["extents"] if first <= extent[0] < first + size):
            hosts.append(torch.frombuffer(shared, dtype=torch.uint8, count=length, offset=start))
            devices.append(region[start - first : start - first + length])
            devices[-1].copy_(hosts[-1])
        tensors.append(_tensor(region, layout))
    return Inputs(tuple(tensors), tuple(hosts), tuple(devices))


def _region(shared: mmap.mmap, layout: Layout) -> torch.Tensor:
    return torch.frombuffer(shared, dtype=torch.uint8, count=layout.region[1], offset=layout.region[0])


def _tensor(region: torch.Tensor, layout: Layout) -> torch.Tensor:
    words = region.view(getattr(torch, layout.dtype))
    return words.as_strided(layout.shape, layout.stride, layout.start // words.element_size())


def describe(tensor: torch.Tensor, origin: str, mark: int = 0) -> dict[str, Any]:
    """A plain tensor in a frame. origin: whether it lies in "own", "input" or "unknown" memory. mark: of its poison."""
    dtype = str(tensor.dtype).removeprefix("torch.")
    return {"type": "Tensor", "dtype": dtype, "shape": tuple(tensor.shape), "origin": origin, "mark": mark}


def send_back(outputs: Sequence[torch.Tensor]) -> tuple[int, int]:
    """The values of `outputs`, one after another and row-major, in new shared memory: (descriptor, bytes)."""
    size = sum(tensor.numel() * tensor.element_size() for tensor in outputs)
    descriptor = new_memory(max(size, 1))
    shared = map_memory(descriptor, max(size, 1))
    start = 0
    for tensor in outputs:
        flat = tensor.detach().reshape(-1).view(torch.uint8)
        if len(flat):
            torch.frombuffer(shared, dtype=torch.uint8, count=len(flat), offset=start).copy_(flat)
        start += len(flat)
    return descriptor, max(size, 1)
