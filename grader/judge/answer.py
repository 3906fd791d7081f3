"""A runner's answers, read with distrust: whatever does not have the right form raises BadFrame, never anything else."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import torch

from grader import errors
from grader.channel import BadFrame
from grader.results import Kind

DTYPES = {str(dtype).removeprefix("torch."): dtype for dtype in vars(torch).values() if isinstance(dtype, torch.dtype)}


@dataclass(frozen=True)
class Output:
    """One returned value. dtype is None for everything but a plain tensor; origin: "own", "input" or "unknown" memory.

    mark: what the poison carries that filled its memory; 0 for none.
    """

    type: str
    dtype: torch.dtype | None = None
    shape: tuple[int, ...] = ()
    origin: str = "own"
    mark: int = 0

    @property
    def bytes(self) -> int:
        return torch.Size(self.shape).numel() * self.dtype.itemsize if self.dtype else 0

    @classmethod
    def parse(cls, data: Mapping[str, Any]) -> Self:
        if data["type"] != "Tensor":
            return cls(str(data["type"])[:80])
        shape = tuple(int(size) for size in data["shape"])
        if any(size < 0 for size in shape):
            raise ValueError
        return cls("Tensor", DTYPES[data["dtype"]], shape, str(data["origin"]), int(data["mark"]))


@dataclass(frozen=True)
class Finding:
    """An access of a kernel that no right kernel makes; see grader/runner/sanitizer.py."""

    kind: Kind
    text: str
    kernel: str
    program: tuple[int, ...]
    line: int

    @classmethod
    def parse(cls, data: Mapping[str, Any]) -> Self:
        program = tuple(int(place) for place in data["program"])
        return cls(Kind(data["kind"]), str(data["text"]), str(data["kernel"]), program, int(data["line"]))

    @property
    def lines(self) -> tuple[str, ...]:
        return f"{self.kernel} {self.text}", f"kernel.py, line {self.line}, in program {self.program}"


@dataclass(frozen=True)
class Evidence:
    """What the observers saw during one call; see grader/runner/observe.py."""

    operators: tuple[str, ...]
    inside_kernel: tuple[str, ...]
    kernels: tuple[str, ...]
    strangers: tuple[str, ...]
    changed_by_host: bool
    allocated: int
    findings: tuple[Finding, ...]
    omitted: tuple[int, ...]  # lines with a masked load that did not say what the masked elements are
    tiles: tuple[tuple[int, ...], ...]  # shapes of what kernels loaded at once
    backwards: bool  # whether programs loaded from the end of tensors to their start

    @classmethod
    def parse(cls, data: Mapping[str, Any]) -> Self:
        names = {
            key: tuple(str(name) for name in data[key]) for key in ("operators", "inside_kernel", "kernels", "strangers")
        }
        return cls(
            **names,
            changed_by_host=bool(data["changed_by_host"]),
            allocated=int(data["allocated"]),
            findings=tuple(Finding.parse(finding) for finding in data["findings"]),
            omitted=tuple(int(line) for line in data["omitted"]),
            tiles=tuple(tuple(int(length) for length in shape) for shape in data["tiles"]),
            backwards=bool(data["backwards"]),
        )


@dataclass(frozen=True)
class Damage:
    """A guard zone that was overwritten: of output number `output`, or of scratch memory. Counts are in elements."""

    output: int | None
    count: int
    nearest: int  # how far outside the nearest is; negative: before the start

    @classmethod
    def parse(cls, data: Mapping[str, Any]) -> Self:
        return cls(None if data["output"] is None else int(data["output"]), int(data["count"]), int(data["nearest"]))


@dataclass(frozen=True)
class Failure:
    """An exception of the submission: its kind, and the lines that say where, what, and what that means if it is known."""

    kind: Kind
    lines: tuple[str, ...]

    @classmethod
    def parse(cls, data: Mapping[str, Any]) -> Self:
        place = f"kernel.py, line {int(data['line'])}: {data['source']}" if data["line"] else ""
        name, message = str(data["exception"]), str(data["message"])
        error = f"{name}: {message}" if message else name
        what = message if name in ("Unloadable", "OutsideMemory") else error
        meaning = errors.explain(error, str(data["raised"]))
        kind = meaning.kind if meaning and meaning.kind else Kind(data["kind"])
        return cls(kind, tuple(line for line in (place, what, *(meaning.lines if meaning else ())) if line))


@dataclass(frozen=True)
class Moved:
    """Bytes that kernels loaded from and stored to one tensor of `bytes` bytes; `role`: "argument 1", "scratch memory"."""

    name: str
    role: str
    bytes: int
    loaded: int
    stored: int

    @classmethod
    def parse(cls, data: Mapping[str, Any]) -> Self:
        return cls(str(data["name"]), str(data["role"]), int(data["bytes"]), int(data["loaded"]), int(data["stored"]))


@dataclass(frozen=True)
class Traffic:
    """What the kernels of a call moved and computed; see grader/runner/traffic.py."""

    tensors: tuple[Moved, ...]
    flops: int
    specials: int

    @classmethod
    def parse(cls, data: Mapping[str, Any]) -> Self:
        return cls(tuple(Moved.parse(moved) for moved in data["tensors"]), int(data["flops"]), int(data["specials"]))

    @property
    def bytes(self) -> int:
        return sum(moved.loaded + moved.stored for moved in self.tensors)


MAX_TRACED = 64 << 20  # bytes of the arrays of a record
MAX_PROGRAMS = MAX_SETS = 4096  # of a launch in a record
MAX_ELEMENTS = 1 << 21  # of a tensor in a record


@dataclass(frozen=True)
class RecordedTensor:
    """One tensor of a launch: `loaded` and `stored` tell which arrays come with it. Equal `memory`: the same tensor."""

    memory: int
    name: str
    role: str
    dtype: torch.dtype
    shape: tuple[int, ...]
    loaded: bool
    stored: bool

    @classmethod
    def parse(cls, data: Mapping[str, Any]) -> Self:
        shape = tuple(int(size) for size in data["shape"])
        if any(size < 1 for size in shape) or len(shape) > 8 or math.prod(shape) > MAX_ELEMENTS:
            raise ValueError
        name, role = (str(data[key])[:60] for key in ("name", "role"))
        touched = bool(data["loaded"]), bool(data["stored"])
        return cls(int(data["memory"]), name, role, DTYPES[data["dtype"]], shape, *touched)


@dataclass(frozen=True)
class RecordedLaunch:
    """One launch of a kernel; see Recorder.to_json in grader/runner/tracing.py."""

    kernel: str
    grid: tuple[int, int, int]
    sets: int
    tensors: tuple[RecordedTensor, ...]

    @classmethod
    def parse(cls, data: Mapping[str, Any]) -> Self:
        x, y, z = (int(size) for size in data["grid"])
        sets = int(data["sets"])
        if min(x, y, z) < 0 or x * y * z > MAX_PROGRAMS or not 1 <= sets <= MAX_SETS:
            raise ValueError
        tensors = tuple(RecordedTensor.parse(tensor) for tensor in data["tensors"])
        return cls(str(data["kernel"])[:80], (x, y, z), sets, tensors)

    @property
    def arrays(self) -> tuple[Output, ...]:
        """The arrays that come with it, in their order."""
        width = max(1, -(-self.grid[0] * self.grid[1] * self.grid[2] // 8))
        touched = [t for t in self.tensors for direction in (t.loaded, t.stored) if direction]
        own = (Output("Tensor", torch.int32, (3, math.prod(t.shape))) for t in touched)
        return Output("Tensor", torch.uint8, (self.sets, width)), *own


@dataclass(frozen=True)
class Record:
    """Who touched what in one call. complete: whether nothing was left out for its size."""

    launches: tuple[RecordedLaunch, ...] = ()
    complete: bool = True

    @classmethod
    def parse(cls, data: Mapping[str, Any]) -> Self:
        record = cls(tuple(RecordedLaunch.parse(launch) for launch in data["launches"]), bool(data["complete"]))
        if sum(array.bytes for launch in record.launches for array in launch.arrays) > MAX_TRACED:
            raise ValueError
        return record


NO_TRAFFIC = {"tensors": [], "flops": 0, "specials": 0}
NO_RECORD: dict[str, Any] = {"launches": [], "complete": True}


@dataclass(frozen=True)
class Answer:
    """What came of a call. `size`: bytes of the outputs in shared memory; 0 if none were sent.

    `record`, `stopped`: of a traced call alone, who touched what, and the exception that ended it early.
    """

    outputs: tuple[Output, ...]
    evidence: Evidence
    damages: tuple[Damage, ...]
    size: int
    traffic: Traffic
    record: Record = Record()
    stopped: Failure | None = None


def parse_failure(frame: Mapping[str, Any]) -> Failure | None:
    """The exception that a frame reports, if it does."""
    with _distrust():
        return Failure.parse(frame["error"]) if "error" in frame else None


def parse_answer(frame: Mapping[str, Any]) -> Answer:
    with _distrust():
        return Answer(
            parse_outputs(frame),
            Evidence.parse(frame["evidence"]),
            tuple(Damage.parse(damage) for damage in frame.get("damages", ())),
            int(frame.get("size", 0)),
            Traffic.parse(frame.get("traffic", NO_TRAFFIC)),
            Record.parse(frame.get("trace", NO_RECORD)),
            Failure.parse(frame["stopped"]) if "stopped" in frame else None,
        )


def parse_outputs(frame: Mapping[str, Any]) -> tuple[Output, ...]:
    with _distrust():
        return tuple(Output.parse(output) for output in frame["outputs"])


@dataclass(frozen=True)
class CompiledCall:
    """What came of a call through torch.compile: outputs, their bytes, and the rest as in grader/runner/compiled.py."""

    outputs: tuple[Output, ...]
    size: int
    graph: tuple[str, ...]
    kernels: tuple[str, ...]
    promised: tuple[str, ...]


def parse_compiled(frame: Mapping[str, Any]) -> CompiledCall:
    with _distrust():
        seen = {key: tuple(str(name) for name in frame[key]) for key in ("graph", "kernels", "promised")}
        return CompiledCall(parse_outputs(frame), int(frame["size"]), **seen)


_OF_A_KERNEL = {"kernel": str, "shared": int, "warps": int, "stages": int, "load_bytes": int, "tensor_cores": str}


def parse_kernels(frame: Mapping[str, Any]) -> tuple[list[dict[str, Any]], int]:
    """What was compiled, kernel by kernel, and the bytes of the text that comes with it."""
    with _distrust():
        return [_kernel(data) for data in frame["kernels"]], max(0, int(frame.get("size", 0)))


def _kernel(data: Mapping[str, Any]) -> dict[str, Any]:
    known = {name: kind(data[name]) for name, kind in _OF_A_KERNEL.items()}
    if known["warps"] < 1:
        raise ValueError
    return known | {name: None if data[name] is None else int(data[name]) for name in ("registers", "stack")}


def parse_seconds(frame: Mapping[str, Any]) -> float:
    """The time of a call, positive and finite."""
    with _distrust():
        seconds = float(frame["seconds"])
    if not 0 < seconds < 1e6:
        raise BadFrame("the time is no time")
    return seconds


class _distrust:
    """Turn every way in which data of the wrong form can fail into BadFrame."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if isinstance(error, KeyError | TypeError | ValueError | AttributeError | OverflowError):
            raise BadFrame("an answer has the wrong form") from error
