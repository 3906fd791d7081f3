"""What a hidden test holds in its hands: `grade(x, y)` calls the submission, and raises CheckFailed unless it is right."""

import os
import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import torch
from torch import Tensor

from grader.channel import POISON_MARKS, map_memory
from grader.course import Workload
from grader.judge import error_map
from grader.judge.answer import Answer, Evidence, Output, parse_answer, parse_compiled
from grader.judge.compare import KINDS, compare
from grader.judge.conduct import check_launched, check_memory, check_outputs, check_thrift, check_triton
from grader.judge.nursery import RunnerUnavailable
from grader.judge.pack import Change, Surroundings, pack
from grader.judge.submission import CheckFailed, Submission
from grader.judge.tolerance import Oracle, allowed
from grader.results import ErrorMap, Kind

__all__ = ["Grade", "Oracle"]  # what a hidden test uses

COMPILE_TIMEOUT = 120.0  # seconds; torch.compile imports a great deal at its first use
GPU_CALL_TIMEOUT = 120.0  # seconds; compiling for the first time counts, too


@dataclass(frozen=True)
class Conditions:
    """What a right kernel does not depend on. All but the first are the interpreter's.

    surroundings: what lies around the inputs. shuffle: the seed of the order in which programs run; None for the usual one.
    nonsense: what masked elements are if a load does not say it: "nan", "huge" or "zero".
    cheapest: whether an autotuner takes the configuration that moves the fewest bytes, rather than any.
    """

    surroundings: Surroundings
    shuffle: int | None = None
    nonsense: str = "zero"
    cheapest: bool = False

    @classmethod
    def of(cls, number: int) -> Self:
        """The conditions of the case with this number: by turns, so that a test of three cases meets all of them."""
        shuffle = secrets.randbits(32) if number % 2 else None
        return cls(tuple(Surroundings)[number % 2], shuffle, ("nan", "huge")[number // 2 % 2])


@dataclass(frozen=True)
class Case:
    """One question: arguments, the tensors among them, the oracle's answer, and whether it must be met to the last bit."""

    arguments: tuple[Any, ...]
    tensors: tuple[Tensor, ...]
    expected: tuple[Tensor, ...]
    exact: bool


@dataclass
class Grade:
    """Calls one function of one submission and judges what comes back."""

    submission: Submission
    function: str
    oracle: Oracle
    specimens: dict[tuple[str, str], tuple[Any, ...]] = field(default_factory=dict)  # a case for each function and dtype
    cases: int = field(default=0, init=False)
    _seconds: float = field(default=0.0, init=False)  # that the last call took

    @property
    def engine(self) -> str:
        """ "interpreter" or "gpu"."""
        return self.submission.engine

    @property
    def dtypes(self) -> tuple[torch.dtype, ...]:
        """The float types that every test should go through."""
        return (torch.float32, torch.float16, torch.bfloat16)

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
        conditions = Conditions.of(self.cases)
        self.cases += 1
        tensors = tuple(argument for argument in arguments if isinstance(argument, Tensor))
        self.specimens.setdefault((self.function, str(tensors[0].dtype).removeprefix("torch.")), arguments)
        expected = _as_tuple(self.oracle.value(*_in_float64(arguments, self.device)))
        case = Case(arguments, tensors, expected, exact)
        try:
            answer = self._judge(case, conditions)
            check_thrift(answer, scratch, kernels)
        except CheckFailed as failure:
            lines = (*failure.lines, f"case: {describe(tensors, note)}")
            drawn = self._error_map(case, conditions) if failure.kind in KINDS else None
            raise CheckFailed(failure.kind, *lines, margin=failure.margin, error_map=drawn) from None

    def compiled(self, operator: str, *tensors: Tensor) -> None:
        """Judge one call of an operator "namespace::name" that the submission has registered, through torch.compile.

        The graph must hold that operator and nothing else, a kernel must run, its fake must promise what it returns, and the
        values must be right. Raises CheckFailed.
        """
        self.cases += 1
        packed = pack(tensors, Surroundings.NAN)
        request = {"do": "compile", "operator": operator, **packed.frame()}
        try:
            answer, memory = self.submission.ask(request, packed.descriptor, COMPILE_TIMEOUT, parse_compiled)
        finally:
            packed.close()
        if answer.graph != (operator.replace("::", "."),):
            raise CheckFailed(Kind.NOT_TRITON, f"torch.compile made this of it: {', '.join(answer.graph) or 'nothing'}")
        if not answer.kernels:
            raise CheckFailed(Kind.NOT_TRITON, f"{operator} launched no kernel")
        outputs = take_outputs(answer.outputs, answer.size, memory)
        returned = describe(outputs, "").strip()
        if answer.promised != (returned,):
            promise = ", ".join(answer.promised) or "nothing"
            raise CheckFailed(Kind.SHAPE, f"the fake of {operator} promises {promise}, and the operator returns {returned}")
        compare_with_oracle(self.oracle, tensors, outputs, self.device)

    def observe(self, *arguments: Any, limit: int) -> Answer:
        """Call the function once and judge nothing. limit: bytes of outputs. Raises CheckFailed."""
        answer, memory, _ = self._call(_unjudged(arguments, limit), Conditions(Surroundings.NAN, cheapest=True))
        if memory is not None:
            os.close(memory)
        return answer

    def look(self, *arguments: Any, limit: int) -> tuple[list[tuple[Tensor, int]], Evidence]:
        """Call the function once, under plain conditions, and judge nothing: each output with the mark of its poison.

        An autotuner takes what moves the fewest bytes, so that another call would find the same. limit: bytes of outputs.
        Raises CheckFailed.
        """
        answer, memory, _ = self._call(_unjudged(arguments, limit), Conditions(Surroundings.NAN, cheapest=True))
        outputs = take_outputs(answer.outputs, answer.size, memory)
        return list(zip(outputs, (output.mark for output in answer.outputs), strict=True)), answer.evidence

    def traced(self, *arguments: Any, limit: int) -> tuple[Answer, list[Tensor]]:
        """Call the function once and record who touched what, on the interpreter. limit: bytes of outputs.

        The second part holds the outputs and then the arrays of the record. Raises CheckFailed.
        """
        return self._traced(_unjudged(arguments, limit), Conditions(Surroundings.NAN, cheapest=True))

    def _traced(self, case: Case, conditions: Conditions) -> tuple[Answer, list[Tensor]]:
        answer, memory, _ = self._call(case, conditions, do="call" if self.engine == "gpu" else "trace")
        arrays = [array for launch in answer.record.launches for array in launch.arrays]
        return answer, take_outputs([*answer.outputs, *arrays], answer.size, memory)

    def _error_map(self, case: Case, conditions: Conditions) -> ErrorMap | None:
        """What is wrong, tile by tile, from one more call; None if that would take long, or is right for once."""
        size = max(tensor.numel() for tensor in (*case.tensors, *case.expected))
        took_long = self.engine == "interpreter" and self._seconds > error_map.MAX_SECONDS  # on a GPU it was compiling
        if size > error_map.MAX_ELEMENTS or took_long:
            return None
        try:
            answer, outputs = self._traced(case, conditions)
            check_outputs(answer, case.expected, case.tensors[0].dtype)
        except (CheckFailed, RunnerUnavailable):
            return None
        wanted = expectation(self.oracle, case.arguments, outputs[0].dtype, self.device, case.exact)
        return error_map.draw(answer, outputs, wanted)

    def _judge(self, case: Case, conditions: Conditions) -> Answer:
        """Judge one call: how it behaved first, since a wrong value may only follow from that."""
        answer, memory, change = self._call(case, conditions)
        check_outputs(answer, case.expected, case.tensors[0].dtype)
        check_triton(answer.evidence)
        check_memory(answer, change)
        try:
            self._compare(case, answer, memory)
        except CheckFailed as failure:
            raise self._cause(failure, case, conditions, answer) from None
        check_launched(answer.evidence, case.expected)
        return answer

    def _compare(self, case: Case, answer: Answer, memory: int | None) -> None:
        outputs = take_outputs(answer.outputs, answer.size, memory)
        marks = [output.mark for output in answer.outputs]
        compare_with_oracle(self.oracle, case.arguments, outputs, self.device, marks, case.exact)

    def _cause(self, failure: CheckFailed, case: Case, conditions: Conditions, answer: Answer) -> CheckFailed:
        """What made a result wrong, where changing one condition shows it; else the failure as it was seen."""
        if answer.evidence.omitted and self._depends_on_nonsense(case, conditions):
            places = ", ".join(f"line {line}" for line in answer.evidence.omitted)
            what = "elements that a tl.load masks, without saying what they are, get into the result"
            return CheckFailed(Kind.UNDEFINED, what, f"kernel.py, {places}: a masked load without `other`")
        if conditions.shuffle is not None and self._depends_on_order(case, conditions):
            what = "the result is right if the programs run one after another, and wrong in another order"
            return CheckFailed(Kind.RACE, what, "on a GPU nobody knows which program comes first")
        return failure

    def _depends_on_nonsense(self, case: Case, conditions: Conditions) -> bool:
        """Whether the result is another one if masked elements that nobody described are another value."""
        try:
            results = []
            for nonsense in ("nan", "huge", "zero"):
                answer, memory, _ = self._call(case, replace(conditions, nonsense=nonsense))
                results.append([out.view(torch.uint8) for out in take_outputs(answer.outputs, answer.size, memory)])
        except CheckFailed:
            return False
        first, *others = results
        return any(not torch.equal(a, b) for other in others for a, b in zip(first, other, strict=True))

    def _depends_on_order(self, case: Case, conditions: Conditions) -> bool:
        """Whether a wrong result is right in the usual order, and wrong once more in the order that it was wrong in.

        An autotuner's trials may spoil one result and not the next, whatever the order.
        """
        return self._is_right(case, replace(conditions, shuffle=None)) and not self._is_right(case, conditions)

    def _is_right(self, case: Case, conditions: Conditions) -> bool:
        try:
            answer, memory, _ = self._call(case, conditions)
            check_outputs(answer, case.expected, case.tensors[0].dtype)
            self._compare(case, answer, memory)
        except CheckFailed:
            return False
        return True

    def _call(self, case: Case, conditions: Conditions, do: str = "call") -> tuple[Answer, int | None, Change | None]:
        """Send the inputs, wait for the answer, and see what became of the inputs' memory. do: "call" or "trace"."""
        packed = pack(case.tensors, conditions.surroundings)
        places = iter(range(len(case.tensors)))
        sent = [{"tensor": next(places)} if isinstance(a, Tensor) else {"value": a} for a in case.arguments]
        request = {
            "do": do,
            "function": self.function,
            "arguments": sent,
            "poison": secrets.choice(POISON_MARKS),
            "limit": 8 * sum(value.numel() for value in case.expected),
            "shuffle": conditions.shuffle,
            "nonsense": conditions.nonsense,
            "cheapest": conditions.cheapest,
        }
        timeout = GPU_CALL_TIMEOUT if self.engine == "gpu" else self.submission.exercise.call_timeout
        began = time.monotonic()
        try:
            answer, memory = self.submission.ask({**request, **packed.frame()}, packed.descriptor, timeout, parse_answer)
            return answer, memory, packed.change()
        finally:
            self._seconds = time.monotonic() - began
            packed.close()


def _unjudged(arguments: tuple[Any, ...], limit: int) -> Case:
    """A case without an answer; its outputs may take `limit` bytes."""
    tensors = tuple(argument for argument in arguments if isinstance(argument, Tensor))
    return Case(arguments, tensors, (torch.empty(limit // 8, device="meta"),), False)


def unjudged(submission: Submission, workload: Workload) -> tuple[Grade, tuple[Any, ...]]:
    """What calls a workload's function where no value is judged, and random arguments for it, on the CPU."""
    inputs = (torch.randn(t.shape).to(getattr(torch, t.dtype)) for t in workload.inputs)
    grade = Grade(submission, workload.function, Oracle(value=lambda *given: given[0]))
    return grade, (*inputs, *workload.options)


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
            raise CheckFailed(finding.kind, *finding.lines, margin=finding.margin)


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
