"""How often does a speed verdict change? Grade the same kernels' speed again and again, on one GPU.

    python3 docs/evidence/verdict_trials.py KIND [TIMES [EXERCISE…]] > trials.json

KIND: `solutions` (reference against itself: must meet every time), `naive` (tests/naive: must never meet), `slowed` (the
reference, delayed on the GPU by 40 % of its own time: must never meet). EXERCISE: its name; with `:2` behind it, its second
workload alone. Only the speed is judged here; values are judged by `grader check`.
"""

import importlib.util
import json
import sys
import tempfile
from collections import Counter
from contextlib import closing
from pathlib import Path

import torch

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))

from grader import course  # noqa: E402
from grader.judge import ceiling, timing  # noqa: E402
from grader.judge.nursery import Nursery  # noqa: E402
from grader.judge.submission import CheckFailed, Submission  # noqa: E402

DELAY = 0.4


def oracles(path):
    """ORACLES of a file of hidden tests."""
    spec = importlib.util.spec_from_file_location("hidden", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.ORACLES


def cycles_per_second():
    """How many clock cycles of `torch.cuda._sleep` make a second, on a GPU at work."""
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    for _ in range(3):
        start.record()
        torch.cuda._sleep(20_000_000)
        end.record()
        torch.cuda.synchronize()
    return 20_000_000 / (start.elapsed_time(end) / 1e3)


def slowed(solution, workload, reference, folder):
    """A copy of the solution that waits on the GPU after every call of the workload's function."""
    request = [timing.time_call(reference, workload, seed).seconds for seed in range(20)]
    cycles = int(DELAY * sorted(request)[10] * cycles_per_second())
    path = Path(folder) / f"{workload.function}_{len(list(Path(folder).iterdir()))}.py"
    path.write_text(
        f"{solution.read_text()}\n\nwithout_delay = {workload.function}\n\n\ndef {workload.function}(*arguments):\n"
        f"    returned = without_delay(*arguments)\n    torch.cuda._sleep({cycles})\n    return returned\n"
    )
    return path


def submissions(kind, track, exercise, workload, reference, folder):
    """The files to try on one workload."""
    if kind == "solutions":
        return [track.solution(exercise)]
    if kind == "slowed":
        return [slowed(track.solution(exercise), workload, reference, folder)]
    return sorted((ROOT / "tests" / "naive" / exercise.id).glob("*.py"))


def trials(path, exercise, workload, oracle, reference, nursery, best, times):
    """Verdicts and median ratios of `times` gradings of one file on one workload."""
    submission = Submission(path, exercise, nursery)
    verdicts, ratios = Counter(), []
    try:
        for _ in range(times):
            try:
                result = timing.measure(timing.Contest(workload, oracle, submission, reference), best)
                verdicts[str(result.verdict)] += 1
                ratios.append(round(result.ratio, 4))
            except CheckFailed as failure:
                verdicts[f"failed: {failure.kind}"] += 1
    finally:
        submission.stop()
    return {"verdicts": dict(verdicts), "lowest": min(ratios, default=None), "highest": max(ratios, default=None)}


def main(kind, times="20", *names):
    track, best = course.load(ROOT), ceiling.measure()
    with closing(Nursery("gpu")) as nursery, tempfile.TemporaryDirectory() as folder:
        for name in names or [exercise.id for exercise in track.exercises]:
            name, _, place = name.partition(":")
            exercise = track.find(name)
            reference = Submission(track.solution(exercise), exercise, nursery)
            for workload in exercise.workloads[int(place) - 1 : int(place)] if place else exercise.workloads:
                oracle = oracles(track.hidden_tests(exercise))[workload.function]
                for path in submissions(kind, track, exercise, workload, reference, folder):
                    found = trials(path, exercise, workload, oracle, reference, nursery, best, int(times))
                    file = path.name if kind == "naive" else kind
                    label = f"{workload.function} on {workload.label}"
                    print(json.dumps({"exercise": exercise.id, "workload": label, "file": file, **found}), flush=True)
            reference.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
