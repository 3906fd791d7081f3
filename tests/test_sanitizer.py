"""The sanitizer of the interpreter: each wrong access is found and called what it is, and no honest kernel is accused.

Every kernel here answers exercise 01 of the toy course, `double(x)`. The wrong ones compute the right values wherever that
is possible: it is the access that must be noticed.
"""

import os
import shutil
import subprocess
import sys
from dataclasses import replace

import pytest
from toy_kernels import LAUNCH, TILE, WORK, graded, kernel, kernels, reasons

from grader.results import Kind, Status
from judging import ROOT, TOY

OUTSIDE, UNDEFINED, RACE = Kind.OUTSIDE, Kind.UNDEFINED, Kind.RACE


WRONG = [
    kernel(
        "a load past the end, never used", OUTSIDE, "loads 28 elements outside x_ptr, the nearest 1 element past its end",
        TILE + "x = tl.load(x_ptr + offs)\ntl.store(out_ptr + offs, 2 * x, mask=mask)", LAUNCH,
    ),
    kernel(
        "a load before the start, never used", OUTSIDE, "loads outside x_ptr, 1 element before its start",
        TILE + "y = tl.load(x_ptr + offs - 1, mask=mask, other=0.0)\nx = tl.load(x_ptr + offs, mask=mask, other=0.0)\n"
        "tl.store(out_ptr + offs, 2 * x + 0 * tl.where(y == y, 0.0, 0.0), mask=mask)", LAUNCH,
    ),
    kernel(
        "a load past the end, its mask kept as 64-bit numbers", OUTSIDE, "loads outside x_ptr, 1 element past its end",
        TILE + "wide = (offs <= n) & (tl.program_id(0).to(tl.int64) >= 0)\n"
        "x = tl.load(x_ptr + offs, mask=wide, other=0.0)\ntl.store(out_ptr + offs, 2 * x, mask=mask)", LAUNCH,
    ),
    kernel(
        "a store one past the end", OUTSIDE, "stores outside out_ptr, 1 element past its end",
        TILE + "x = tl.load(x_ptr + offs, mask=mask, other=0.0)\ntl.store(out_ptr + offs, 2 * x, mask=offs <= n)", LAUNCH,
    ),
    kernel(
        "a wild pointer", OUTSIDE, "outside x_ptr",
        TILE + "x = tl.load(x_ptr + offs.to(tl.int64) * 1000000000, mask=mask, other=0.0)\n"
        "tl.store(out_ptr + offs, 2 * x, mask=mask)", LAUNCH,
    ),
    kernel(
        "a wide load past the end", OUTSIDE, "loads outside x_ptr",
        TILE + "x = tl.load(x_ptr + offs, mask=mask, other=0.0)\n"
        "last = tl.load((x_ptr + n - 1).to(tl.pointer_type(tl.int64)))\n"
        "tl.store(out_ptr + offs, 2 * x + 0 * (last - last), mask=mask)", LAUNCH,
    ),
    kernel(
        "a block pointer without a bounds check", OUTSIDE, "outside x_ptr",
        "start = tl.program_id(0) * BLOCK\n"
        "x = tl.load(tl.make_block_ptr(x_ptr, (n,), (1,), (start,), (BLOCK,), (0,)))\n"
        "out = tl.make_block_ptr(out_ptr, (n,), (1,), (start,), (BLOCK,), (0,))\n"
        "tl.store(out, 2 * x, boundary_check=(0,))", LAUNCH,
    ),
    kernel(
        "a descriptor that promises too much", OUTSIDE, "outside x_ptr",
        TILE + "desc = tl.make_tensor_descriptor(x_ptr, shape=[n + 64], strides=[1], block_shape=[BLOCK])\n"
        "x = desc.load([tl.program_id(0) * BLOCK])\ntl.store(out_ptr + offs, 2 * x, mask=mask)", LAUNCH,
    ),
    kernel(
        "a store through a descriptor that ends inside of 16 bytes", OUTSIDE,
        "stores through a descriptor in pieces of 16 bytes",
        TILE + "x = tl.load(x_ptr + offs, mask=mask, other=0.0)\n"
        "desc = tl.make_tensor_descriptor(out_ptr, shape=[n], strides=[1], block_shape=[BLOCK])\n"
        "desc.store([tl.program_id(0) * BLOCK], 2 * x)", LAUNCH,
    ),
    kernel(
        "scratch memory that nobody has written", UNDEFINED, "a_kernel loads work_ptr[0], which nothing has written",
        TILE + "work = tl.load(work_ptr)\nx = tl.load(x_ptr + offs, mask=mask, other=0.0)\n"
        "tl.store(out_ptr + offs, 2 * x + tl.where(work > 0, 0.0, 0.0), mask=mask)",
        "work = torch.empty(1, device=x.device)\n" + LAUNCH.replace("(x, out", "(x, work, out"), WORK,
    ),
    kernel(
        "atomics on memory that nobody has cleared", UNDEFINED, "a_kernel updates work_ptr[0], which nothing has written",
        TILE + "tl.atomic_add(work_ptr, 1.0)\nx = tl.load(x_ptr + offs, mask=mask, other=0.0)\n"
        "tl.store(out_ptr + offs, 2 * x, mask=mask)",
        "work = torch.empty(1, device=x.device)\n" + LAUNCH.replace("(x, out", "(x, work, out"), WORK,
    ),
    kernel(
        "masked elements that reach a maximum, which skips NaN", UNDEFINED, "a masked load without `other`",
        TILE + "x = tl.load(x_ptr + offs, mask=mask)\nlargest = tl.max(x, axis=0)\n"
        "tl.store(out_ptr + offs, tl.where(largest > 1e4, 0.0, 2 * x), mask=mask)", LAUNCH,
    ),
    kernel(
        "masked elements that reach the result", UNDEFINED, "a masked load without `other`",
        TILE + "x = tl.load(x_ptr + offs, mask=mask)\nnothing = tl.sum(x, axis=0) * 0.0\n"
        "tl.store(out_ptr + offs, 2 * x + nothing, mask=mask)", LAUNCH,
    ),
    kernel(
        "one masked element that reaches the result", UNDEFINED, "a masked load without `other`",
        TILE + "x = tl.load(x_ptr + offs, mask=mask, other=0.0)\nnone = tl.load(x_ptr + n, mask=n < 0)\n"
        "tl.store(out_ptr + offs, 2 * x + none, mask=mask)", LAUNCH,
    ),
    kernel(
        "two programs store different values to one place", RACE, "stores out_ptr[0], and so does another program",
        TILE + "x = tl.load(x_ptr + offs, mask=mask, other=0.0)\n"
        "tl.store(out_ptr, 2.0 * tl.program_id(0))\n"
        "tl.store(out_ptr + offs, 2 * x, mask=mask)\n"
        "if tl.program_id(0) > 0:\n    tl.store(out_ptr, 2 * tl.load(x_ptr))", LAUNCH,
    ),
    kernel(
        "a program loads what another stores", RACE, "which another program of the same launch",
        TILE + "x = tl.load(x_ptr + offs, mask=mask, other=0.0)\ntl.store(out_ptr + offs, 2 * x, mask=mask)\n"
        "if tl.program_id(0) > 0:\n    before = tl.load(out_ptr + offs - BLOCK)\n"
        "    tl.store(out_ptr + offs, 2 * x + tl.where(before == before, 0.0, 1.0), mask=mask)", LAUNCH,
    ),
    kernel(
        "a program stores what another has loaded", RACE, "which another program of the same launch loads",
        TILE + "x = tl.load(x_ptr + offs, mask=mask, other=0.0)\n"
        "if tl.program_id(0) == 0:\n    x += 0.0 * tl.load(work_ptr)\n"
        "if tl.program_id(0) == 1:\n    tl.store(work_ptr, 1.0)\n"
        "tl.store(out_ptr + offs, 2 * x, mask=mask)",
        "work = torch.zeros(2, device=x.device)\n" + LAUNCH.replace("(x, out", "(x, work, out"), WORK,
    ),
    kernel(
        "an order of programs that only atomics hide", RACE, "wrong in another order",
        TILE + "turn = tl.atomic_add(work_ptr, 1)\nx = tl.load(x_ptr + offs, mask=mask, other=0.0)\n"
        "tl.store(out_ptr + offs, tl.where(turn == tl.program_id(0), 2 * x, x), mask=mask)",
        "work = torch.zeros(1, dtype=torch.int32, device=x.device)\n" + LAUNCH.replace("(x, out", "(x, work, out"), WORK,
    ),
    kernel(
        "a store to an input", Kind.INPUT_CHANGED, "a_kernel stores to x_ptr[0], an input",
        TILE + "x = tl.load(x_ptr + offs, mask=mask, other=0.0)\ntl.store(x_ptr + offs, x, mask=mask)\n"
        "tl.store(out_ptr + offs, 2 * x, mask=mask)", LAUNCH,
    ),
]  # fmt: skip

CONFIGS = "[triton.Config({'BLOCK': size}) for size in (32, 64, 128)]"
TUNED = kernel(
    "trials of an autotuner that add up", Kind.VALUES, "values are wrong",
    TILE + "x = tl.load(x_ptr + offs, mask=mask, other=0.0)\nbefore = tl.load(out_ptr + offs, mask=mask, other=0.0)\n"
    "tl.store(out_ptr + offs, before + 2 * x, mask=mask)",
    "out = torch.zeros_like(x)\na_kernel[lambda meta: (triton.cdiv(x.numel(), meta['BLOCK']),)](x, out, x.numel())",
)  # fmt: skip
TUNED = replace(TUNED, text=TUNED.text.replace("@triton.jit", f"@triton.autotune({CONFIGS}, key=['n'])\n@triton.jit"))

HONEST = [
    kernel(
        "the last tile moved back, so that two programs store the same", None, "",
        "start = tl.minimum(tl.program_id(0) * BLOCK, n - BLOCK)\noffs = start + tl.arange(0, BLOCK)\n"
        "tl.store(out_ptr + offs, 2 * tl.load(x_ptr + offs))", LAUNCH,
    ),
    kernel(
        "a grid-stride loop", None, "",
        "for start in range(tl.program_id(0) * BLOCK, n, tl.num_programs(0) * BLOCK):\n"
        "    offs = start + tl.arange(0, BLOCK)\n    mask = offs < n\n"
        "    tl.store(out_ptr + offs, 2 * tl.load(x_ptr + offs, mask=mask, other=0.0), mask=mask)",
        "a_kernel[(2,)](x, out, x.numel(), BLOCK=16)",
    ),
    kernel(
        "a masked load without other, whose masked elements go nowhere", None, "",
        TILE + "tl.store(out_ptr + offs, 2 * tl.load(x_ptr + offs, mask=mask), mask=mask)", LAUNCH,
    ),
    kernel(
        "masked elements that are 0, loaded one at a time", None, "",
        TILE + "x = tl.load(x_ptr + offs, mask=mask, other=0.0)\nnone = tl.load(x_ptr + n, mask=n < 0, other=0.0)\n"
        "lane = n + tl.arange(0, 1)\nnothing = tl.load(x_ptr + lane, mask=lane < n, other=0.0)\n"
        "tl.store(out_ptr + offs, 2 * x + none + nothing, mask=mask)", LAUNCH,
    ),
    kernel(
        "stores that mix two tiles, their mask kept as 64-bit numbers", None, "",
        TILE + "x = tl.load(x_ptr + offs, mask=mask, other=0.0)\nfirst = tl.program_id(0).to(tl.int64) == 0\n"
        "tl.store(out_ptr + offs, 2 * x, mask=mask & first)\ntl.store(out_ptr + offs, 2 * x, mask=mask & (first == 0))",
        LAUNCH,
    ),
    kernel(
        "block pointers with bounds checks", None, "",
        "start = tl.program_id(0) * BLOCK\n"
        "x = tl.load(tl.make_block_ptr(x_ptr, (n,), (1,), (start,), (BLOCK,), (0,)), boundary_check=(0,))\n"
        "out = tl.make_block_ptr(out_ptr, (n,), (1,), (start,), (BLOCK,), (0,))\n"
        "tl.store(out, 2 * x, boundary_check=(0,))", LAUNCH,
    ),
    kernel(
        "descriptors for what they load", None, "",
        "start = tl.program_id(0) * BLOCK\n"
        "x_desc = tl.make_tensor_descriptor(x_ptr, shape=[n], strides=[1], block_shape=[BLOCK])\n"
        "offs = start + tl.arange(0, BLOCK)\n"
        "tl.store(out_ptr + offs, 2 * x_desc.load([start]), mask=offs < n)", LAUNCH,
    ),
    kernel(
        "a descriptor of a padded output", None, "",
        "start = tl.program_id(0) * BLOCK\n"
        "x_desc = tl.make_tensor_descriptor(x_ptr, shape=[n], strides=[1], block_shape=[BLOCK])\n"
        "out_desc = tl.make_tensor_descriptor(out_ptr, shape=[n], strides=[1], block_shape=[BLOCK])\n"
        "out_desc.store([start], 2 * x_desc.load([start]))",
        "padded = torch.empty((x.numel() + 7) // 8 * 8, dtype=x.dtype, device=x.device)\n"
        "out = padded[: x.numel()].view(x.shape)\n" + LAUNCH.replace("(x, out", "(x, padded"),
    ),
    kernel(
        "every program writes the same to one place", None, "",
        TILE + "tl.store(work_ptr, 2.0)\ntl.debug_barrier()\nx = tl.load(x_ptr + offs, mask=mask, other=0.0)\n"
        "tl.store(out_ptr + offs, 2 * x, mask=mask)",
        "work = torch.empty(1, device=x.device)\n" + LAUNCH.replace("(x, out", "(x, work, out"), WORK,
    ),
    kernel(
        "atomics into cleared memory, in any order", None, "",
        TILE + "x = tl.load(x_ptr + offs, mask=mask, other=0.0)\ntl.atomic_add(work_ptr, 1)\n"
        "tl.store(out_ptr + offs, 2 * x, mask=mask)",
        "work = torch.zeros(1, dtype=torch.int32, device=x.device)\n" + LAUNCH.replace("(x, out", "(x, work, out"), WORK,
    ),
    kernel(
        "a second launch reads what the first has written", None, "",
        TILE + "x = tl.load(x_ptr + offs, mask=mask, other=0.0)\ntl.store(out_ptr + offs, x + x * (n > 0), mask=mask)",
        "work = torch.empty_like(x)\n" + LAUNCH.replace("(x, out", "(x, work")
        + "\na_kernel[(triton.cdiv(x.numel(), 64),)](x, out, x.numel(), BLOCK=64)",
    ),
    kernel(
        "a program reads back what it has written itself", None, "",
        TILE + "x = tl.load(x_ptr + offs, mask=mask, other=0.0)\ntl.store(out_ptr + offs, x, mask=mask)\n"
        "again = tl.load(out_ptr + offs, mask=mask, other=0.0)\ntl.store(out_ptr + offs, again + x, mask=mask)", LAUNCH,
    ),
    kernel(
        "parts of one allocation as two arguments", None, "",
        TILE + "x = tl.load(x_ptr + offs, mask=mask, other=0.0)\ntl.store(work_ptr + offs, x, mask=mask)\n"
        "tl.store(out_ptr + offs, x + tl.load(work_ptr + offs, mask=mask, other=0.0), mask=mask)",
        "both = torch.empty((2, x.numel()), dtype=x.dtype, device=x.device)\nout = both[1].view(x.shape)\n"
        + LAUNCH.replace("(x, out", "(x, both[0], out"), WORK,
    ),
    kernel(
        "a workspace kept from call to call", None, "",
        TILE + "x = tl.load(x_ptr + offs, mask=mask, other=0.0)\nwork = tl.load(work_ptr + offs % 8)\n"
        "tl.store(out_ptr + offs, 2 * x + 0 * work, mask=mask)",
        "if not hasattr(double, 'work'):\n    double.work = torch.zeros(8, dtype=torch.float32, device=x.device)\n"
        "work = double.work\n" + LAUNCH.replace("(x, out", "(x, work, out"), WORK,
    ),
]  # fmt: skip


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return graded(tmp_path_factory.mktemp("kernels"), [*WRONG, TUNED, *HONEST])


@pytest.mark.parametrize("entry", kernels(WRONG))
def test_wrong_access_is_found(results, entry):
    result = results[entry.name]
    assert (result.status, result.kind) == (Status.FAILED, entry.kind), reasons(result)
    assert entry.words in " / ".join(reasons(result))


@pytest.mark.parametrize("entry", kernels(e for e in WRONG if "another order" not in e.words))
def test_finding_names_the_line(results, entry):
    assert "kernel.py, line" in " / ".join(reasons(results[entry.name]))


def test_what_an_autotuner_spoils_is_not_called_a_race(results):
    """A trial spoils the first result and not the next one, in whatever order the programs run."""
    assert TUNED.words in " / ".join(reasons(results[TUNED.name]))
    assert {check.kind for check in results[TUNED.name].checks if check.kind} == {Kind.VALUES}


@pytest.mark.parametrize("entry", kernels(HONEST))
def test_honest_access_is_not_accused(results, entry):
    """Some of them move more bytes than they need, which is another question."""
    failed = [check for check in results[entry.name].checks if check.status is not Status.PASSED]
    assert {(check.kind, check.status) for check in failed} <= {(Kind.TRAFFIC, Status.FAILED), (None, Status.NOT_RUN)}


def test_accesses_are_seen_with_this_version_of_triton(results):
    assert {result.unchecked for result in results.values()} == {()}


def test_what_cannot_be_seen_is_said_to_be_not_checked(tmp_path):
    """As with a Triton that keeps its accesses elsewhere: the grader goes on, and claims nothing of them."""
    shutil.copytree(ROOT / "grader", tmp_path / "grader")
    shutil.copytree(TOY, tmp_path / "toy")
    hooks = tmp_path / "grader" / "runner" / "triton_private.py"
    text = hooks.read_text()
    hooks.write_text(text.replace('(interpreter, "_interpreter", _Accesses', '(interpreter, "_moved", _Accesses'))
    command = [sys.executable, "-m", "grader", "check", "01", "--from", "solutions"]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(command, cwd=tmp_path / "toy", env=environment, capture_output=True, text=True, check=True)
    assert "; memory safety and traffic not checked; not timed" in done.stdout
    assert "values, memory safety" not in done.stdout
