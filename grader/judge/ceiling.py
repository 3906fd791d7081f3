"""What this GPU can do at best, measured here and now: no table of products could know the card, its clocks, its guests."""

import time
from collections.abc import Callable
from dataclasses import dataclass

import torch

REPEATS = 10
WAKE_UP = 0.2  # seconds of work before anything is measured: an idle GPU has slowed its clocks


@dataclass(frozen=True)
class Ceiling:
    """bytes_per_second: of a large copy, reads and writes counted. flops_per_second: of a float16 product in cuBLAS."""

    bytes_per_second: float
    flops_per_second: float

    def floor(self, n_bytes: int, flops: float) -> float:
        """Seconds that so many bytes or operations take at these rates, whichever is longer (Williams 2009, roofline)."""
        return max(n_bytes / self.bytes_per_second, flops / self.flops_per_second)


def measure() -> Ceiling:
    """Measure both rates, about half a second. Raises torch.OutOfMemoryError."""
    rates = Ceiling(_copy_rate(), _product_rate())
    torch.cuda.empty_cache()  # the runners need the memory
    return rates


def _copy_rate() -> float:
    free, _ = torch.cuda.mem_get_info()
    source = torch.empty(min(2 << 30, free // 8), dtype=torch.uint8, device="cuda")
    target = torch.empty_like(source)
    return 2 * len(source) / _best(lambda: target.copy_(source))


def _product_rate() -> float:
    n = 8192
    a, b = (torch.randn(n, n, device="cuda", dtype=torch.float16) for _ in range(2))
    out = torch.empty_like(a)
    return 2.0 * n**3 / _best(lambda: torch.matmul(a, b, out=out))


def _best(work: Callable[[], object]) -> float:
    """The shortest of some times, in seconds: what the GPU can do, not what it usually does."""
    deadline = time.monotonic() + WAKE_UP
    while time.monotonic() < deadline:
        work()
        torch.cuda.synchronize()
    times = []
    for _ in range(REPEATS):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        work()
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end) / 1e3)
    return float(min(times))
