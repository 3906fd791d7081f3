"""The runner locks itself in before it loads torch or the submission. Linux only, no library, no root needed.

What this stops: reading the course (hidden tests, solutions, other submissions), writing outside the work folder, TCP,
signals to other processes, eating all memory. What it does not stop: `stat` of hidden paths, UDP, a hole in a GPU
driver. Each layer that is missing here is named in the result, never skipped in silence.

Numbers and structures: the kernel's include/uapi/linux/landlock.h and prctl.h.
"""

import ctypes
import os
import resource
import sys
from collections.abc import Iterable
from pathlib import Path

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # system calls, the same on every architecture
_PATH_BENEATH = 1
_PR_SET_PDEATHSIG, _PR_SET_NO_NEW_PRIVS = 1, 38
_SIGKILL = 9

_EXECUTE, _WRITE, _READ, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_TRUNCATE, _IOCTL = 1 << 14, 1 << 15
_FILE_RIGHTS = _EXECUTE | _WRITE | _READ | _TRUNCATE | _IOCTL  # the rights a rule on a single file may name
_RIGHTS_BY_ABI = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}  # how many file-system rights each Landlock version knows
_TCP_BIND_CONNECT = 0b11  # from version 4
_SCOPE_SOCKETS_SIGNALS = 0b11  # from version 6

_SYSTEM = ("/usr", "/lib", "/lib64", "/bin", "/sbin", "/proc", "/sys")
_SETTINGS = ("/etc/ld.so.cache", "/etc/alternatives", "/etc/localtime", "/etc/nsswitch.conf", "/etc/passwd")
_DEVICES = ("/dev/null", "/dev/zero", "/dev/urandom", "/dev/random")

_MAX_FILE = 16 << 30  # bytes; also bounds the shared memory of an output


class _Ruleset(ctypes.Structure):
    _fields_ = [("files", ctypes.c_uint64), ("net", ctypes.c_uint64), ("scoped", ctypes.c_uint64)]


class _PathRule(ctypes.Structure):
    _pack_ = 1
    _layout_ = "ms"
    _fields_ = [("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32)]


_libc = ctypes.CDLL(None, use_errno=True)


def lock(work: Path, readable: Iterable[str], max_memory: int) -> tuple[str, ...]:
    """Confine this process for good; return one line per layer.

    work: the only folder it may write to. readable: folders of Python packages. max_memory: bytes of private memory.
    """
    _libc.prctl(_PR_SET_PDEATHSIG, _SIGKILL, 0, 0, 0)
    return (_limit_resources(max_memory), _landlock(work, readable))


def landlock_version() -> int:
    """The version of Landlock this kernel has; 0 if none."""
    return max(0, int(_libc.syscall(_CREATE_RULESET, None, 0, 1)))


def _limit_resources(max_memory: int) -> str:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (_MAX_FILE, _MAX_FILE))
    resource.setrlimit(resource.RLIMIT_DATA, (max_memory, max_memory))
    return f"limits: {max_memory >> 30} GiB of private memory, no core files, own process group"


def _landlock(work: Path, readable: Iterable[str]) -> str:
    version = landlock_version()
    if version == 0:
        return "no Landlock: this kernel does not offer it, so files and network are open to the submission"
    handled = (1 << _RIGHTS_BY_ABI[min(version, 5)]) - 1
    attributes = _Ruleset(handled, _TCP_BIND_CONNECT * (version >= 4), _SCOPE_SOCKETS_SIGNALS * (version >= 6))
    size = 24 if version >= 6 else 16 if version >= 4 else 8
    ruleset = _libc.syscall(_CREATE_RULESET, ctypes.byref(attributes), ctypes.c_size_t(size), 0)
    if ruleset < 0:
        return _refused("a rule set")
    for path in (*_SYSTEM, *_SETTINGS, *readable):
        _allow(ruleset, path, handled & (_READ | _READ_DIR | _EXECUTE))
    for path in (*_DEVICES, *_gpu_devices()):
        _allow(ruleset, path, handled & (_READ | _WRITE | _TRUNCATE | _IOCTL))
    _allow(ruleset, str(work), handled)
    # The NVIDIA driver names its threads through this file while it starts, and fails with error 304 if it cannot.
    _allow(ruleset, "/proc/self/task", handled & (_READ | _READ_DIR | _WRITE | _TRUNCATE))
    return _restrict(ruleset, version)


def _restrict(ruleset: int, version: int) -> str:
    _libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    refused = _libc.syscall(_RESTRICT_SELF, ruleset, 0)
    os.close(ruleset)
    return _refused("the restriction") if refused else f"Landlock version {version}: files, TCP and signals confined"


def _allow(ruleset: int, path: str, rights: int) -> None:
    """Add one rule; a path that this machine does not have needs none."""
    try:
        parent = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    if not os.path.isdir(path):
        rights &= _FILE_RIGHTS
    _libc.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, ctypes.byref(_PathRule(rights, parent)), 0)
    os.close(parent)


def _gpu_devices() -> list[str]:
    return [str(path) for pattern in ("nvidia*", "kfd", "dri") for path in Path("/dev").glob(pattern)]


def _refused(what: str) -> str:
    return f"no Landlock: the kernel refused {what} ({os.strerror(ctypes.get_errno())})"


def package_folders(import_path: Iterable[str]) -> list[str]:
    """The folders a Python process reads: its installation, its packages, and what its environment points to."""
    compilers = [str(Path(os.environ[name]).parent.parent) for name in ("CC", "CXX") if "/" in os.environ.get(name, "")]
    libraries = os.environ.get("LD_LIBRARY_PATH", "").split(":")
    folders = (sys.prefix, sys.base_prefix, os.environ.get("CUDA_HOME", ""), *compilers, *libraries, *import_path)
    return [folder for folder in dict.fromkeys(folders) if folder.startswith("/") and folder != "/"]
