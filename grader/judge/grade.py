"""What a hidden test holds in its hands: `grade(x, y)` calls the submission and raises CheckFailed unless it is right."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from grader.channel import GUARD_BYTES, POISON_PAYLOADS, map_memory
from grader.judge.compare import compare
from grader.judge.pack import Change, Packed, Surroundings, pack
from grader.judge.process import Runner, RunnerEnded
from grader.judge.submission import CheckFailed, error_lines
from grader.judge.tolerance import Oracle, allowed
from grader.results import Kind

__all__ = ["Grade", "Oracle"]  # what a hidden test uses

GPU_CALL_TIMEOUT = 120.0  # seconds; compiling for the first time counts, too
_COPIES = frozenset({"clone", "copy_", "_to_copy", "contiguous"})


@dataclass
class Grade:
    """Calls one function of one submission and judges what comes back.

    engine: "interpreter" or "gpu". dtypes: the float types that every test should go through on this engine.
    """

    runner: Callable[[], Runner]  # the running one, or a fresh one if the last has ended
    function: str
    oracle: Oracle
    engine: str
    timeout: float
    cases: int = field(default=0, init=False)

    @property
    def dtypes(self) -> tuple[torch.dtype, ...]:
        half = (torch.float16, torch.bfloat16) if self.engine == "gpu" else (torch.float16,)
        return (torch.float32, *half)

    @property
    def device(self) -> str:
        """Where to make large inputs, and where the oracle runs."""
        return "cuda" if self.engine == "gpu" else "cpu"

    def __call__(
        self,
        *arguments: Any,
        exact: bool = False,
        note: str = "",
        scratch: int | None = None,
        kernels: int | None = None,
    ) -> None:
        """Judge one case. Tensors keep their strides on the way; everything else is passed as it is.

        exact: demand the oracle's value, bit for bit after rounding to the output's dtype. note: what is special about
        this case, for the message. scratch: bytes that may be allocated beside the outputs. kernels: how many different
        kernels may be launched. Raises CheckFailed.
        """
        surroundings = tuple(Surroundings)[self.cases % 2]  # by turns, so that every test meets both
        self.cases += 1
        tensors = [a for a in arguments if isinstance(a, Tensor)]
        try:
            evidence, output_bytes = self._judge(arguments, tensors, surroundings, exact)
            _check_thrift(evidence, output_bytes, scratch, kernels)
        except CheckFailed as failure:
            raise CheckFailed(failure.kind, *failure.lines, f"case: {describe(tensors, note)}") from None

    def _judge(
        self, arguments: Sequence[Any], tensors: Sequence[Tensor], surroundings: Surroundings, exact: bool
    ) -> tuple[Mapping[str, Any], int]:
        """Judge one call by its values and manners; return what was observed, and the bytes of the outputs."""
        packed = pack(tensors, surroundings)
        payload = int(torch.randint(POISON_PAYLOADS.start, POISON_PAYLOADS.stop, ()))
        expected = _as_tuple(self.oracle.value(*_in_float64(arguments, self.device)))
        try:
            answer, memory = self._ask(arguments, packed, payload, sum(e.numel() for e in expected) * 8)
            change = packed.change()
        except RunnerEnded as ended:
            raise CheckFailed(ended.kind, ended.reason) from None
        finally:
            packed.close()
        _check_outputs(answer, expected, tensors)
        _check_evidence(answer["evidence"])
        _check_memory(answer, change, len(expected))
        outputs = outputs_of(answer, memory)
        compare_with_oracle(self.oracle, arguments, outputs, self.device, payload, exact)
        _check_kernels(answer["evidence"], expected)
        return answer["evidence"], sum(output.numel() * output.element_size() for output in outputs)

    def _ask(self, arguments: Sequence[Any], packed: Packed, payload: int, limit: int) -> tuple[dict[str, Any], int | None]:
        places = iter(range(len(packed.layouts)))
        sent = [{"tensor": next(places)} if isinstance(a, Tensor) else {"value": a} for a in arguments]
        request = {"do": "call", "function": self.function, "arguments": sent, "poison": payload, "limit": limit}
        runner = self.runner()
        answer, memory = runner.ask({**request, **packed.frame()}, packed.descriptor, self.timeout)
        if "error" in answer:
            raise CheckFailed(Kind(answer["error"]["kind"]), *error_lines(answer["error"], runner.hide_paths))
        return answer, memory


def compare_with_oracle(
    oracle: Oracle,
    arguments: Sequence[Any],
    outputs: Sequence[Tensor],
    device: str = "cuda",
    payload: int = 0,
    exact: bool = False,
) -> None:
    """Judge `outputs` against the oracle on `arguments`, computed on `device`. Raises CheckFailed.

    payload: of the poison that filled the outputs; 0 for none. exact: no tolerance beyond rounding to the output's dtype.
    """
    inputs = _in_float64(arguments, device)
    expected = _as_tuple(oracle.value(*inputs))
    scales = (None,) * len(expected) if exact or oracle.scale is None else _as_tuple(oracle.scale(*inputs))
    names = ["out"] if len(expected) == 1 else [f"out{place + 1}" for place in range(len(expected))]
    for name, output, right, scale in zip(names, outputs, expected, scales, strict=True):
        got = output.to(device)
        if scale is None:
            right, bound = right.to(got.dtype).double(), torch.zeros_like(right)
        else:
            bound = allowed(right, scale, oracle.length(*inputs), got.dtype)
        finding = compare(got, right, bound, payload, name)
        if finding:
            raise CheckFailed(finding.kind, *finding.lines)


def outputs_of(answer: Mapping[str, Any], descriptor: int | None) -> list[Tensor]:
    """Copies of the outputs' bytes, in memory that the runner cannot reach."""
    if descriptor is None:
        raise CheckFailed(Kind.SHAPE, "the output is larger than it should be")
    shared = torch.frombuffer(map_memory(descriptor, answer["size"]), dtype=torch.uint8).clone()
    os.close(descriptor)
    outputs, start = [], 0
    for output in answer["outputs"]:
        dtype = getattr(torch, output["dtype"])
        size = dtype.itemsize * torch.Size(output["shape"]).numel()
        outputs.append(shared[start : start + size].clone().view(dtype).reshape(output["shape"]))
        start += size
    return outputs


def _in_float64(arguments: Sequence[Any], device: str) -> list[Any]:
    return [a.to(device).double() if isinstance(a, Tensor) else a for a in arguments]


def describe(tensors: Sequence[Tensor], note: str) -> str:
    """The inputs of a case in a few words: "3 × 129 float32, transposed view"."""
    shapes = [" × ".join(str(n) for n in t.shape) + f" {str(t.dtype).removeprefix('torch.')}" for t in tensors]
    if not note and any(not t.is_contiguous() for t in tensors):
        note = "strided view"
    return ", ".join([*dict.fromkeys(shapes), *([note] if note else [])])


def _as_tuple(value: Tensor | tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    return value if isinstance(value, tuple) else (value,)


def _check_outputs(answer: Mapping[str, Any], expected: Sequence[Tensor], inputs: Sequence[Tensor]) -> None:
    """Number, type, shape, dtype and device of what was returned; the dtype must be that of the first input."""
    got = answer["outputs"]
    if len(got) != len(expected):
        raise CheckFailed(Kind.SHAPE, f"returned {len(got)} values, expected {len(expected)}")
    dtype = str(inputs[0].dtype).removeprefix("torch.")
    for output, right in zip(got, expected, strict=True):
        if output["type"] != "Tensor":
            raise CheckFailed(Kind.SHAPE, f"returned {_a(output['type'])}, expected a plain torch.Tensor")
        if output["shape"] != list(right.shape):
            raise CheckFailed(Kind.SHAPE, f"the output has shape {output['shape']}, expected {list(right.shape)}")
        if output["dtype"] != dtype:
            raise CheckFailed(Kind.SHAPE, f"the output is {output['dtype']}, expected {dtype}")


def _check_evidence(evidence: Mapping[str, Any]) -> None:
    """Is it Triton? Only allocation and views may happen in torch, and only kernels may write."""
    for operator in evidence["operators"]:
        what = "copied a tensor" if operator in _COPIES else "computed"
        advice = "read it through its strides" if operator in _COPIES else "all arithmetic belongs in a Triton kernel"
        raise CheckFailed(Kind.NOT_TRITON, f"torch {what}: the operator aten::{operator} ran; {advice}")
    for operator in evidence["inside_kernel"]:
        raise CheckFailed(Kind.NOT_TRITON, f"a kernel called torch: aten::{operator} ran inside it; a GPU could not do that")
    if evidence["strangers"]:
        kernel = evidence["strangers"][0]
        raise CheckFailed(
            Kind.NOT_TRITON, f"{kernel} was given memory that is no input and was not allocated by torch.empty"
        )
    if evidence["changed_by_host"]:
        raise CheckFailed(Kind.NOT_TRITON, "memory of an output changed outside any Triton kernel")


def _check_memory(answer: Mapping[str, Any], change: Change | None, n_outputs: int) -> None:
    for damage in answer.get("damages", ()):
        raise CheckFailed(Kind.OUTSIDE, _outside(damage, n_outputs))
    if change and change.inside:
        raise CheckFailed(Kind.INPUT_CHANGED, f"argument {change.argument + 1} was changed; inputs are read-only")
    if change:
        raise CheckFailed(
            Kind.OUTSIDE, f"wrote {change.count} bytes outside argument {change.argument + 1}, next to its memory"
        )
    if any(output["origin"] == "input" for output in answer["outputs"]):
        raise CheckFailed(Kind.SHAPE, "the output lies in the memory of an input; allocate a new tensor for it")
    if any(output["origin"] == "unknown" for output in answer["outputs"]):
        raise CheckFailed(Kind.NOT_TRITON, "the output lies in memory that was not allocated by torch.empty or the like")


def _outside(damage: Mapping[str, Any], n_outputs: int) -> str:
    place, nearest = damage["output"], damage["nearest"]
    name = "a scratch tensor" if place is None else "the output" if n_outputs == 1 else f"output {place + 1}"
    side = f"{nearest} past its end" if nearest > 0 else f"{-nearest} before its start"
    limit = GUARD_BYTES >> 10
    return f"wrote {damage['count']} elements outside {name}, the nearest {side} (seen up to {limit} KiB away)"


def _check_kernels(evidence: Mapping[str, Any], expected: Sequence[Tensor]) -> None:
    if not evidence["kernels"] and any(e.numel() for e in expected):
        raise CheckFailed(Kind.NOT_TRITON, "the values are right, but no Triton kernel was launched")


def _check_thrift(evidence: Mapping[str, Any], output_bytes: int, scratch: int | None, kernels: int | None) -> None:
    used = evidence["allocated"] - output_bytes
    if scratch is not None and used > scratch:
        raise CheckFailed(Kind.MEMORY, f"allocated {used:,} bytes beside the output; {scratch:,} are enough")
    names = sorted(evidence["kernels"])
    if kernels is not None and len(names) > kernels:
        raise CheckFailed(
            Kind.TOO_SLOW, f"launched {len(names)} different kernels ({', '.join(names)}), where {kernels} is enough"
        )


def _a(noun: str) -> str:
    return noun if noun == "NoneType" else f"an object of type {noun}"
