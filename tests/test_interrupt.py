"""Ctrl-C ends everything: no process goes on, no folder stays behind."""

import os
import signal
import subprocess
import sys
from pathlib import Path

from judging import ROOT

HANGS = "import time\n\nprint('here', flush=True)\n\n\ndef double(x):\n    time.sleep(3600)\n"


def test_interrupt_leaves_nothing_behind(toy, tmp_path):
    (toy / "exercises/01_double/kernel.py").write_text(HANGS)
    course = toy / "course.toml"
    course.write_text(course.read_text().replace("call_timeout = 3", "call_timeout = 600"))
    folder = tmp_path / "temporary"
    folder.mkdir()
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(folder)}
    command = [sys.executable, "-m", "grader", "check", "01"]
    grader = subprocess.Popen(
        command, cwd=toy, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, preexec_fn=_listen
    )
    works = _wait_for(lambda: list(folder.glob("grader-*/*/kernel.py")), grader)
    assert works
    grader.send_signal(signal.SIGINT)
    said, _ = grader.communicate(timeout=60)
    assert "Traceback" not in said
    assert list(folder.glob("grader-*")) == []
    assert [p for p in Path("/proc").glob("[0-9]*/cwd") if str(folder) in _target(p)] == []


def _listen():
    """A test that runs in the background may have been told to ignore Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _wait_for(condition, process):
    """Poll until something is there, at most as long as the process lives."""
    while process.poll() is None:
        found = condition()
        if found:
            return found
        os.sched_yield()
    return None


def _target(link):
    try:
        return os.readlink(link)
    except OSError:
        return ""
