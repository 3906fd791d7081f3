"""What a bench found, as lines of a table and as a picture; every number beside the ceiling of the card it comes from."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from grader.results import BenchResult, Contender, Machine

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CAUTION = """\
Faster than eager proves little: eager PyTorch writes every intermediate result to memory and reads it back. Compare with
the fused kernels (compile, cudnn, flash, liger), and with the ceiling of this very card. All times are medians on fresh
inputs with a cold L2 cache; a difference of one or two percent may be gone tomorrow."""
OWN = ("reference", "fast", "yours")


def machine_lines(machine: Machine) -> Iterator[str]:
    """The card, the versions, and what the card reached when it did nothing else."""
    yield f"{machine.device}; {', '.join(f'{name} {version}' for name, version in machine.versions)}"
    copy, product = f"{machine.copy_rate / 1e12:.2f} TB/s", f"{machine.product_rate / 1e12:.0f} TFLOP/s"
    yield f"ceilings measured here: a large copy {copy}, a large float16 product {product}"


def title(machine: Machine, result: BenchResult) -> str:
    """The workload, and the time it takes at this card's best rate."""
    return f"{result.function} on {result.label}: {micro(result.floor)} at the ceiling of {_bound(machine, result)}"


def rows(machine: Machine, result: BenchResult) -> list[tuple[str, str, str, str, str]]:
    """For each contender: name, time, rate, share of the ceiling, remark."""
    return [_row(machine, result, contender) for contender in result.contenders]


def best_peer(result: BenchResult) -> Contender | None:
    """The fastest of those who are not ours and compute the same."""
    return _fastest(c for c in result.contenders if c.name not in OWN)


def best_own(result: BenchResult) -> Contender | None:
    """The faster of the reference solution and its fast form."""
    return _fastest(c for c in result.contenders if c.name in ("reference", "fast"))


def draw(machine: Machine, results: Sequence[BenchResult], path: Path) -> None:
    """A roofline of the products and bars for everything, into a PNG file."""
    from matplotlib.figure import Figure

    n_bars = sum(len(result.contenders) for result in results)
    figure = Figure(figsize=(13, 5 + 0.22 * n_bars), layout="constrained")
    roof, bars = figure.subplots(2, 1, height_ratios=[4, max(1, 0.22 * n_bars)])
    _draw_roof(roof, machine, results)
    _draw_bars(bars, results)
    figure.savefig(path, format="png", dpi=110)


def rate(machine: Machine, result: BenchResult, seconds: float) -> str:
    """What was reached in `seconds`, in the unit of what limits this workload."""
    if _bound(machine, result) == "arithmetic":
        return f"{result.flops / seconds / 1e12:.0f} TFLOP/s"
    return f"{result.bytes / seconds / 1e12:.2f} TB/s"


def micro(seconds: float) -> str:
    """Seconds as microseconds, to three digits or more."""
    return f"{seconds * 1e6:.1f} µs" if seconds < 1e-4 else f"{seconds * 1e6:.0f} µs"


def _row(machine: Machine, result: BenchResult, contender: Contender) -> tuple[str, str, str, str, str]:
    if contender.seconds is None:
        return contender.name, "", "", "", contender.note
    reached = rate(machine, result, contender.seconds)
    return contender.name, micro(contender.seconds), reached, f"{result.floor / contender.seconds:.0%}", contender.note


def _bound(machine: Machine, result: BenchResult) -> str:
    arithmetic = result.flops / machine.product_rate > result.bytes / machine.copy_rate
    return "arithmetic" if arithmetic else "memory traffic"


def _fastest(contenders: Iterable[Contender]) -> Contender | None:
    timed = [c for c in contenders if c.seconds is not None and not c.note]
    return min(timed, key=lambda c: c.seconds or 0.0, default=None)


def _draw_roof(axes: "Axes", machine: Machine, results: Sequence[BenchResult]) -> None:
    ridge = machine.product_rate / machine.copy_rate
    axes.loglog([1, ridge, 1e4], [machine.copy_rate, machine.product_rate, machine.product_rate], color="black")
    for result in (r for r in results if r.flops):
        own = best_own(result)
        for contender in (c for c in result.contenders if c.seconds):
            assert contender.seconds is not None
            marker, colour = ("o", "tab:blue") if contender is own else (".", "tab:gray")
            axes.plot(result.flops / result.bytes, result.flops / contender.seconds, marker, color=colour)
    axes.set_xlabel("operations per byte")
    axes.set_ylabel("operations per second")
    axes.set_title(f"{machine.device}: products under the measured roof (blue: ours, grey: others)")


def _draw_bars(axes: "Axes", results: Sequence[BenchResult]) -> None:
    bars = [
        (f"{r.function} {r.label}: {c.name}", r.floor / c.seconds, c) for r in results for c in r.contenders if c.seconds
    ]
    colours = ["tab:blue" if c.name in OWN else "tab:gray" for _, _, c in bars]
    axes.barh(range(len(bars)), [share for _, share, _ in bars], color=colours)
    axes.set_yticks(range(len(bars)), [label for label, _, _ in bars], fontsize=7)
    axes.invert_yaxis()
    axes.axvline(1.0, color="black", linewidth=0.8)
    axes.set_xlabel("share of this card's ceiling (1 = as fast as its memory or its tensor cores allow)")
