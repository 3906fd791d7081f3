"""The runner: an untrusted process that loads one submission and calls it when the judge says so.

It is started once, as a template that loads torch and Triton and then forks at the judge's word; each fork locks itself in
and only then reads its submission. It knows no seed, no expected value and no tolerance, so there is nothing here to find
out; and no verdict leaves it, only tensors and observations.
"""

import gc
import os
import socket
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

PACKAGE = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(PACKAGE.parent))

from grader.channel import Channel, ChannelClosed  # noqa: E402  (only now can our own package be found)
from grader.runner import sandbox  # noqa: E402

OWN_FILES = [str(PACKAGE / name) for name in ("runner", "channel.py", "inputs.py", "results.py")]
CACHES = ("HOME", "TMPDIR", "TRITON_HOME", "TRITON_CACHE_DIR", "CUDA_CACHE_PATH")


def main() -> None:
    """Load torch and Triton, then fork a runner for every request, until the judge hangs up."""
    judge = Channel(socket.socket(fileno=int(sys.argv[1])))
    setup, _ = judge.receive()
    sys.path[:] = setup["import_path"]
    gc.disable()  # what is loaded here stays: no search for garbage looks through it, neither now nor in a fork
    from grader.runner import bfloat16, serve, swift, triton_private  # noqa: F401  (here, once, for all forks)

    interpreting = setup["engine"] == "interpreter"
    private_names = triton_private.self_test(interpreting)
    if interpreting and not private_names:
        bfloat16.mend()
        swift.speed_up()
    blind = interpreting and not private_names and not triton_private.notices_accesses()
    known = {"private_names": private_names, "unchecked": ["memory safety", "traffic"] if blind else []}
    gc.freeze()
    gc.enable()
    while True:
        try:
            request, descriptors = judge.receive()
        except ChannelClosed:
            return
        judge.send({"pid": _fork({**request, **known}, descriptors)})
        for descriptor in descriptors:
            os.close(descriptor)


def _fork(request: dict[str, Any], descriptors: Sequence[int]) -> int:
    """Start a runner whose parent is the judge: a process in between forks it and ends, and the judge adopts it."""
    reading, writing = os.pipe()
    between = os.fork()
    if between == 0:
        parent = os.getpid()
        runner = os.fork()
        if runner:
            os.write(writing, str(runner).encode())
            os._exit(0)
        while os.getppid() == parent:  # adopted only once the process in between is gone
            time.sleep(0.001)
        _run(request, descriptors)
    os.waitpid(between, 0)
    pid = int(os.read(reading, 32))
    os.close(reading)
    os.close(writing)
    return pid


def _run(request: dict[str, Any], descriptors: Sequence[int]) -> None:
    """Be a runner, for one submission. Never returns."""
    end, printed = descriptors
    os.setsid()
    os.dup2(printed, 1)
    os.dup2(printed, 2)
    os.closerange(3, end)
    os.closerange(end + 1, 256)  # the template's connection among them
    os.chdir(request["work"])
    os.environ.update(dict.fromkeys(CACHES, request["work"]))
    work, channel = Path(request["work"]), Channel(socket.socket(fileno=end))
    layers = sandbox.lock(work, [*sandbox.package_folders(sys.path), *OWN_FILES], request["max_memory"])
    server = _server(request, work / "kernel.py")
    channel.send({"sandbox": layers, **server.introduction()})
    server.serve(channel)
    os._exit(0)  # threads that the submission left behind do not hold us up


def _server(request: dict[str, Any], submission: Path) -> Any:
    if request["engine"] == "compiler":
        from grader.runner import compiling

        compiling.forget_triton()
        return compiling.CompilerServer(submission, request["functions"])
    from grader.runner.serve import Server

    known = request["private_names"], tuple(request["unchecked"])
    return Server(submission, request["functions"], request["engine"], *known)


if __name__ == "__main__":
    main()
