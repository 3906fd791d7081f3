"""The judge: the trusted process. It reads a job from standard input and reports events, one JSON object a line."""

import gc
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
    job = Job.from_json(json.load(sys.stdin))
    reports = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # whatever a library prints must not mix with the reports

    def emit(event: Mapping[str, Any]) -> None:
        reports.write(json.dumps(event) + "\n")

    signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C: what is open here is closed
    gc.disable()  # what torch loads stays; looking through it for garbage is a fifth of loading it
    with closing(Nursery(decide_engine(job.engine))) as nursery:
        # Only now, so that this process loads torch while the template of the runners does the same.
        from grader.judge.session import Session

        gc.freeze()
        gc.enable()
        Session(job, nursery, emit).run()


if __name__ == "__main__":
    main()
