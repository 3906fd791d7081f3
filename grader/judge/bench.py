"""Time everyone who computes the same, side by side in one run: the reference solution, the learner, PyTorch, libraries.

Each file runs in a runner of its own and is timed as a submission is: fresh inputs, a cold cache, the GPU's own clock. The
contenders take turns in an order that is reversed every time, so that all meet the same clocks and temperatures.
"""

import ast
import json
import secrets
import statistics
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

import torch
import triton

from grader import __version__, course
from grader.course import Course, Exercise, Workload
from grader.judge import ceiling
from grader.judge.ceiling import Ceiling
from grader.judge.nursery import Nursery, decide_engine
from grader.judge.submission import CheckFailed, Submission
from grader.judge.timing import input_bytes, show, time_call
from grader.judge.verdict import interval
from grader.results import BenchResult, Contender, Machine

WARM_UPS = 5
TURNS = 15  # there and back: each contender is called twice as often
FIRST_TIMEOUT = 600.0  # seconds; torch.compile tries out kernels
AGREEMENT = 0.02  # of the largest value: farther apart, two results are not the same thing computed in half precision


@dataclass
class Rival:
    """One function in one file, and what its calls took. `note`: why it has left the race, or should have."""

    name: str
    file: Submission
    function: str
    seconds: list[float] = field(default_factory=list)
    note: str = ""
    out: bool = False

    def call(self, workload: Workload, timeout: float = FIRST_TIMEOUT) -> float:
        """Seconds of one call; 0 and a note if it cannot."""
        try:
            return time_call(self.file, workload, secrets.randbits(62), self.function, timeout).seconds
        except CheckFailed as failure:
            *_, what = failure.lines[:2]  # a place in the file comes first, if there is one
            self.out, self.note = True, f"not timed: {what}"
            return 0.0

    def summary(self) -> Contender:
        if self.out:
            return Contender(self.name, note=self.note)
        low, high = interval(self.seconds)
        return Contender(self.name, statistics.median(self.seconds), low, high, len(self.seconds), self.note)


def bench(track: Course, exercise: Exercise, nursery: Nursery, best: Ceiling) -> Iterator[BenchResult]:
    """Every workload of one exercise."""
    files = _files(track, exercise, nursery)
    try:
        for workload in (*exercise.workloads, *exercise.bench):
            yield _race(exercise, workload, _rivals(workload, files), best)
    finally:
        for file in files.values():
            file.stop()


def _files(track: Course, exercise: Exercise, nursery: Nursery) -> dict[str, Submission]:
    """The files with contenders, by the name of the contender; "" stands for the peers."""
    paths = {"reference": track.solution(exercise), "fast": track.fast(exercise), "yours": track.submission(exercise)}
    texts = [path.read_bytes() for path in (track.stub(exercise), track.solution(exercise)) if path.is_file()]
    if paths["yours"].is_file() and paths["yours"].read_bytes() in texts:
        del paths["yours"]
    files = {name: Submission(path, exercise, nursery) for name, path in paths.items() if path.is_file()}
    if track.peers(exercise).is_file():
        peers = replace(exercise, functions=_names(track.peers(exercise), exercise.functions))
        files[""] = Submission(track.peers(exercise), peers, nursery)
    return files


def _names(path: Path, functions: Sequence[str]) -> tuple[str, ...]:
    """The names at the top of a file of peers that begin with the name of a function: `layernorm_eager`."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    defined = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    targets = [target for node in tree.body if isinstance(node, ast.Assign) for target in node.targets]
    assigned = [target.id for target in targets if isinstance(target, ast.Name)]
    return tuple(name for name in (*defined, *assigned) if any(name.startswith(f"{f}_") for f in functions))


def _rivals(workload: Workload, files: Mapping[str, Submission]) -> list[Rival]:
    own = [Rival(name, file, workload.function) for name, file in files.items() if name]
    peers = files[""].exercise.functions if "" in files else ()
    prefix = f"{workload.function}_"
    return own + [Rival(name.removeprefix(prefix), files[""], name) for name in peers if name.startswith(prefix)]


def _race(exercise: Exercise, workload: Workload, rivals: Sequence[Rival], best: Ceiling) -> BenchResult:
    n_bytes = input_bytes(workload) + _warm_up(workload, rivals)
    for turn in range(2 * TURNS):
        for rival in rivals[:: 1 if turn % 2 else -1]:
            if not rival.out:
                rival.seconds.append(rival.call(workload))
    floor = best.floor(n_bytes, workload.flops)
    contenders = tuple(rival.summary() for rival in rivals)
    return BenchResult(exercise.id, workload.function, workload.label, n_bytes, workload.flops, floor, contenders)


def _warm_up(workload: Workload, rivals: Sequence[Rival]) -> int:
    """Call everyone some times, and see whether all compute the same; the bytes of the reference's outputs."""
    n_bytes, right = 0, None
    seed = secrets.randbits(62)
    for rival in rivals:
        for _ in range(WARM_UPS):
            if not rival.out:
                rival.call(workload)
        with suppress(CheckFailed):
            time_call(rival.file, workload, seed, rival.function)
            shown_bytes, outputs = show(rival.file, 0.5)
            n_bytes, right = (n_bytes, right) if right else (shown_bytes, outputs)
            if not _agree(outputs, right):
                rival.note = "its result differs from the reference solution's"
    return n_bytes


def _agree(outputs: Sequence[torch.Tensor], right: Sequence[torch.Tensor]) -> bool:
    """Whether two results are the same but for rounding, and no more than that: judging is not done here."""
    if [o.shape for o in outputs] != [r.shape for r in right]:
        return False
    pairs = [(o.double(), r.double()) for o, r in zip(outputs, right, strict=True)]
    return all(bool((o - r).abs().max() <= AGREEMENT * r.abs().max()) for o, r in pairs)


def _machine(best: Ceiling) -> Machine:
    versions = {"grader": __version__, "torch": torch.__version__, "triton": triton.__version__}
    cuda = {"CUDA": torch.version.cuda} if torch.version.cuda else {}
    now = datetime.now(UTC).isoformat(timespec="seconds")
    rates = best.bytes_per_second, best.flops_per_second
    return Machine(torch.cuda.get_device_name(), tuple({**versions, **cuda}.items()), *rates, now)


def main() -> None:
    """Print the machine and every result as one JSON object a line."""
    track = course.load(Path(sys.argv[1]))
    if decide_engine("auto") != "gpu":
        sys.exit("there is no GPU here, and `grader bench` measures time on one")
    best = ceiling.measure()
    print(json.dumps(asdict(_machine(best))), flush=True)
    with closing(Nursery("gpu")) as nursery:
        for name in sys.argv[2:]:
            for result in bench(track, track.find(name), nursery, best):
                print(json.dumps(asdict(result)), flush=True)
