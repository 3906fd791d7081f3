"""What does the memory sanitizer cost? Call the reference solutions on the cases of their hidden tests, with and without it.

    python docs/evidence/sanitizer_overhead.py

Both in one process, by turns, on Triton's interpreter; times are CPU seconds, each the smaller of two. Large cases are left
out.
"""

import os
import sys
import time
from pathlib import Path

os.environ["TRITON_INTERPRET"] = "1"
ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))

import numpy  # noqa: E402
import torch  # noqa: E402

from grader import course  # noqa: E402
from grader.judge.cases import record  # noqa: E402
from grader.judge.nursery import Nursery  # noqa: E402
from grader.judge.submission import Submission  # noqa: E402
from grader.runner import bfloat16, swift, triton_private  # noqa: E402
from grader.runner.load import find_functions, load  # noqa: E402
from grader.runner.observe import Observer  # noqa: E402

LARGEST = 1 << 18  # elements of a case


def seconds(call, arguments, observer):
    """CPU seconds of one call, watched or plain."""
    tensors = [argument for argument in arguments if isinstance(argument, torch.Tensor)]
    start = time.process_time()
    if observer is None:
        call(*arguments)
    else:
        with observer.watch(tensors, 9):
            call(*arguments)
    return time.process_time() - start


def measure(track, exercise, nursery):
    """CPU seconds of all cases of one exercise: plain, watched without the sanitizer, and with it."""
    path = track.solution(exercise)
    functions = find_functions(load(path), exercise.functions)
    recorders = record(Submission(path, exercise, nursery), track.hidden_tests(exercise), seed=0)
    cases = [(functions[name], case.arguments) for name, tests in recorders.items() for t in tests for case in t.recorded]
    observers = None, Observer(path, interpreting=False), Observer(path, interpreting=True)
    sums = numpy.zeros(3)
    for call, arguments in cases:
        if sum(a.numel() for a in arguments if isinstance(a, torch.Tensor)) <= LARGEST:
            own = [a.clone() if isinstance(a, torch.Tensor) else a for a in arguments]  # no two in one allocation
            turns = [[seconds(call, own, observer) for observer in observers] for _ in range(2)]
            sums += numpy.min(turns, axis=0)
    return sums


def main():
    triton_private.autotune_without_a_driver(lambda call: 1.0)
    bfloat16.mend()
    swift.speed_up()
    track, nursery, total = course.load(ROOT), Nursery("interpreter"), numpy.zeros(3)
    print(
        "| exercise | plain interpreter, s | watched, s | with the sanitizer, s | sanitizer / plain |\n|---|---|---|---|---|"
    )
    for exercise in track.exercises:
        sums = measure(track, exercise, nursery)
        total += sums
        print(f"| {exercise.id} | {sums[0]:.2f} | {sums[1]:.2f} | {sums[2]:.2f} | {sums[2] / sums[0]:.2f} |", flush=True)
    print(f"| all | {total[0]:.2f} | {total[1]:.2f} | {total[2]:.2f} | {total[2] / total[0]:.2f} |")
    nursery.close()


if __name__ == "__main__":
    with numpy.errstate(all="ignore"):
        main()
