"""What a hidden test holds in its hands: `grade(x, y)` calls the submission, and raises CheckFailed unless it is right."""

import os
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from grader.channel import POISON_MARKS, map_memory
from grader.judge.answer import Answer, Output, parse_answer, parse_compiled
from grader.judge.compare import compare
from grader.judge.conduct import check_launched, check_memory, check_outputs, check_thrift, check_triton
from grader.judge.pack import Change, Surroundings, pack
from grader.judge.submission import CheckFailed, Submission
from grader.judge.tolerance import Oracle, allowed
from grader.results import Kind

__all__ = ["Grade", "Oracle"]  # what a hidden test uses

COMPILE_TIMEOUT = 120.0  # seconds; torch.compile imports a great deal at its first use
GPU_CALL_TIMEOUT = 120.0  # seconds; compiling for the first time counts, too


@dataclass
class Grade:
    """Calls one function of one submission and judges what comes back."""

    submission: Submission
    function: str
    oracle: Oracle
    cases: int = field(default=0, init=False)

    @property
    def engine(self) -> str:
        """ "interpreter" or "gpu"."""
        return self.submission.engine

    @property
    def dtypes(self) -> tuple[torch.dtype, ...]:
        """The float types that every test should go through on this engine."""
        half = (torch.float16, torch.bfloat16) if self.engine == "gpu" else (torch.float16,)
        return (torch.float32, *half)

    @property
    def device(self) -> str:
        """Where to make large inputs, and where the oracle runs."""
        return "cuda" if self.engine == "gpu" else "cpu"

    def __call__(
        self, *arguments: Any, exact: bool = False, note: str = "", scratch: int | None = None, kernels: int | None = None
    ) -> None:
        """Judge one case. Tensors keep their strides on the way; everything else is passed as it is.

        exact: demand the oracle's value, bit for bit after rounding to the output's dtype. note: what is special about
        this case, for the message. scratch: bytes that may be allocated beside the outputs. kernels: how many different
        kernels may be launched. Raises CheckFailed.
        """
        surroundings = tuple(Surroundings)[self.cases % 2]  # by turns, so that every test meets both
        self.cases += 1
        tensors = [argument for argument in arguments if isinstance(argument, Tensor)]
        try:
            answer = self._judge(arguments, tensors, surroundings, exact)
            check_thrift(answer, scratch, kernels)
        except CheckFailed as failure:
            raise CheckFailed(failure.kind, *failure.lines, f"case: {describe(tensors, note)}") from None

    def compiled(self, operator: str, *tensors: Tensor) -> None:
        """Judge one call of an operator "namespace::name" that the submission has registered, through torch.compile.

        The graph must hold that operator and nothing else, a kernel must run, and the values must be right.
        Raises CheckFailed.
        """
        self.cases += 1
        packed = pack(tensors, Surroundings.NAN)
        request = {"do": "compile", "operator": operator, **packed.frame()}
        try:
            answer, memory = self.submission.ask(request, packed.descriptor, COMPILE_TIMEOUT, parse_compiled)
        finally:
            packed.close()
        outputs, size, graph, kernels = answer
        if graph != (operator.replace("::", "."),):
            raise CheckFailed(Kind.NOT_TRITON, f"torch.compile made this of it: {', '.join(graph) or 'nothing'}")
        if not kernels:
            raise CheckFailed(Kind.NOT_TRITON, f"{operator} launched no kernel")
        compare_with_oracle(self.oracle, tensors, take_outputs(outputs, size, memory), self.device)

    def _judge(self, arguments: Sequence[Any], tensors: Sequence[Tensor], surroundings: Surroundings, exact: bool) -> Answer:
        """Judge one call: how it behaved first, since a wrong value may only follow from that."""
        expected = _as_tuple(self.oracle.value(*_in_float64(arguments, self.device)))
        answer, memory, change = self._call(arguments, tensors, surroundings, sum(e.numel() for e in expected) * 8)
        check_outputs(answer, expected, tensors[0].dtype)
        check_triton(answer.evidence)
        check_memory(answer, change)
        outputs = take_outputs(answer.outputs, answer.size, memory)
        marks = [output.mark for output in answer.outputs]
        compare_with_oracle(self.oracle, arguments, outputs, self.device, marks, exact)
        check_launched(answer.evidence, expected)
        return answer

    def _call(
        self, arguments: Sequence[Any], tensors: Sequence[Tensor], surroundings: Surroundings, limit: int
    ) -> tuple[Answer, int | None, Change | None]:
        """Send the inputs, wait for the answer, and see what became of the inputs' memory. limit: bytes of outputs."""
        packed = pack(tensors, surroundings)
        places = iter(range(len(tensors)))
        sent = [{"tensor": next(places)} if isinstance(a, Tensor) else {"value": a} for a in arguments]
        mark = secrets.choice(POISON_MARKS)
        request = {"do": "call", "function": self.function, "arguments": sent, "poison": mark, "limit": limit}
        timeout = GPU_CALL_TIMEOUT if self.engine == "gpu" else self.submission.exercise.call_timeout
        try:
            answer, memory = self.submission.ask({**request, **packed.frame()}, packed.descriptor, timeout, parse_answer)
            return answer, memory, packed.change()
        finally:
            packed.close()


def compare_with_oracle(
    oracle: Oracle,
    arguments: Sequence[Any],
    outputs: Sequence[Tensor],
    device: str,
    marks: Sequence[int] = (),
    exact: bool = False,
    part: Callable[[Tensor], Tensor] = lambda whole: whole,
) -> None:
    """Judge `outputs` against the oracle on `arguments`, computed on `device`. Raises CheckFailed.

    marks: of the poison that filled each output, if any. exact: no tolerance beyond rounding to the output's dtype.
    part: which part of the whole outputs `outputs` are.
    """
    wanted = expectation(oracle, arguments, outputs[0].dtype, device, exact)
    if [tuple(got.shape) for got in outputs] != [tuple(part(right).shape) for right, _ in wanted]:
        raise CheckFailed(Kind.SHAPE, "the outputs do not have the shapes that they should have")
    names = ["out"] if len(wanted) == 1 else [f"out{place + 1}" for place in range(len(wanted))]
    fills = marks or (0,) * len(wanted)
    for name, output, mark, (right, bound) in zip(names, outputs, fills, wanted, strict=True):
        finding = compare(output.to(device), part(right), part(bound), mark, name)
        if finding:
            raise CheckFailed(finding.kind, *finding.lines)


def expectation(
    oracle: Oracle, arguments: Sequence[Any], dtype: torch.dtype, device: str = "cpu", exact: bool = False
) -> list[tuple[Tensor, Tensor]]:
    """For each output of the oracle on `arguments`: its value and the allowed error, float64. dtype: of the outputs."""
    inputs = _in_float64(arguments, device)
    values = _as_tuple(oracle.value(*inputs))
    if exact or oracle.scale is None:
        return [(value.to(dtype).double(), torch.zeros_like(value)) for value in values]
    scales = _as_tuple(oracle.scale(*inputs))
    rounded = _as_tuple(oracle.rounded(*inputs)) if oracle.rounded else tuple(torch.zeros_like(v) for v in values)
    length = oracle.length(*inputs)
    return [(v, allowed(v, s, length, dtype, r)) for v, s, r in zip(values, scales, rounded, strict=True)]


def take_outputs(described: Sequence[Output], size: int, descriptor: int | None) -> list[Tensor]:
    """Copies of the outputs' bytes, in memory that the runner cannot reach. Raises CheckFailed."""
    if descriptor is None or max(1, sum(output.bytes for output in described)) != size:
        raise CheckFailed(Kind.CRASH, "the process answered without its outputs")
    shared = torch.frombuffer(map_memory(descriptor, size), dtype=torch.uint8).clone()
    os.close(descriptor)
    outputs, start = [], 0
    for output in described:
        assert output.dtype is not None
        outputs.append(shared[start : start + output.bytes].clone().view(output.dtype).reshape(output.shape))
        start += output.bytes
    return outputs


def describe(tensors: Sequence[Tensor], note: str) -> str:
    """The inputs of a case in a few words: "3 × 129 float32, strided view"."""
    shapes = [" × ".join(str(n) for n in t.shape) + f" {str(t.dtype).removeprefix('torch.')}" for t in tensors]
    if not note and any(not t.is_contiguous() for t in tensors):
        note = "strided view"
    return ", ".join([*dict.fromkeys(shapes), *([note] if note else [])])


def _in_float64(arguments: Sequence[Any], device: str) -> list[Any]:
    return [a.to(device).double() if isinstance(a, Tensor) else a for a in arguments]


def _as_tuple(value: Tensor | tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    return value if isinstance(value, tuple) else (value,)
