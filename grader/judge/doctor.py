"""What `grader doctor` finds out: versions, engine, sandbox, and whether a small kernel runs from end to end."""

import importlib.metadata
import json
import platform
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict
from pathlib import Path

import torch

from grader.course import Exercise
from grader.judge.grade import Grade
from grader.judge.job import Finding
from grader.judge.nursery import Nursery, RunnerUnavailable, decide_engine
from grader.judge.submission import CheckFailed, Submission
from grader.judge.tolerance import Oracle

SUPPORTED = {"triton": ((3, 6), (3, 10)), "torch": ((2, 11), (3, 0)), "numpy": ((2, 0), (3, 0))}  # from, below
CURE = 'Set the course up again: remove .venv and type "make all".'

KERNEL = """
import torch
import triton
import triton.language as tl


@triton.jit
def double_kernel(x_ptr, out_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    offs = tl.program_id(axis=0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offs < n_elements
    tl.store(out_ptr + offs, 2 * tl.load(x_ptr + offs, mask=mask, other=0.0), mask=mask)


def double(x):
    out = torch.empty_like(x)
    double_kernel[(triton.cdiv(x.numel(), 128),)](x, out, x.numel(), BLOCK_SIZE=128)
    return out
"""


def findings() -> Iterator[Finding]:
    yield Finding(
        sys.version_info >= (3, 11), f"Python {platform.python_version()}", "The course needs Python 3.11 or newer."
    )
    yield Finding(sys.platform == "linux", f"operating system: {sys.platform}", "Triton runs on Linux; on Windows, use WSL.")
    for name in SUPPORTED:
        yield _version(name)
    engine = decide_engine("auto")
    yield Finding(
        True, f"engine: {torch.cuda.get_device_name()}" if engine == "gpu" else "engine: CPU interpreter (no GPU found)"
    )
    if engine == "gpu":
        yield Finding(bool(shutil.which("cc") or shutil.which("gcc")), "a C compiler, for Triton's launcher", "Install gcc.")
    yield from _trial(engine)


def _version(name: str) -> Finding:
    first, beyond = SUPPORTED[name]
    try:
        version = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return Finding(False, f"{name} is not installed", CURE)
    numbers = tuple(int(part) for part in version.split(".")[:2])
    wanted = f"{first[0]}.{first[1]} or newer, below {beyond[0]}.{beyond[1]}"
    if name == "numpy" and numbers >= (2, 4) and _triton() < (3, 7):
        return Finding(True, f"numpy {version} with Triton 3.6: fine on a GPU, but not on the interpreter")
    return Finding(first <= numbers < beyond, f"{name} {version}", f"The course needs {name} {wanted}. {CURE}")


def _triton() -> tuple[int, ...]:
    return tuple(int(part) for part in importlib.metadata.version("triton").split(".")[:2])


def _trial(engine: str) -> Iterator[Finding]:
    """Send a small kernel through runner, sandbox and comparison."""
    with tempfile.TemporaryDirectory() as folder, closing(Nursery(engine)) as nursery:
        path = Path(folder) / "kernel.py"
        path.write_text(KERNEL, encoding="utf-8")
        submission = Submission(path, Exercise("00_trial", "Trial", 0, ("double",), 30.0, ()), nursery)
        try:
            Grade(submission, "double", Oracle(lambda x: 2 * x, lambda x: 2 * x.abs()))(torch.randn(1000))
            yield Finding(True, "a small kernel ran and was judged right")
        except (CheckFailed, RunnerUnavailable) as error:
            yield Finding(False, f"a small kernel did not run: {error}", CURE)
        for part in submission.introduction.unchecked if submission.introduction else ():
            yield Finding(False, f"{part} cannot be checked with this version of Triton", CURE)
        for layer in submission.introduction.sandbox if submission.introduction else ():
            missing = layer.startswith("no ")
            yield Finding(not missing, f"sandbox: {layer}", "Fine for your own kernels; do not grade strangers' code here.")


def main() -> None:
    """Print findings as JSON."""
    for finding in findings():
        print(json.dumps(asdict(finding)), flush=True)
