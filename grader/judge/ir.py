"""What the compiler makes of the kernels of an exercise, stage by stage, on cases of the hidden tests. It needs no GPU."""

import json
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from grader import course
from grader.course import Course, Exercise
from grader.judge import compiling
from grader.judge.cases import record
from grader.judge.nursery import Nursery
from grader.judge.submission import CheckFailed, Submission

PREFERRED = ("float16", "float32")


def specimens(track: Course, exercise: Exercise, submission: Submission) -> dict[str, tuple[object, ...]]:
    """For each function the arguments of its first case, in half precision if there is one."""
    recorders = record(submission, track.hidden_tests(exercise), seed=0)
    found: dict[str, tuple[object, ...]] = {}
    for dtype in reversed(PREFERRED):
        for function in exercise.functions:
            cases = [case.arguments for recorder in recorders.get(function, []) for case in recorder.recorded]
            of_dtype = [arguments for arguments in cases if str(getattr(arguments[0], "dtype", "")) == f"torch.{dtype}"]
            found |= {function: of_dtype[0]} if of_dtype else {}
    return found


def main() -> None:
    """Arguments: the course, an exercise, a stage, a target, files. Prints a JSON object for each function and file."""
    root, name, stage, target, *paths = sys.argv[1:]
    track = course.load(Path(root))
    exercise = track.find(name)
    with closing(Nursery("interpreter")) as nursery:
        compilers = [Submission(Path(path), exercise, nursery, "compiler") for path in paths]
        for function, arguments in specimens(track, exercise, compilers[0]).items():
            for compiler in compilers:
                ok, text = show(compiler, function, arguments, stage, target)
                print(json.dumps({"function": function, "ok": ok, "text": text}), flush=True)
        for compiler in compilers:
            compiler.stop()


def show(compiler: Submission, function: str, arguments: Sequence[object], stage: str, target: str) -> tuple[bool, str]:
    """Whether it compiles, and the text of the stage or what the compiler said."""
    try:
        return True, compiling.ask(compiler, function, arguments, target, stage)[1]
    except CheckFailed as failure:
        return False, "\n".join(failure.lines)
