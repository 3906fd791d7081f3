"""Does the real compiler take the kernels, and what does it make of them? Asked without a GPU, for a named target.

A runner of its own calls each function once for each dtype, on a case that the checks have used, and every launch only
compiles. What the interpreter accepts and the compiler does not is a failure of the submission.
"""

import os
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from grader.channel import map_memory
from grader.judge.answer import parse_kernels
from grader.judge.grade import describe
from grader.judge.nursery import Nursery
from grader.judge.pack import Surroundings, pack
from grader.judge.submission import CheckFailed, Submission
from grader.results import CheckResult, CompiledKernel, Kind, Status

DTYPES = ("float32", "float16")  # bfloat16 goes the way of float16, and each takes its time
COMPILE_TIMEOUT = 120.0  # seconds for one function and dtype
Specimens = Mapping[tuple[str, str], Sequence[Any]]  # (function, dtype) -> the arguments of a case


@dataclass(frozen=True)
class Target:
    """What a processor of one kind of GPU has, from the CUDA C++ Programming Guide, table "Technical Specifications".

    Bytes of shared memory: at most for one program, and in all; each program takes 1 KiB more than it asks for.
    """

    name: str
    title: str
    shared_of_program: int
    shared: int
    registers: int = 65_536
    warps: int = 64
    programs: int = 32

    def occupancy(self, kernel: Mapping[str, Any]) -> float | None:
        """The share of its warps that a processor can have at work, by registers and shared memory; None if unknown."""
        if not kernel["registers"]:
            return None
        registers = -(-kernel["registers"] // 8) * 8 * 32 * kernel["warps"]
        by_shared = self.shared // (kernel["shared"] + 1024)
        programs = min(self.registers // registers, by_shared, self.warps // kernel["warps"], self.programs)
        return float(programs * kernel["warps"] / self.warps)


TARGETS = {
    "sm_80": Target("sm_80", "compute capability 8.0", 163 << 10, 164 << 10),
    "sm_90": Target("sm_90", "compute capability 9.0", 227 << 10, 228 << 10),
}
DEFAULT = TARGETS["sm_90"]


def run(
    submission: Submission, nursery: Nursery, specimens: Specimens, functions: Iterable[str], target: Target = DEFAULT
) -> tuple[tuple[CompiledKernel, ...], tuple[CheckResult, ...]]:
    """Compile what `functions` launch on the specimens. The second part holds a check for each function."""
    compiler = Submission(submission.path, submission.exercise, nursery, "compiler")
    try:
        judged = [_judge(compiler, function, specimens, target) for function in functions]
    finally:
        compiler.stop()
    return tuple(kernel for kernels, _ in judged for kernel in kernels), tuple(check for _, check in judged)


def _judge(
    compiler: Submission, function: str, specimens: Specimens, target: Target
) -> tuple[list[CompiledKernel], CheckResult]:
    own = {dtype: specimens[function, dtype] for dtype in DTYPES if (function, dtype) in specimens}
    label, began, kernels = f"compiles for {target.title}", time.monotonic(), []
    try:
        for dtype, arguments in own.items():
            kernels += compile_case(compiler, function, dtype, arguments, target)
        _require_fit(kernels, target)
    except CheckFailed as failure:
        seconds = time.monotonic() - began
        return [], CheckResult(function, label, Status.FAILED, failure.kind, failure.lines, len(own), seconds)
    lines = tuple(_too_large(kernel, target) for kernel in kernels if kernel.shared > target.shared_of_program)
    return kernels, CheckResult(function, label, Status.PASSED, None, lines[:4], len(own), time.monotonic() - began)


def compile_case(
    compiler: Submission, function: str, dtype: str, arguments: Sequence[Any], target: Target
) -> list[CompiledKernel]:
    """Every kernel that one call launches. Raises CheckFailed."""
    tensors = [argument for argument in arguments if isinstance(argument, Tensor)]
    try:
        found, _ = ask(compiler, function, arguments, target.name)
    except CheckFailed as failure:
        raise CheckFailed(failure.kind, *failure.lines, f"case: {describe(tensors, '')}") from None
    return [CompiledKernel(function, dtype, target.name, target.occupancy(kernel), **kernel) for kernel in found]


def ask(
    compiler: Submission, function: str, arguments: Sequence[Any], target: str, stage: str = ""
) -> tuple[list[dict[str, Any]], str]:
    """What the compiler says of each kernel, and the text of a stage if one is named. Raises CheckFailed."""
    tensors = [argument for argument in arguments if isinstance(argument, Tensor)]
    places = iter(range(len(tensors)))
    sent = [{"tensor": next(places)} if isinstance(a, Tensor) else {"value": a} for a in arguments]
    packed = pack(tensors, Surroundings.NAN)
    request = {"do": "compile", "function": function, "arguments": sent, "target": target, "stage": stage, **packed.frame()}
    try:
        (kernels, size), memory = compiler.ask(request, packed.descriptor, COMPILE_TIMEOUT, parse_kernels)
    finally:
        packed.close()
    if memory is None:
        return kernels, ""
    text = bytes(map_memory(memory, max(size, 1))[:size]).decode(errors="replace")
    os.close(memory)
    return kernels, text


def _require_fit(kernels: Sequence[CompiledKernel], target: Target) -> None:
    """Raise CheckFailed if there is a kernel that no configuration makes small enough."""
    for key in dict.fromkeys((kernel.kernel, kernel.dtype) for kernel in kernels):
        variants = [kernel for kernel in kernels if (kernel.kernel, kernel.dtype) == key]
        smallest = min(variants, key=lambda kernel: kernel.shared)
        if smallest.shared > target.shared_of_program:
            raise CheckFailed(Kind.COMPILE, _too_large(smallest, target), "smaller tiles or fewer stages need less")


def _too_large(kernel: CompiledKernel, target: Target) -> str:
    variant = f"{kernel.kernel} for {kernel.dtype}, {kernel.warps} warps, {kernel.stages} stages"
    return f"{variant}: {kernel.shared:,} bytes of shared memory, where {target.title} has {target.shared_of_program:,}"
