"""The judge: the trusted process. It reads a job from standard input and reports events, one JSON object a line.

With the name of one of its modules and that module's arguments it runs that instead: doctor, vet, bench, ir or trace.
"""

import gc
import importlib
import json
import os
import signal
import sys
from collections.abc import Mapping
from contextlib import closing
from typing import Any

from grader.judge.job import Job
from grader.judge.nursery import Nursery, decide_engine


def main() -> None:
    gc.disable()  # what torch loads stays; looking through it for garbage is a fifth of loading it
    if len(sys.argv) == 1:
        _grade()
        return
    module = importlib.import_module(f"grader.judge.{sys.argv.pop(1)}")
    _all_is_loaded()
    module.main()


def _all_is_loaded() -> None:
    gc.freeze()
    gc.enable()


def _grade() -> None:
    job = Job.from_json(json.load(sys.stdin))
    reports = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # whatever a library prints must not mix with the reports

    def emit(event: Mapping[str, Any]) -> None:
        reports.write(json.dumps(event) + "\n")

    signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C: what is open here is closed
    with closing(Nursery(decide_engine(job.engine))) as nursery:
        # Only now, so that this process loads torch while the template of the runners does the same.
        from grader.judge.session import Session

        _all_is_loaded()
        Session(job, nursery, emit).run()


if __name__ == "__main__":
    main()
