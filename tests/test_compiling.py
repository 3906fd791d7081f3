"""The real compiler, asked without a GPU: what the interpreter accepts and it refuses.

The wrong kernels compute the right values in the interpreter.
"""

import pytest
from toy_kernels import LAUNCH, TILE, graded, kernel, kernels, reasons

from grader.judge.compiling import TARGETS
from grader.results import Kind, Status

LOAD = TILE + "x = tl.load(x_ptr + offs, mask=mask, other=0.0)\n"
STORE = "\ntl.store(out_ptr + offs, 2 * x, mask=mask)"

WRONG = [
    kernel(
        "an accumulator that changes its dtype in a loop", Kind.COMPILE, "kernel.py, line",
        LOAD + "acc = tl.zeros((BLOCK,), dtype=tl.int32)\nfor i in range(n // n * 2):\n    acc = acc + x.to(tl.float32)\n"
        "tl.store(out_ptr + offs, acc, mask=mask)", LAUNCH,
    ),
    kernel(
        "a block as the condition of an if", Kind.COMPILE, "kernel.py, line",
        LOAD + "if mask:\n    x = x + 0.0" + STORE, LAUNCH,
    ),
    kernel(
        "a number from outside the kernel that is no constexpr", Kind.COMPILE, "kernel.py, line",
        LOAD + "x = x * ONE" + STORE, "globals()['ONE'] = 1.0\n" + LAUNCH,
    ),
    kernel(
        "a list of Python", Kind.COMPILE, "kernel.py, line",
        LOAD + "parts = [x for _ in range(2)]\nx = parts[0]" + STORE, LAUNCH,
    ),
    kernel(
        "a format string", Kind.COMPILE, "kernel.py, line",
        LOAD + "text = f'{BLOCK} elements'\nwhile len(text) == 0:\n    x = x + 1" + STORE, LAUNCH,
    ),
    kernel(
        "tiles that need too much shared memory", Kind.COMPILE, "memory, where compute capability 9.0 has 232,448",
        LOAD + "i = tl.arange(0, 128)\nj = tl.arange(0, 64)\nacc = tl.zeros((128, 128), dtype=tl.float32)\n"
        "for k in range(0, n - n % 64, 64):\n"
        "    a = tl.load(x_ptr + (k + j[None, :] + 0 * i[:, None]))\n"
        "    b = tl.load(x_ptr + (k + j[:, None] + 0 * i[None, :]))\n"
        "    acc = tl.dot(a, b, acc)\nx = x + 0 * tl.sum(tl.sum(acc, axis=0), axis=0)" + STORE,
        LAUNCH.replace("BLOCK=64", "BLOCK=64, num_stages=6"),
    ),
]  # fmt: skip


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return graded(tmp_path_factory.mktemp("kernels"), WRONG, compiling=True)


@pytest.mark.parametrize("entry", kernels(WRONG))
def test_what_only_the_compiler_refuses_is_a_failure(results, entry):
    result = results[entry.name]
    assert result.checks[-1].kind is entry.kind, reasons(result)
    assert entry.words in " / ".join(reasons(result))


@pytest.mark.parametrize("entry", kernels(WRONG))
def test_the_interpreter_alone_would_have_passed_it(results, entry):
    """But for its traffic, in one case, which is another question."""
    failed = [check for check in results[entry.name].checks if check.status is Status.FAILED]
    labels = [check.label for check in failed if check.kind is not Kind.TRAFFIC]
    assert labels == ["compiles for compute capability 9.0"]


@pytest.mark.parametrize(
    ("registers", "shared", "warps", "occupancy"),
    [(32, 0, 4, 1.0), (64, 0, 4, 0.5), (32, 100 << 10, 4, 2 * 4 / 64), (255, 0, 8, 8 / 64), (32, 0, 1, 32 / 64)],
)
def test_occupancy_by_hand(registers, shared, warps, occupancy):
    """65,536 registers, 228 KiB of shared memory, 64 warps and 32 programs on a processor of compute capability 9.0."""
    assert TARGETS["sm_90"].occupancy({"registers": registers, "shared": shared, "warps": warps}) == occupancy
