"""`grader trace`: one small call of each function on the interpreter, and which program touched what, as grids of tiles."""

import json
import math
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import asdict
from pathlib import Path

import numpy
import torch

from grader import course
from grader.course import Workload
from grader.judge.answer import Answer, RecordedLaunch, RecordedTensor
from grader.judge.grade import unjudged
from grader.judge.nursery import Nursery
from grader.judge.plugin import same_code
from grader.judge.submission import CheckFailed, Submission
from grader.judge.tiles import Array, Pair, picture, recorded, times_picture
from grader.results import Tiles, TouchedTensor, Trace, TracedLaunch

MAX_OUTPUT = 16 << 20  # bytes of one call's outputs
SEED = 1  # a picture that is drawn again is the same one
BLIND = "not checked: the interpreter of this version of Triton does not let itself be watched"
NOT_STARTED = "nothing was written yet: this is still the stub, and there are no tiles to show"


def trace(submission: Submission, workload: Workload, stub: str) -> Trace:
    """One call on random inputs. stub: the text of the file as it was handed out."""
    if same_code(submission.text, stub):
        return Trace(workload.function, workload.label, problem=(NOT_STARTED,), ended=False)
    torch.manual_seed(SEED)
    grade, arguments = unjudged(submission, workload)
    try:
        answer, tensors = grade.traced(*arguments, limit=MAX_OUTPUT)
        launches = list(recorded(answer, tensors)) if _touches_anything(answer) else []
    except CheckFailed as failure:
        return Trace(workload.function, workload.label, problem=failure.lines, ended=False)
    if submission.introduction and submission.introduction.unchecked:
        return Trace(workload.function, workload.label, problem=(BLIND,), ended=False)
    return Trace(
        workload.function, workload.label, tuple(_drawn(*launch) for launch in launches), tuple(_totals(launches)),
        tuple(_problem(answer, submission)), answer.stopped is None, answer.record.complete,
    )  # fmt: skip


def _touches_anything(answer: Answer) -> bool:
    return any(tensor.loaded or tensor.stored for launch in answer.record.launches for tensor in launch.tensors)


def _drawn(launch: RecordedLaunch, pairs: Sequence[Pair]) -> TracedLaunch:
    tensors = []
    for tensor, (loads, stores) in zip(launch.tensors, pairs, strict=True):
        tiles = [picture(touch, tensor.shape) if touch else None for touch in (loads, stores)]
        tensors.append(_touched(tensor, [t.times if t else None for t in (loads, stores)], tiles))
    return TracedLaunch(launch.kernel, launch.grid, tuple(tensors))


def _totals(launches: Sequence[tuple[RecordedLaunch, Sequence[Pair]]]) -> Iterator[TouchedTensor]:
    """Each tensor over all launches: how often its elements were touched in all."""
    same: dict[tuple[int, tuple[int, ...]], list[tuple[RecordedTensor, Pair]]] = defaultdict(list)
    for launch, pairs in launches:
        for tensor, pair in zip(launch.tensors, pairs, strict=True):
            same[tensor.memory, tensor.shape].append((tensor, pair))
    for found in same.values():
        first, directions = found[0][0], zip(*(pair for _, pair in found), strict=True)
        times = [_sum([touch.times for touch in touched if touch]) for touched in directions]
        yield _touched(first, times, [times_picture(t, first.shape) if t is not None else None for t in times])


def _sum(times: Sequence[Array]) -> Array | None:
    return sum(times[1:], start=times[0]) if times else None


def _touched(tensor: RecordedTensor, times: Sequence[Array | None], tiles: Sequence[Tiles | None]) -> TouchedTensor:
    """times, tiles: of the loads and of the stores."""
    item = tensor.dtype.itemsize
    loaded, stored = (0 if t is None else int(t.sum(dtype=numpy.int64)) * item for t in times)
    dtype, size = str(tensor.dtype).removeprefix("torch."), math.prod(tensor.shape) * item
    return TouchedTensor(tensor.name, tensor.role, dtype, tensor.shape, size, loaded, stored, *tiles)


def _problem(answer: Answer, submission: Submission) -> Iterator[str]:
    """What stopped the call, or else what no right kernel does."""
    if answer.stopped:
        yield from (submission.hide_paths(line) for line in answer.stopped.lines)
    else:
        yield from (line for finding in answer.evidence.findings for line in finding.lines)


def main() -> None:
    """Arguments: the course, an exercise, a file, functions. Prints a JSON object for each function."""
    root, name, path, *functions = sys.argv[1:]
    track = course.load(Path(root))
    exercise = track.find(name)
    stub = track.stub_text(exercise)
    with closing(Nursery("interpreter")) as nursery:
        submission = Submission(Path(path), exercise, nursery)
        for workload in exercise.trace:
            if workload.function in functions:
                print(json.dumps(asdict(trace(submission, workload, stub))), flush=True)
        submission.stop()
