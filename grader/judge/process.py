"""Start, talk to and stop the runner process. What it says is data; how it ends is an observation, never a pass."""

import ctypes
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from grader.channel import BadFrame, Channel, ChannelClosed, Silence
from grader.results import Kind

RUNNER = Path(__file__).resolve().parent.parent / "runner" / "__main__.py"
ROOT = RUNNER.parent.parent.parent
START_TIMEOUT = 120.0  # seconds to import torch and Triton, on a slow disk too
MAX_OUTPUT = 4 << 20  # bytes a submission may print before it is stopped
KEPT_OUTPUT = 4096  # bytes of it that are kept for the report
_PASSED_ON = (
    "PATH",
    "LANG",
    "LC_ALL",
    "LD_LIBRARY_PATH",
    "CC",
    "CXX",
    "CUDA_HOME",
    "CUDA_VISIBLE_DEVICES",
    "HIP_VISIBLE_DEVICES",
)
_PR_SET_CHILD_SUBREAPER = 36


class Household:
    """The judge's child processes. Orphans of a runner become children of the judge, so that none escapes a kill."""

    def __init__(self) -> None:
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        self._own: set[int] = set()

    def add(self, process: subprocess.Popen[bytes]) -> None:
        self._own.add(process.pid)

    def kill(self, process: subprocess.Popen[bytes]) -> None:
        """Kill a process, all its descendants, and whatever a process that is gone left behind."""
        if process.returncode is None:
            _kill([process.pid, *_descendants(process.pid)])
            process.wait()
        self._own.discard(process.pid)
        while strays := [pid for pid in _children(os.getpid()) if pid not in self._own]:
            _kill([*strays, *(pid for stray in strays for pid in _descendants(stray))])
            for pid in strays:
                with suppress(ChildProcessError):
                    os.waitpid(pid, 0)


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


class RunnerEnded(Exception):
    """The runner is gone or had to be stopped; `kind` says what the submission did, `reason` says it in a sentence."""

    def __init__(self, kind: Kind, reason: str) -> None:
        super().__init__(reason)
        self.kind = kind
        self.reason = reason


class RunnerUnavailable(Exception):
    """The runner could not start at all: the machine's or the grader's fault, not the submission's."""


@dataclass(frozen=True)
class Introduction:
    """What a runner says of itself before it has read the submission."""

    versions: dict[str, str]
    device: str
    sandbox: tuple[str, ...]
    private_names: str


class Runner:
    """One runner process with one submission. Starting it is quick; `introduce` waits until it is ready."""

    def __init__(self, submission: Path, functions: Sequence[str], engine: str, household: Household) -> None:
        self._household = household
        self._work = Path(tempfile.mkdtemp(prefix="grader-"))
        shutil.copyfile(submission, self._work / "kernel.py")
        self._channel, theirs = Channel.pair()
        self._process = _spawn(theirs.fileno(), self._work, engine)
        theirs.close()
        household.add(self._process)
        self._output = _Output(self._process)
        self._introduction: Introduction | None = None
        self._stopped = False
        self._asked = 0
        self._channel.send(
            {
                "import_path": _packages(),
                "functions": list(functions),
                "engine": engine,
                "max_memory": _memory_limit(engine),
            }
        )

    def introduce(self) -> Introduction:
        """Wait for the runner to be ready. Raises RunnerUnavailable."""
        if self._introduction is None:
            try:
                frame, _ = self._channel.receive(START_TIMEOUT)
            except (ChannelClosed, Silence, BadFrame) as error:
                self.stop()
                raise RunnerUnavailable(f"The runner did not start: {self._output.last_line() or repr(error)}") from error
            self._introduction = Introduction(
                frame["versions"], frame["device"], tuple(frame["sandbox"]), frame["private_names"]
            )
        return self._introduction

    def ask(self, request: Mapping[str, Any], memory: int | None, timeout: float) -> tuple[dict[str, Any], int | None]:
        """Send a request and wait `timeout` seconds for the answer. Raises RunnerEnded, BadFrame."""
        self.introduce()
        self._asked += 1
        try:
            self._channel.send({**request, "number": self._asked}, memory)
            frame, descriptor = self._channel.receive(timeout)
        except Silence as error:
            self.stop()
            raise RunnerEnded(Kind.TIMEOUT, f"no answer within {timeout:g} s; the process was stopped") from error
        except ChannelClosed as error:
            raise RunnerEnded(Kind.CRASH, self._epitaph()) from error
        if frame.get("number") != self._asked:
            raise BadFrame("it answers another question")
        return frame, descriptor

    @property
    def alive(self) -> bool:
        return not self._stopped

    def stop(self) -> None:
        """Kill the runner with everything it started, and remove its work folder."""
        if self._stopped:
            return
        self._stopped = True
        self._household.kill(self._process)
        self._output.close()
        self._channel.close()
        shutil.rmtree(self._work, ignore_errors=True)

    @property
    def output(self) -> str:
        return self._output.text()

    def hide_paths(self, text: str) -> str:
        """`text` with the runner's private copy called by the name the learner knows."""
        return text.replace(f"{self._work}/", "")

    def _epitaph(self) -> str:
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(1)
        code = self._process.returncode
        self.stop()
        if self._output.flooded:
            return f"the process printed more than {MAX_OUTPUT >> 20} MiB and was stopped"
        if code is None:
            return "the process closed its connection to the grader"
        if code < 0:
            return f"the process died of {signal.Signals(-code).name}" + _SIGNALS.get(-code, "")
        return f"the process ended itself with exit code {code} before it returned a result"


_SIGNALS: dict[int, str] = {
    signal.SIGSEGV: ": a kernel used an address that does not exist",
    signal.SIGBUS: ": a kernel used an address that does not exist",
    signal.SIGKILL: ": most likely it used up the memory of this machine",
}


class _Output:
    """Drains what the submission prints, so that it never blocks; keeps the beginning, stops a flood."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.flooded = False
        self._kept = bytearray()
        self._process = process
        self._thread = threading.Thread(target=self._drain, args=(process.stdout,), daemon=True)
        self._thread.start()

    def _drain(self, pipe: IO[bytes]) -> None:
        total = 0
        while block := os.read(pipe.fileno(), 65536):
            self._kept += block[: max(0, KEPT_OUTPUT - len(self._kept))]
            total += len(block)
            if total > MAX_OUTPUT and not self.flooded:
                self.flooded = True
                self._process.kill()

    def close(self) -> None:
        """Call once every process that could write is dead."""
        self._thread.join()
        if self._process.stdout is not None:
            self._process.stdout.close()

    def text(self) -> str:
        """The beginning of the output, without control characters."""
        text = self._kept.decode(errors="replace")
        return "".join(c for c in text if c.isprintable() or c == "\n")

    def last_line(self) -> str:
        self._thread.join(1)
        lines = self.text().strip().splitlines()
        return lines[-1] if lines else ""


def _spawn(socket: int, work: Path, engine: str) -> subprocess.Popen[bytes]:
    quiet = (
        "-W",
        "ignore::RuntimeWarning",
    )  # numpy's, from inside the interpreter: NaN and overflow are ours to report
    command = [sys.executable, "-I", "-B", "-u", *quiet, str(RUNNER), str(socket), str(work)]
    return subprocess.Popen(
        command,
        env=_environment(work, engine),
        cwd=work,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        pass_fds=[socket],
        start_new_session=True,
    )


def _environment(work: Path, engine: str) -> dict[str, str]:
    """Nothing of the judge's environment but what finding compilers and devices needs; all caches are the runner's own."""
    kept = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    own = {name: str(work) for name in ("HOME", "TMPDIR", "TRITON_HOME", "TRITON_CACHE_DIR", "CUDA_CACHE_PATH")}
    interpreter = {"TRITON_INTERPRET": "1", "OMP_NUM_THREADS": "1"} if engine == "interpreter" else {}
    return {**kept, **own, **interpreter}


def _packages() -> list[str]:
    """Where the runner finds torch and Triton: this process's import path, without the course."""
    return [entry for entry in sys.path if entry and Path(entry).resolve() != ROOT and Path(entry).resolve() != Path.cwd()]


def _memory_limit(engine: str) -> int:
    """Private memory that a runner may use: half of the machine's, at most 16 GiB; CUDA needs 64 GiB of reservations."""
    if engine == "gpu":
        return 64 << 30
    return min(16 << 30, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2)
