"""What the runner watches around one call of a submission: torch operators, kernel launches, and memory.

* Operators: a submission may allocate and make views; whatever else torch executes is recorded by name.
* Memory: what the submission allocates is filled with a poison pattern and has guard zones on both sides.
* Launches: each kernel is counted, must work on memory that we know, and only kernels may change allocated memory.
* On the interpreter: every access of a kernel, by the sanitizer.
"""

import random
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from grader.channel import GUARD_BYTES, POISON_MARKS, poison
from grader.runner import triton_private
from grader.runner.sanitizer import Sanitizer, summary
from grader.runner.tracing import Recorder
from grader.runner.traffic import Loads, Traffic

_EMPTY = frozenset({"empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided"})
_FILLED = frozenset(
    {
        f"{prefix}{name}{suffix}"
        for name in ("zeros", "ones", "full")
        for prefix, suffix in (("", ""), ("", "_like"), ("new_", ""))
    }
)
_REFILL = frozenset({"fill_", "zero_"})
_ALLOWED_CHANGES = _EMPTY | _FILLED | _REFILL
_WORD = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}

TRIALS = 0.3  # how many of an autotuner's trials really run
_DIGEST_LIMIT = {"cpu": 64 << 20, "cuda": 1 << 20}  # bytes of memory worth reading again at every launch


@dataclass(frozen=True)
class Allocation:
    """One tensor that the submission allocated: `words` spans guard, payload, guard, as integers of the element size."""

    words: torch.Tensor
    first: int  # where the payload begins, in words
    size: int  # words of payload
    fill: int
    mark: int  # what its poison carries, which tells it from that of other allocations

    @property
    def payload(self) -> torch.Tensor:
        return self.words[self.first : self.first + self.size]

    @property
    def pointer(self) -> int:
        return self.words.untyped_storage().data_ptr()

    def digest(self) -> int:
        return zlib.crc32(self.payload.view(torch.uint8).cpu().numpy().data)

    def damage(self) -> dict[str, int] | None:
        """How many guard elements were overwritten, and how far outside the nearest is (negative: before the start)."""
        before = self.words[: self.first].ne(self.fill).nonzero().flatten()
        after = self.words[self.first + self.size :].ne(self.fill).nonzero().flatten()
        if not len(before) and not len(after):
            return None
        nearest = int(after[0]) + 1 if len(after) else int(before[-1]) - self.first
        return {"count": len(before) + len(after), "nearest": nearest, "size": self.size}


@dataclass
class Evidence:
    """What was seen during one call."""

    operators: list[str] = field(default_factory=list)
    inside_kernel: list[str] = field(default_factory=list)
    kernels: Counter[str] = field(default_factory=Counter)
    strangers: list[str] = field(default_factory=list)  # kernels that were given memory of unknown origin
    changed_by_host: bool = False
    allocated: int = 0  # bytes in all, outputs included, guard zones not

    def to_json(self) -> dict[str, Any]:
        """Bounded in size: a submission can launch and call as much as it likes."""
        return {
            "operators": list(dict.fromkeys(self.operators))[:8],
            "inside_kernel": list(dict.fromkeys(self.inside_kernel))[:8],
            "kernels": dict(self.kernels.most_common(16)),
            "strangers": list(dict.fromkeys(self.strangers))[:4],
            "changed_by_host": self.changed_by_host,
            "allocated": self.allocated,
        }


class Observer(TorchDispatchMode):
    """Watches one call at a time; knows the memory of earlier calls, so that a workspace may be kept."""

    def __init__(self, path: Path, interpreting: bool) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._sanitizer = Sanitizer(path) if interpreting else None
        self._tensors: dict[int, torch.Tensor] = {}  # of this call, by their storage: inputs and what was allocated
        self.evidence = Evidence()
        self.allocations: list[Allocation] = []
        self._known: set[int] = set()
        self._digests: dict[int, int] = {}
        self._mark = 0
        self._chooser = random.Random()
        self._cheapest = False  # whether an autotuner shall take the configuration that moves least
        self._tried = 0  # bytes that its last trial moved
        self._launching = False
        self._resting = False

    @contextmanager
    def watch(
        self,
        inputs: Sequence[torch.Tensor],
        mark: int,
        shuffle: int | None = None,
        nonsense: str = "zero",
        cheapest: bool = False,
        recorder: Recorder | None = None,
    ) -> Iterator[None]:
        """Watch what happens inside. The poison of this call's first allocation carries `mark`, the next one another.

        On a CPU a computed NaN keeps the bits of the NaN it came from: one mark for all would make a result of unwritten
        scratch memory look like an element that was never written.
        """
        self.evidence, self.allocations, self._digests = Evidence(), [], {}
        self._mark = mark
        self._cheapest = cheapest
        self._known.update(tensor.untyped_storage().data_ptr() for tensor in inputs)
        self._tensors = {tensor.untyped_storage().data_ptr(): tensor for tensor in inputs}
        with (
            self._sanitized(inputs, shuffle, nonsense, recorder),
            triton_private.around_launches(self._around, self._tuning),
            self,
        ):
            yield
        self._notice_changes()

    def _sanitized(
        self, inputs: Sequence[torch.Tensor], shuffle: int | None, nonsense: str, recorder: Recorder | None
    ) -> AbstractContextManager[None]:
        if self._sanitizer is None:
            return nullcontext()
        self._sanitizer.begin_call(inputs)
        self._sanitizer.recorder = recorder
        return triton_private.around_accesses(self._sanitizer, shuffle, nonsense)

    def evidence_json(self) -> dict[str, Any]:
        """All evidence of the last call, for a frame."""
        findings = summary(self._sanitizer.findings) if self._sanitizer else []
        omitted = self._sanitizer.omitted if self._sanitizer else []
        loads = self._sanitizer.loads if self._sanitizer else Loads()
        return {**self.evidence.to_json(), "findings": findings, "omitted": omitted, **loads.to_json()}

    def origin(self, tensor: torch.Tensor, inputs: Sequence[torch.Tensor]) -> str:
        """Where an output lies: "own" memory of the submission, an "input", or memory of "unknown" origin."""
        pointer = tensor.untyped_storage().data_ptr()
        if tensor.numel() and pointer in {t.untyped_storage().data_ptr() for t in inputs}:
            return "input"
        return "own" if not tensor.numel() or pointer in self._known else "unknown"

    def mark_of(self, tensor: torch.Tensor) -> int:
        """The mark in the poison that filled `tensor`; 0 if it was not allocated in this call."""
        pointer = tensor.untyped_storage().data_ptr()
        return next((a.mark for a in self.allocations if a.pointer == pointer), 0)

    def damages(self, outputs: Sequence[torch.Tensor]) -> list[dict[str, Any]]:
        """Every allocation whose guard zones were overwritten, outputs by their place and the rest as scratch memory."""
        places = {tensor.untyped_storage().data_ptr(): place for place, tensor in enumerate(outputs)}
        found = ((places.get(allocation.pointer), allocation.damage()) for allocation in self.allocations)
        return [{"output": place, **damage} for place, damage in found if damage][:4]

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Torch asks this; a yes would import torch._dynamo at the first operator, which takes two seconds."""
        return False

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        name = func.overloadpacket.__name__
        if not self._launching and name in _ALLOWED_CHANGES:
            self._notice_changes()  # before the contents are remembered anew: a host's write must not hide behind this
        result = func(*args, **(kwargs or {}))
        if self._resting:
            return result
        if self._launching:
            if name not in triton_private.LAUNCH_OPERATORS and not func.is_view:
                self.evidence.inside_kernel.append(name)
            return result
        if name in _EMPTY or name in _FILLED:
            return self._guarded(result, keep=name in _FILLED)
        if name in _REFILL:
            if self._sanitizer:
                self._sanitizer.refilled(args[0])
            self._remember_contents()
        elif not func.is_view or name == "lift_fresh":  # lift_fresh: torch.tensor(...) with values from the host
            self.evidence.operators.append(name)
        return result

    def _guarded(self, like: torch.Tensor, keep: bool) -> torch.Tensor:
        """A tensor with the shape, strides and dtype of `like` between two guard zones; poisoned unless `keep`."""
        item = like.element_size()
        if item not in _WORD or like.layout is not torch.strided:
            return like
        size = 1 + sum((n - 1) * s for n, s in zip(like.shape, like.stride(), strict=True)) if like.numel() else 0
        first = GUARD_BYTES // item
        mark = POISON_MARKS[(self._mark + len(self.allocations)) % len(POISON_MARKS)]
        fill = poison(str(like.dtype).removeprefix("torch."), mark)
        words = torch.full((first + size + first,), fill, dtype=_WORD[item], device=like.device)
        tensor = words.view(like.dtype).as_strided(like.shape, like.stride(), first)
        if keep:
            tensor.copy_(like)
        self.allocations.append(Allocation(words, first, size, fill, mark))
        self.evidence.allocated += size * item
        self._known.add(words.untyped_storage().data_ptr())
        self._tensors[words.untyped_storage().data_ptr()] = tensor
        if self._sanitizer:
            self._sanitizer.allocated(tensor, written=keep)
        self._remember_contents()
        return tensor

    @contextmanager
    def _around(self, kernel: str, arguments: dict[str, object]) -> Iterator[None]:
        with self._checked(kernel, arguments):
            if self._resting or self._launching:  # a trial of an autotuner, or a launch inside a launch
                yield
                return
            with self._observed(kernel, arguments):
                yield

    @contextmanager
    def _checked(self, kernel: str, arguments: dict[str, object]) -> Iterator[None]:
        """Tell the sanitizer which tensors this launch may use, each as a whole."""
        if self._sanitizer is None:
            yield
            return
        used = ((name, tensor) for name, value in arguments.items() for tensor in triton_private.tensors_of(value))
        whole = [(name, self._tensors.get(tensor.untyped_storage().data_ptr(), tensor)) for name, tensor in used]
        before, self._sanitizer.traffic = self._sanitizer.traffic, Traffic()
        self._sanitizer.begin_launch(kernel, whole, trial=self._resting)
        try:
            yield
        finally:
            self._sanitizer.end_launch()
            launch, self._sanitizer.traffic = self._sanitizer.traffic, before
            if self._resting:
                self._tried = launch.bytes
            else:
                before.add(launch)

    def price(self, call: Callable[[], object]) -> float:
        """What an autotuner is told instead of a time: something random, or the bytes that a trial moves.

        On a GPU every trial runs, and may leave traces in what it writes to. Here some do: each costs time.
        """
        if not self._cheapest:
            if self._chooser.random() < TRIALS:
                call()
            return self._chooser.random()
        self._tried = 0
        call()
        return float(self._tried)

    def traffic_json(self, inputs: Sequence[torch.Tensor], outputs: Sequence[torch.Tensor]) -> dict[str, Any]:
        """What the kernels of the last call moved, for a frame."""
        if self._sanitizer is None:
            return Traffic().to_json({})
        roles = self.roles(inputs, outputs)
        return self._sanitizer.traffic.to_json({s: (role, t.numel() * t.element_size()) for s, (role, t) in roles.items()})

    def roles(
        self, inputs: Sequence[torch.Tensor], outputs: Sequence[torch.Tensor], rest: str = "scratch memory"
    ) -> dict[int, tuple[str, torch.Tensor]]:
        """For each address where memory of the last call begins: what it is to the caller, and as which tensor.

        rest: what to call all that the submission allocated and did not return.
        """
        named = [(rest, self._tensors.get(a.pointer, a.payload)) for a in self.allocations]
        named += [(f"output {place + 1}", tensor) for place, tensor in enumerate(outputs)]
        named += [(f"argument {place + 1}", tensor) for place, tensor in enumerate(inputs)]
        return {tensor.untyped_storage().data_ptr(): (role, tensor) for role, tensor in named}

    @contextmanager
    def _observed(self, kernel: str, arguments: dict[str, object]) -> Iterator[None]:
        self.evidence.kernels[kernel] += 1
        tensors = [tensor for argument in arguments.values() for tensor in triton_private.tensors_of(argument)]
        if any(t.numel() and t.untyped_storage().data_ptr() not in self._known for t in tensors):
            self.evidence.strangers.append(kernel)
        self._notice_changes()
        self._launching = True
        try:
            yield
        finally:
            self._launching = False
        self._remember_contents()

    @contextmanager
    def _tuning(self) -> Iterator[None]:
        """An autotuner tries a configuration: it allocates, copies and launches on its own account."""
        self._notice_changes()
        with self._rest():
            yield
        self._remember_contents()

    def _notice_changes(self) -> None:
        """Only kernels may change what the submission allocated: compare with what the last kernel left."""
        if self._resting:
            return
        with self._rest():
            self.evidence.changed_by_host |= any(
                self._digests[allocation.pointer] != allocation.digest()
                for allocation in self._digestible()
                if allocation.pointer in self._digests
            )

    def _remember_contents(self) -> None:
        with self._rest():
            self._digests = {allocation.pointer: allocation.digest() for allocation in self._digestible()}

    def _digestible(self) -> list[Allocation]:
        """All allocations if they are small enough to be read at every launch, else none."""
        total = sum(a.size * a.words.element_size() for a in self.allocations)
        limit = min((_DIGEST_LIMIT.get(a.words.device.type, 0) for a in self.allocations), default=0)
        return self.allocations if total <= limit else []

    @contextmanager
    def _rest(self) -> Iterator[None]:
        resting, self._resting = self._resting, True
        try:
            yield
        finally:
            self._resting = resting
