"""Time calls of a submission on the GPU, with fresh inputs and a cold L2 cache for each call.

The judge sends a seed just before it wants the calls; the inputs are drawn from it on the device, so no byte crosses a
process boundary inside the measurement and nothing can be prepared ahead. Afterwards the judge, which draws the same
inputs, picks one of the calls and asks for its output.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch

from grader.inputs import draw, window
from grader.runner import memory


class Stopwatch:
    """Times blocks of calls and keeps the outputs of the last block until the judge has chosen one of them."""

    def __init__(self) -> None:
        self._kept: list[object] = []
        self._cold = torch.empty(0)

    def block(self, function: Callable[..., Any], request: dict[str, Any]) -> dict[str, Any]:
        """Time one call for each set of inputs; the frame answers seconds on the GPU's clock, call by call."""
        self._kept = []
        batch = list(draw(request["inputs"], request["calls"], request["seed"]))
        self._wake_up()
        return {"seconds": [self._time(function, (*arguments, *request["options"])) for arguments in batch]}

    def show(self, call: int, place: float) -> tuple[dict[str, Any], int | None]:
        """A window of the outputs of one call of the last block, and only of that one."""
        returned = self._kept[call]
        self._kept = []
        outputs = returned if isinstance(returned, tuple) else (returned,)
        if any(type(output) is not torch.Tensor for output in outputs):
            return {}, None
        shapes = [tuple(output.shape) for output in outputs]
        parts = [window(output, place) for output in outputs]
        descriptor, size = memory.send_back(parts)
        described = [memory.describe(part, origin="own") for part in parts]
        return {"outputs": described, "shapes": shapes, "size": size}, descriptor

    def _time(self, function: Callable[..., Any], arguments: Sequence[Any]) -> float:
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda.synchronize()
        self._flush_l2()
        start.record()
        output = function(*arguments)
        end.record()
        torch.cuda.synchronize()
        self._kept.append(output)
        return float(start.elapsed_time(end)) / 1e3

    def _wake_up(self) -> None:
        """Keep the GPU busy for some milliseconds: between blocks it has rested, and its clock with it."""
        for _ in range(100):
            self._flush_l2()

    def _flush_l2(self) -> None:
        """Overwrite at least twice the L2 cache, which also keeps the GPU busy while the CPU prepares the launch."""
        if not len(self._cold):
            size = max(2 * torch.cuda.get_device_properties().L2_cache_size, 256 << 20)
            self._cold = torch.empty(size, dtype=torch.uint8, device="cuda")
        self._cold.zero_()
