"""The runner: an untrusted process that loads one submission and calls it when the judge says so.

It is started as `python -I __main__.py SOCKET WORK_FOLDER` and first of all locks itself in. It knows no seed, no expected
value and no tolerance, so there is nothing here to find out; and no verdict leaves it, only tensors and observations.
"""

import os
import socket
import sys
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(PACKAGE.parent))

from grader.channel import Channel  # noqa: E402  (only now can our own package be found)
from grader.runner import sandbox  # noqa: E402

OWN_FILES = [str(PACKAGE / name) for name in ("runner", "channel.py", "inputs.py", "results.py")]


def main() -> None:
    channel = Channel(socket.socket(fileno=int(sys.argv[1])))
    work = Path(sys.argv[2])
    setup, _ = channel.receive()
    sys.path[:] = setup["import_path"]
    layers = sandbox.lock(work, [*sandbox.package_folders(setup["import_path"]), *OWN_FILES], setup["max_memory"])

    from grader.runner.serve import Server  # brings torch and triton, which load behind the lock

    server = Server(work / "kernel.py", setup["functions"], setup["engine"])
    channel.send({"sandbox": layers, **server.introduction()})
    server.serve(channel)
    os._exit(0)  # threads that the submission left behind do not hold us up


if __name__ == "__main__":
    main()
