"""The judge's child processes: a template that has torch and Triton loaded, and a fork of it for each submission.

Loading torch costs two seconds, a fork some milliseconds. The template knows nothing of any submission; each fork locks
itself in before it reads one. Orphans become children of the judge, so that nothing escapes a kill.
"""

import ctypes
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Any

from grader.channel import BadFrame, Channel, ChannelClosed, Silence

RUNNER = Path(__file__).resolve().parent.parent / "runner" / "__main__.py"
ROOT = RUNNER.parent.parent.parent
START_TIMEOUT = 120.0  # seconds to import torch and Triton, on a slow disk too
_PR_SET_CHILD_SUBREAPER = 36
_KEPT_VARIABLES = [
    "PATH",
    "LANG",
    "LC_ALL",
    "LD_LIBRARY_PATH",
    "CC",
    "CXX",
    "CUDA_HOME",
    "CUDA_VISIBLE_DEVICES",
    "HIP_VISIBLE_DEVICES",
]


class RunnerUnavailable(Exception):
    """A runner could not start at all: the machine's or the grader's fault, not the submission's."""


class Child:
    """A process that the judge is the parent of."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.exit_code: int | None = None
        self._handle = os.pidfd_open(pid)

    def wait(self, timeout: float | None) -> int | None:
        """The exit code once it has ended (-9 for signal 9); None if it has not within `timeout` seconds."""
        if self.exit_code is None and select.select([self._handle], [], [], timeout)[0]:
            _, status = os.waitpid(self.pid, 0)
            self.exit_code = os.waitstatus_to_exitcode(status)
            os.close(self._handle)
        return self.exit_code


class Nursery:
    """Forks runners for one engine, "interpreter" or "gpu", and ends them with everything they started."""

    def __init__(self, engine: str, beside: "Nursery | None" = None) -> None:
        """beside: another nursery of this process, which must not take the other's children for strays."""
        self.engine = engine
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        self._folder = tempfile.TemporaryDirectory(prefix="grader-")
        self._words = tempfile.TemporaryFile()  # noqa: SIM115  (lives as long as the template)
        self._channel, theirs = Channel.pair()
        self._all: list[Nursery] = beside._all if beside else []
        # Several threads may want runners at the same time.
        self._lock: AbstractContextManager[Any] = beside._lock if beside else threading.RLock()
        self._runners: dict[int, Child] = {}
        with self._lock:
            self._template = _start_template(theirs, engine, self._words.fileno())
            self._all.append(self)
        theirs.close()
        self._channel.send({"import_path": _packages(), "engine": engine})

    def fork(self, work: Path, functions: Sequence[str], engine: str) -> tuple[Child, Channel, int]:
        """A new runner that will load `work`/kernel.py: the process, the channel to it, and what it prints.

        engine: this nursery's, or "compiler" for a runner that compiles kernels and runs none. Raises RunnerUnavailable.
        """
        channel, theirs = Channel.pair()
        output, printed = os.pipe()
        request = {
            "work": str(work),
            "functions": list(functions),
            "engine": engine,
            "max_memory": _memory_limit(self.engine),
        }
        try:
            child = self._born(request, theirs.fileno(), printed)
        except (ChannelClosed, Silence, BadFrame) as error:
            raise RunnerUnavailable(f"No runner could be started: {self._last_words() or repr(error)}") from error
        finally:
            theirs.close()
            os.close(printed)
        return child, channel, output

    def _born(self, request: Mapping[str, Any], *descriptors: int) -> Child:
        """Known before anybody else can ask who is a stray."""
        with self._lock:
            self._channel.send(request, *descriptors)
            frame, _ = self._channel.receive(START_TIMEOUT)
            child = self._runners[frame["pid"]] = Child(frame["pid"])
            return child

    def end(self, child: Child) -> None:
        """Kill a runner, all its descendants, and whatever a runner that is gone has left behind."""
        with self._lock:
            self._end(child)

    def _end(self, child: Child) -> None:
        _kill([child.pid, *_descendants(child.pid)] if child.exit_code is None else [])
        child.wait(None)
        self._runners.pop(child.pid, None)
        ours = {pid for nursery in self._all for pid in (nursery._template.pid, *nursery._runners)}
        while strays := [pid for pid in _children(os.getpid()) if pid not in ours]:
            _kill([*strays, *(pid for stray in strays for pid in _descendants(stray))])
            for pid in strays:
                with suppress(ChildProcessError):
                    os.waitpid(pid, 0)

    def close(self) -> None:
        """End everything."""
        for child in list(self._runners.values()):
            self.end(child)
        with self._lock:
            self._template.kill()
            self._template.wait()
            self._all.remove(self)
        self._channel.close()
        self._words.close()
        self._folder.cleanup()

    def new_folder(self) -> Path:
        """An empty work folder for one runner."""
        return Path(tempfile.mkdtemp(dir=self._folder.name))

    def _last_words(self) -> str:
        self._words.seek(0)
        lines = self._words.read().decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else ""


def decide_engine(wanted: str) -> str:
    """ "gpu" or "interpreter". Asks torch only where a device file makes a GPU likely, since that costs seconds."""
    if wanted != "auto":
        return wanted
    if not any(path for pattern in ("nvidia[0-9]*", "kfd", "dxg") for path in Path("/dev").glob(pattern)):
        return "interpreter"
    import torch

    return "gpu" if torch.cuda.is_available() else "interpreter"


def _start_template(link: socket.socket, engine: str, words: int) -> subprocess.Popen[bytes]:
    quiet = ("-W", "ignore")  # warnings of numpy inside the interpreter: NaN and overflow are for us to report
    return subprocess.Popen(
        [sys.executable, "-I", "-B", "-u", *quiet, str(RUNNER), str(link.fileno())],
        env=_environment(engine),
        cwd="/",
        stdin=subprocess.DEVNULL,
        stdout=words,
        stderr=words,
        pass_fds=[link.fileno()],
        start_new_session=True,
    )


def _environment(engine: str) -> dict[str, str]:
    """Nothing of the judge's environment but what finding compilers and devices needs."""
    kept = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
    one_thread = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}  # a fork must not lose threads
    return {**kept, **one_thread, **({"TRITON_INTERPRET": "1"} if engine == "interpreter" else {})}


def _packages() -> list[str]:
    """Where a runner finds torch and Triton: this process's import path, without the course."""
    return [entry for entry in sys.path if entry and Path(entry).resolve() not in (ROOT, Path.cwd())]


def _memory_limit(engine: str) -> int:
    """Private memory that a runner may use: half of the machine's, at most 16 GiB; CUDA reserves up to 64 GiB."""
    if engine == "gpu":
        return 64 << 30
    return min(16 << 30, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2)


def _kill(pids: Sequence[int]) -> None:
    for pid in pids:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)


def _descendants(pid: int) -> list[int]:
    children = _children(pid)
    return children + [pid for child in children for pid in _descendants(child)]


def _children(pid: int) -> list[int]:
    with suppress(OSError):
        return [int(c) for path in Path(f"/proc/{pid}/task").glob("*/children") for c in path.read_text().split()]
    return []
