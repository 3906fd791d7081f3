"""What the compiler makes of the kernels of an exercise, stage by stage, on cases of the hidden tests. It needs no GPU."""

import json
import sys
from contextlib import closing
from pathlib import Path

from grader import course
from grader.course import Course, Exercise
from grader.judge import compiling
from grader.judge.nursery import Nursery
from grader.judge.submission import CheckFailed, Submission
from grader.judge.vet import Recording

PREFERRED = ("float16", "float32")


def specimens(track: Course, exercise: Exercise, submission: Submission) -> dict[str, tuple[object, ...]]:
    """For each function the arguments of its first case, in half precision if there is one."""
    recording = Recording(submission)
    recording.run(track.hidden_tests(exercise))
    found: dict[str, tuple[object, ...]] = {}
    for dtype in reversed(PREFERRED):
        for function in exercise.functions:
            cases = [case.arguments for recorder in recording.cases.get(function, []) for case in recorder.recorded]
            of_dtype = [arguments for arguments in cases if str(getattr(arguments[0], "dtype", "")) == f"torch.{dtype}"]
            found |= {function: of_dtype[0]} if of_dtype else {}
    return found


def main() -> None:
    """Arguments: the course, an exercise, a file, a stage, a target. Prints a JSON object for each function."""
    root, name, path, stage, target = sys.argv[1:]
    track = course.load(Path(root))
    exercise = track.find(name)
    with closing(Nursery("interpreter")) as nursery:
        compiler = Submission(Path(path), exercise, nursery, "compiler")
        for function, arguments in specimens(track, exercise, compiler).items():
            try:
                _, text = compiling.ask(compiler, function, arguments, target, stage)
                print(json.dumps({"function": function, "ok": True, "text": text}), flush=True)
            except CheckFailed as failure:
                print(json.dumps({"function": function, "ok": False, "text": "\n".join(failure.lines)}), flush=True)
        compiler.stop()


if __name__ == "__main__":
    main()
