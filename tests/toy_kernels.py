"""Kernels for exercise 01 of the toy course, `double(x)`, written down as a name, a text, and what the grader must say."""

import textwrap
from dataclasses import dataclass
from pathlib import Path

import pytest
import triton

from grader.results import Kind, Status
from judging import TOY, grade

HEAD = """
import torch
import triton
import triton.language as tl

"""


@dataclass(frozen=True)
class Kernel:
    name: str
    text: str
    kind: Kind | None = None  # None: honest
    words: str = ""


def kernel(name, kind, words, body, host, signature="x_ptr, out_ptr, n, BLOCK: tl.constexpr"):
    """A file with one kernel; `host` is what double(x) does before it returns `out`."""
    lines = f"@triton.jit\ndef a_kernel({signature}):\n{textwrap.indent(textwrap.dedent(body).strip(), '    ')}\n\n\n"
    host = textwrap.indent(textwrap.dedent(host).strip(), "    ")
    return Kernel(
        name, f"{HEAD}\n{lines}def double(x):\n    out = torch.empty_like(x)\n{host}\n    return out\n", kind, words
    )


TILE = """
offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
mask = offs < n
"""
LAUNCH = "a_kernel[(triton.cdiv(x.numel(), 64),)](x, out, x.numel(), BLOCK=64)"
WORK = "x_ptr, work_ptr, out_ptr, n, BLOCK: tl.constexpr"


def graded(folder: Path, entries, **options) -> dict:
    """The result of every kernel, by name, from one judge."""
    paths = {}
    for number, entry in enumerate(entries):
        paths[entry.name] = folder / str(number) / "kernel.py"
        paths[entry.name].parent.mkdir()
        paths[entry.name].write_text(entry.text)
    found = grade(TOY, [("01_double", path) for path in paths.values()], keep_going=True, **options)
    return {name: found[path] for name, path in paths.items()}


def kernels(entries):
    """As parameters of a test; Triton 3.9 has no block pointers any more."""
    entries = list(entries)
    gone = tuple(int(part) for part in triton.__version__.split(".")[:2]) >= (3, 9)
    without = pytest.mark.skipif(gone, reason="this Triton has no block pointers")
    marks = {entry.name: [without] if "make_block_ptr" in entry.text else [] for entry in entries}
    return [pytest.param(entry, id=entry.name, marks=marks[entry.name]) for entry in entries]


def reasons(result):
    return [line for check in result.checks if check.status is Status.FAILED for line in check.reason]
