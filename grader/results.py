"""The records that travel from the judge to the reports, and their JSON form. No torch here: a list must print at once."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, Self


class Status(StrEnum):
    """What became of a check or an exercise."""

    PASSED = "passed"
    FAILED = "failed"  # the submission's fault; a `Kind` says how
    NOT_RUN = "not run"  # an earlier check failed, or this machine lacks something
    GRADER_ERROR = "grader error"  # our fault; never counted against the learner


class Kind(StrEnum):
    """How a submission failed."""

    NOT_STARTED = "not started"
    COMPILE = "compile"
    VALUES = "wrong values"
    NOT_FINITE = "not finite"
    UNWRITTEN = "unwritten"
    OUTSIDE = "outside memory"
    SHAPE = "shape or dtype"
    INPUT_CHANGED = "input changed"
    NOT_TRITON = "not a Triton solution"
    TOO_SLOW = "too slow"
    MEMORY = "too much memory"
    CRASH = "crash"
    TIMEOUT = "timeout"
    CLOCK = "impossible time"
    UNDEFINED = "undefined value"
    RACE = "race"
    TRAFFIC = "too much traffic"


class Speed(StrEnum):
    """The verdict on one workload: a ratio is judged only when its interval lies clear of the target."""

    MEETS = "meets"
    MISSES = "misses"
    UNCLEAR = "unclear"


@dataclass(frozen=True)
class ErrorMap:
    """A wrong output as rows and columns of cells: in `cells` a string for each row, with a mark for each cell.

    Marks: "." right, "#" wrong, "+" wrong in part, "o" not written, at least in part. `rows`, `columns`: which indices.
    `row_programs`, `column_programs`: who stores them; empty where nobody knows. `note`: what a cell is.
    """

    output: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: tuple[str, ...]
    row_programs: tuple[str, ...]
    column_programs: tuple[str, ...]
    note: str
    worst: str

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        lists = ("rows", "columns", "cells", "row_programs", "column_programs")
        return cls(**{**data, **{name: tuple(data[name]) for name in lists}})


@dataclass(frozen=True)
class CheckResult:
    """One question asked of one function of a submission.

    `reason` holds up to four plain-text lines: what was seen, the first bad place, one likely cause, the next step.
    `margin`: the largest error of a wrong result, in units of what is allowed; 0 where no value was judged.
    """

    function: str
    label: str
    status: Status
    kind: Kind | None = None
    reason: tuple[str, ...] = ()
    cases: int = 0
    seconds: float = 0.0
    margin: float = 0.0
    error_map: ErrorMap | None = None

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        kind = Kind(data["kind"]) if data["kind"] else None
        drawn = ErrorMap.from_json(data["error_map"]) if data.get("error_map") else None
        own = {"status": Status(data["status"]), "kind": kind, "reason": tuple(data["reason"]), "error_map": drawn}
        return cls(**{**data, **own})


@dataclass(frozen=True)
class TimingResult:
    """One workload, submission against reference solution. Times are medians in seconds; `ratio` is ours / theirs.

    `target` and `excellent` are ratios to reach; `low` and `high` bound the median ratio (99 % order-statistic interval).
    `bytes` counts each input read once and each output written once, `flops` is 0 where bytes are what matters;
    `fraction` is the time that this GPU needs for them at its best rates, divided by ours. `rounds` has four calls each.
    """

    function: str
    label: str
    verdict: Speed
    target: float
    excellent: float
    ratio: float
    low: float
    high: float
    seconds: float
    reference_seconds: float
    bytes: int
    flops: float
    fraction: float
    rounds: int
    note: str = ""

    @property
    def is_excellent(self) -> bool:
        return self.verdict is Speed.MEETS and self.high <= self.excellent

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        return cls(**{**data, "verdict": Speed(data["verdict"])})


@dataclass(frozen=True)
class TensorTraffic:
    """How often one tensor's bytes were loaded and stored; 1.0 is once each. `name`: of the kernel's parameter."""

    name: str
    role: str
    bytes: int
    loaded: float
    stored: float


@dataclass(frozen=True)
class TrafficResult:
    """What one call moved between memory and kernels, counted on the interpreter, beside the reference solution.

    `bytes` counts every load and store of every program; `flops` are those of tl.dot, `specials` the elements that went
    through exp, log, sqrt and their like.
    """

    function: str
    label: str
    target: float
    bytes: int
    reference_bytes: int
    flops: int
    specials: int
    tensors: tuple[TensorTraffic, ...]

    @property
    def ratio(self) -> float:
        return self.bytes / self.reference_bytes

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        return cls(**{**data, "tensors": tuple(TensorTraffic(**tensor) for tensor in data["tensors"])})


@dataclass(frozen=True)
class CompiledKernel:
    """What the real compiler made of one kernel, for a target that need not be here.

    `occupancy`: the share of a processor's warps that can be at work. `shared` and `stack` in bytes; what is on the stack
    did not fit into registers. `load_bytes`: the widest global load of one thread. None: no tool here can tell.
    """

    function: str
    dtype: str
    target: str
    occupancy: float | None
    kernel: str
    shared: int
    warps: int
    stages: int
    load_bytes: int
    tensor_cores: str
    registers: int | None
    stack: int | None


@dataclass(frozen=True)
class Diagnosis:
    """Wrong results of one function equal, to rounding, what known mistakes give, in each of `cases` cases.

    `names` of the mistakes and `texts`, what is behind each. joint: two made at once, of which only one is named if several
    could be the other; otherwise any one of them, which cannot be told apart by their results. `hint`: the level of the
    hint that helps.
    """

    function: str
    names: tuple[str, ...]
    texts: tuple[str, ...]
    joint: bool
    hint: int
    cases: int

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        return cls(**{**data, "names": tuple(data["names"]), "texts": tuple(data["texts"])})


@dataclass(frozen=True)
class ExerciseResult:
    """Everything that one grading of one submission found out.

    `sha256` is the hash of the graded file, so that a result can be shown as stale once the file changes. `unchecked`: what
    could not be looked at with this version of Triton.
    """

    exercise: str
    submission: str
    sha256: str
    engine: str
    device: str
    seed: int
    checks: tuple[CheckResult, ...]
    timings: tuple[TimingResult, ...] = ()
    versions: tuple[tuple[str, str], ...] = ()
    sandbox: tuple[str, ...] = ()
    output: str = ""
    started: str = ""
    seconds: float = 0.0
    compiled: tuple[CompiledKernel, ...] = ()
    traffic: tuple[TrafficResult, ...] = ()
    diagnoses: tuple[Diagnosis, ...] = ()
    unchecked: tuple[str, ...] = ()

    @property
    def status(self) -> Status:
        """The exercise's verdict: the worst of its checks, where a check that this machine cannot run does not count."""
        found = {check.status for check in self.checks}
        for status in (Status.GRADER_ERROR, Status.FAILED, Status.PASSED):
            if status in found:
                return status
        return Status.NOT_RUN

    @property
    def kind(self) -> Kind | None:
        """The kind of the first failure, which is what the learner should look at."""
        return next((check.kind for check in self.checks if check.status is Status.FAILED), None)

    @property
    def passed_checks(self) -> int:
        return sum(check.status is Status.PASSED for check in self.checks)

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "status": self.status, "kind": self.kind}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Rebuild a record; raises KeyError, TypeError or ValueError when `data` is not one."""
        own = {name: data[name] for name in cls.__dataclass_fields__}
        return cls(
            **{
                **own,
                "checks": tuple(CheckResult.from_json(check) for check in data["checks"]),
                "timings": tuple(TimingResult.from_json(timing) for timing in data["timings"]),
                "compiled": tuple(CompiledKernel(**kernel) for kernel in data["compiled"]),
                "traffic": tuple(TrafficResult.from_json(traffic) for traffic in data["traffic"]),
                "diagnoses": tuple(Diagnosis.from_json(diagnosis) for diagnosis in data["diagnoses"]),
                "versions": tuple((name, version) for name, version in data["versions"]),
                "sandbox": tuple(data["sandbox"]),
                "unchecked": tuple(data["unchecked"]),
            }
        )


@dataclass(frozen=True)
class Cell:
    """A rectangle of a tensor. `programs` touched it: "3", "0,1", "0,*" (all along axis 1), "all", "5 programs", or "".

    `least` and `most`: how often its elements were touched.
    """

    programs: str
    least: int
    most: int


@dataclass(frozen=True)
class Tiles:
    """A tensor as rows and columns of cells. `rows` and `columns` say which indices; `merged`: tiles in a cell, at most."""

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: tuple[tuple[Cell, ...], ...]
    merged: int = 1

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        cells = tuple(tuple(Cell(**cell) for cell in row) for row in data["cells"])
        return cls(tuple(data["rows"]), tuple(data["columns"]), cells, data["merged"])


@dataclass(frozen=True)
class TouchedTensor:
    """A tensor that kernels have used. `loaded`, `stored`: bytes moved; `loads`, `stores`: by whom, None for by nobody.

    `name`: of the kernel's parameter. `role`: "argument 1", "output 1", "scratch memory".
    """

    name: str
    role: str
    dtype: str
    shape: tuple[int, ...]
    bytes: int
    loaded: int
    stored: int
    loads: Tiles | None
    stores: Tiles | None

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        tiles = {key: Tiles.from_json(data[key]) if data[key] else None for key in ("loads", "stores")}
        return cls(**{**data, **tiles, "shape": tuple(data["shape"])})


@dataclass(frozen=True)
class TracedLaunch:
    """One launch of a kernel on a grid of programs, and what it touched."""

    kernel: str
    grid: tuple[int, int, int]
    tensors: tuple[TouchedTensor, ...]

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        x, y, z = data["grid"]
        return cls(data["kernel"], (x, y, z), tuple(TouchedTensor.from_json(tensor) for tensor in data["tensors"]))


@dataclass(frozen=True)
class Trace:
    """Who touched what in one call of a function on the interpreter. `totals`: each tensor over all launches, by no program.

    `problem`: lines that say what was wrong, as for a failed check; `ended`: whether the call ended by itself; `complete`:
    whether nothing was left out for its size.
    """

    function: str
    label: str
    launches: tuple[TracedLaunch, ...] = ()
    totals: tuple[TouchedTensor, ...] = ()
    problem: tuple[str, ...] = ()
    ended: bool = True
    complete: bool = True

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        launches = tuple(TracedLaunch.from_json(launch) for launch in data["launches"])
        totals = tuple(TouchedTensor.from_json(tensor) for tensor in data["totals"])
        return cls(**{**data, "launches": launches, "totals": totals, "problem": tuple(data["problem"])})


@dataclass(frozen=True)
class Contender:
    """One of those that `grader bench` has timed: median seconds of `calls` calls and a 99 % interval of that median.

    `note` says why there are none, or what is wrong with its result.
    """

    name: str
    seconds: float | None = None
    low: float | None = None
    high: float | None = None
    calls: int = 0
    note: str = ""


@dataclass(frozen=True)
class BenchResult:
    """One workload, timed for all contenders in one run. `floor`: seconds at the best rates of this GPU."""

    exercise: str
    function: str
    label: str
    bytes: int
    flops: float
    floor: float
    contenders: tuple[Contender, ...]

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        return cls(**{**data, "contenders": tuple(Contender(**contender) for contender in data["contenders"])})


@dataclass(frozen=True)
class Machine:
    """Where a bench ran. `copy_rate` in bytes per second, `product_rate` in operations per second."""

    device: str
    versions: tuple[tuple[str, str], ...]
    copy_rate: float
    product_rate: float
    started: str

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        return cls(**{**data, "versions": tuple((name, version) for name, version in data["versions"])})
