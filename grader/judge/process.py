"""One runner: start it, talk to it, end it. What it says is data; how it ends is an observation, never a pass."""

import os
import shutil
import signal
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader.channel import BadFrame, ChannelClosed, Silence
from grader.judge.nursery import Child, Nursery, RunnerUnavailable
from grader.results import Kind

INTRODUCTION_TIMEOUT = 60.0  # seconds; a GPU's driver may take a while to start
MAX_OUTPUT = 4 << 20  # bytes a submission may print before it is stopped
KEPT_OUTPUT = 4096  # bytes of it that are kept for the report


class RunnerEnded(Exception):
    """The runner is gone or had to be stopped; `kind` says what the submission did, `reason` says it in a sentence."""

    def __init__(self, kind: Kind, reason: str) -> None:
        super().__init__(reason)
        self.kind = kind
        self.reason = reason


@dataclass(frozen=True)
class Introduction:
    """What a runner says of itself before it has read the submission."""

    versions: dict[str, str]
    device: str
    sandbox: tuple[str, ...]
    private_names: str
    unchecked: tuple[str, ...]  # what cannot be checked with this version of Triton


class Runner:
    """One runner process with one submission, in a work folder of its own."""

    def __init__(self, submission: Path, functions: Sequence[str], nursery: Nursery, engine: str) -> None:
        self._nursery = nursery
        self._work = nursery.new_folder()
        self.take(submission)
        self._child, self._channel, output = nursery.fork(self._work, functions, engine)
        self._output = _Output(self._child, output)
        self._asked = 0
        self.alive = True
        self.introduction = self._introduce()

    def take(self, submission: Path) -> None:
        """Put a file where the process finds it when it is asked to load."""
        shutil.copyfile(submission, self._work / "kernel.py")

    def ask(self, request: Mapping[str, Any], memory: int | None, timeout: float) -> tuple[dict[str, Any], int | None]:
        """Send a request and wait `timeout` seconds for the answer. Raises RunnerEnded, BadFrame."""
        self._asked += 1
        try:
            self._channel.send({**request, "number": self._asked}, *([] if memory is None else [memory]))
            frame, descriptors = self._channel.receive(timeout)
        except Silence as error:
            self.stop()
            raise RunnerEnded(Kind.TIMEOUT, f"no answer within {timeout:g} s; the process was stopped") from error
        except ChannelClosed as error:
            raise RunnerEnded(Kind.CRASH, self._epitaph()) from error
        if frame.get("number") != self._asked:
            raise BadFrame("it answers another question")
        return frame, descriptors[0] if descriptors else None

    def stop(self) -> None:
        """Kill the runner with everything it started, and remove its work folder."""
        if not self.alive:
            return
        self.alive = False
        self._nursery.end(self._child)
        self._output.close()
        self._channel.close()
        shutil.rmtree(self._work, ignore_errors=True)

    @property
    def output(self) -> str:
        return self._output.text()

    def hide_paths(self, text: str) -> str:
        """`text` with the runner's private copy called by the name the learner knows."""
        return text.replace(f"{self._work}/", "")

    def _introduce(self) -> Introduction:
        """Wait for what the runner says of itself, before it has seen the submission. Raises RunnerUnavailable."""
        try:
            frame, _ = self._channel.receive(INTRODUCTION_TIMEOUT)
        except (ChannelClosed, Silence, BadFrame) as error:
            self.stop()
            raise RunnerUnavailable(f"A runner did not start: {self._output.last_line() or repr(error)}") from error
        sandbox, unchecked = tuple(frame["sandbox"]), tuple(frame["unchecked"])
        return Introduction(frame["versions"], frame["device"], sandbox, frame["private_names"], unchecked)

    def _epitaph(self) -> str:
        code = self._child.wait(1.0)
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
    """Drains what a submission prints, so that it never blocks; keeps the beginning, stops a flood."""

    def __init__(self, child: Child, pipe: int) -> None:
        self.flooded = False
        self._kept = bytearray()
        self._child = child
        self._pipe = pipe
        self._thread = threading.Thread(target=self._drain, daemon=True)
        self._thread.start()

    def _drain(self) -> None:
        total = 0
        while block := os.read(self._pipe, 65536):
            self._kept += block[: max(0, KEPT_OUTPUT - len(self._kept))]
            total += len(block)
            if total > MAX_OUTPUT and not self.flooded:
                self.flooded = True
                with suppress(ProcessLookupError):
                    os.kill(self._child.pid, signal.SIGKILL)

    def close(self) -> None:
        """Call once every process that could write is dead."""
        self._thread.join()
        os.close(self._pipe)

    def text(self) -> str:
        """The beginning of the output, without control characters."""
        text = self._kept.decode(errors="replace")
        return "".join(c for c in text if c.isprintable() or c == "\n")

    def last_line(self) -> str:
        lines = self.text().strip().splitlines()
        return lines[-1] if lines else ""
