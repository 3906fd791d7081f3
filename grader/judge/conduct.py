"""How a submission behaved, judged apart from its values: what it returned, where it wrote, and whether it is Triton."""

from collections.abc import Sequence

import torch
from torch import Tensor

from grader.channel import GUARD_BYTES
from grader.judge.answer import Answer, Damage, Evidence
from grader.judge.pack import Change
from grader.judge.submission import CheckFailed
from grader.results import Kind

_COPIES = frozenset({"clone", "copy_", "_to_copy"})


def check_outputs(answer: Answer, expected: Sequence[Tensor], dtype: torch.dtype) -> None:
    """Number, type, shape and dtype of what was returned. Raises CheckFailed."""
    if len(answer.outputs) != len(expected):
        raise CheckFailed(Kind.SHAPE, f"returned {len(answer.outputs)} values, expected {len(expected)}")
    for output, right in zip(answer.outputs, expected, strict=True):
        if output.dtype is None:
            what = "None" if output.type == "NoneType" else f"an object of type {output.type}"
            raise CheckFailed(Kind.SHAPE, f"returned {what}, expected a plain torch.Tensor")
        if output.shape != tuple(right.shape):
            raise CheckFailed(Kind.SHAPE, f"the output has shape {output.shape}, expected {tuple(right.shape)}")
        if output.dtype != dtype:
            raise CheckFailed(Kind.SHAPE, f"the output is {_name(output.dtype)}, expected {_name(dtype)}")


def check_triton(evidence: Evidence) -> None:
    """Only allocation and views may happen in torch, and only kernels may write. Raises CheckFailed."""
    for operator in evidence.operators:
        what = "copied a tensor" if operator in _COPIES else "computed"
        advice = "read it through its strides" if operator in _COPIES else "all arithmetic belongs in a Triton kernel"
        raise CheckFailed(Kind.NOT_TRITON, f"torch {what}: the operator aten::{operator} ran; {advice}")
    for operator in evidence.inside_kernel:
        raise CheckFailed(Kind.NOT_TRITON, f"a kernel called torch: aten::{operator} ran inside it; a GPU could not do that")
    for kernel in evidence.strangers:
        raise CheckFailed(
            Kind.NOT_TRITON, f"{kernel} was given memory that is no input and was not allocated by torch.empty"
        )
    if evidence.changed_by_host:
        raise CheckFailed(Kind.NOT_TRITON, "memory that the submission allocated changed outside any Triton kernel")


def check_memory(answer: Answer, change: Change | None) -> None:
    """No access but to what is there, guard zones intact, inputs unchanged, outputs in fresh memory. Raises CheckFailed."""
    for finding in answer.evidence.findings:
        raise CheckFailed(finding.kind, *finding.lines)
    for damage in answer.damages:
        raise CheckFailed(Kind.OUTSIDE, _outside(damage, len(answer.outputs)))
    if change and change.inside:
        raise CheckFailed(Kind.INPUT_CHANGED, f"argument {change.argument + 1} was changed; inputs are read-only")
    if change:
        place = f"argument {change.argument + 1}, next to or between its elements"
        raise CheckFailed(Kind.OUTSIDE, f"wrote {change.count} bytes outside {place}")
    for output in answer.outputs:
        if output.origin == "input":
            raise CheckFailed(Kind.SHAPE, "the output lies in the memory of an input; allocate a new tensor for it")
        if output.origin != "own":
            raise CheckFailed(Kind.NOT_TRITON, "the output lies in memory that was not allocated by torch.empty or the like")


def check_launched(evidence: Evidence, expected: Sequence[Tensor]) -> None:
    """A result needs a kernel, unless it is empty. Raises CheckFailed."""
    if not evidence.kernels and any(right.numel() for right in expected):
        raise CheckFailed(Kind.NOT_TRITON, "the values are right, but no Triton kernel was launched")


def check_thrift(answer: Answer, scratch: int | None, kernels: int | None) -> None:
    """Bytes allocated beside the outputs, and different kernels launched; None for no limit. Raises CheckFailed."""
    used = answer.evidence.allocated - sum(output.bytes for output in answer.outputs)
    if scratch is not None and used > scratch:
        raise CheckFailed(Kind.MEMORY, f"allocated {used:,} bytes beside the output; {scratch:,} are enough")
    names = sorted(answer.evidence.kernels)
    if kernels is not None and len(names) > kernels:
        raise CheckFailed(
            Kind.TOO_SLOW, f"launched {len(names)} different kernels ({', '.join(names)}), where {kernels} can do it"
        )


def _outside(damage: Damage, n_outputs: int) -> str:
    name = "a scratch tensor" if damage.output is None else "the output" if n_outputs == 1 else f"output {damage.output + 1}"
    side = "past its end" if damage.nearest > 0 else "before its start"
    count = f"{damage.count} element{'s' * (damage.count != 1)}"
    return (
        f"wrote {count} outside {name}, the nearest {abs(damage.nearest)} {side} (seen up to {GUARD_BYTES >> 10} KiB away)"
    )


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
