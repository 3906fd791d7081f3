"""Time one call of a submission on the GPU, on inputs drawn just before it and with a cold L2 cache.

The judge sends a seed when it wants a call, so no byte crosses a process boundary inside the measurement and nothing can
be prepared ahead. Drawing the inputs is a request of its own, so that the judge's clock sees the call alone. Afterwards
the judge, which can draw the same inputs, may ask for the output of that call.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch

from grader.inputs import draw, window
from grader.runner import memory

FLUSHES = 4  # of the L2 cache before a call: about a quarter of a millisecond, in which the CPU prepares the launch


class Stopwatch:
    """Times single calls and keeps the last one's output until the judge has decided whether to look at it."""

    def __init__(self) -> None:
        self._inputs: tuple[torch.Tensor, ...] = ()
        self._kept: object = None
        self._cold = torch.empty(0)

    def draw(self, request: dict[str, Any]) -> dict[str, Any]:
        """Get the inputs of the next call ready."""
        self._inputs = self._kept = ()
        self._inputs = draw(request["inputs"], request["seed"])
        torch.cuda.synchronize()
        return {}

    def time(self, function: Callable[..., Any], options: Sequence[Any]) -> dict[str, Any]:
        """Call once; the frame answers the seconds that the GPU's own events measured."""
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        self._flush_l2()
        start.record()
        returned = function(*self._inputs, *options)
        end.record()
        # Copied on this stream and at this moment: work that is still under way on another stream is not in the copy.
        self._kept = _copies(returned)
        torch.cuda.synchronize()
        return {"seconds": start.elapsed_time(end) / 1e3}

    def show(self, place: float) -> tuple[dict[str, Any], int | None]:
        """A window of the last call's outputs, once."""
        kept, self._kept = self._kept, ()
        if not isinstance(kept, list):
            return {}, None
        shapes = [tuple(output.shape) for output in kept]
        parts = [window(output, place) for output in kept]
        descriptor, size = memory.send_back(parts)
        described = [memory.describe(part, origin="own") for part in parts]
        return {"outputs": described, "shapes": shapes, "size": size}, descriptor

    def _flush_l2(self) -> None:
        """Overwrite at least twice the L2 cache, several times."""
        if not len(self._cold):
            size = max(2 * torch.cuda.get_device_properties().L2_cache_size, 256 << 20)
            self._cold = torch.empty(size, dtype=torch.uint8, device="cuda")
        for _ in range(FLUSHES):
            self._cold.zero_()


def _copies(returned: object) -> Sequence[torch.Tensor] | None:
    """A list of copies; None if something else than plain tensors was returned."""
    outputs = returned if isinstance(returned, tuple) else (returned,)
    if any(type(output) is not torch.Tensor for output in outputs):
        return None
    return [output.clone() for output in outputs]
