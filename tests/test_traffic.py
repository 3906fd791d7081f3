"""Traffic without a GPU: bytes are counted exactly, what is extra is named, and no thrifty kernel is accused.

Every kernel answers exercise 01 of the toy course, which asks for at most 1.2 times the reference solution's bytes.
"""

import pytest
from toy_kernels import LAUNCH, TILE, WORK, graded, kernel, kernels, reasons

from grader.report import wording
from grader.results import Kind, Status

TRAFFIC = Kind.TRAFFIC
X = "x = tl.load(x_ptr + offs, mask=mask, other=0.0)\n"
STORE = "tl.store(out_ptr + offs, 2 * x, mask=mask)"
WITH_WORK = "work = torch.empty_like(x)\n" + LAUNCH.replace("(x, out", "(x, work, out")

WRONG = [
    kernel(
        "x read twice", TRAFFIC, "argument 1 (x_ptr) is read 2.0 times, by the reference solution 1.0 times",
        TILE + X + "y = tl.load(x_ptr + offs, mask=mask, other=0.0)\ntl.store(out_ptr + offs, x + y, mask=mask)", LAUNCH,
    ),
    kernel(
        "three passes over x", TRAFFIC, "argument 1 (x_ptr) is read 3.0 times",
        TILE + "x = tl.zeros((BLOCK,), tl.float32)\nfor i in range(3):\n"
        "    y = tl.load(x_ptr + offs, mask=mask, other=0.0)\n    x += tl.where(i < 2, y.to(tl.float32), 0.0)\n"
        "tl.store(out_ptr + offs, x, mask=mask)", LAUNCH,
    ),
    kernel(
        "every program reads all of x", TRAFFIC, "argument 1 (x_ptr) is read",
        TILE + "for start in range(0, n, BLOCK):\n    more = start + tl.arange(0, BLOCK)\n"
        "    x = tl.load(x_ptr + more, mask=more < n, other=0.0)\n"
        "    tl.store(out_ptr + more, 2 * x, mask=(more < n) & (more // BLOCK == tl.program_id(0)))", LAUNCH,
    ),
    kernel(
        "a halo as wide as the tile", TRAFFIC, "argument 1 (x_ptr) is read",
        TILE + X + "halo = tl.load(x_ptr + offs + BLOCK, mask=offs + BLOCK < n, other=0.0)\n"
        "tl.store(out_ptr + offs, 2 * x + tl.where(halo == halo, 0.0, 0.0), mask=mask)", LAUNCH,
    ),
    kernel(
        "an intermediate in memory", TRAFFIC, "an intermediate result of 1,200 bytes (work_ptr) is written and read back",
        TILE + X + "tl.store(work_ptr + offs, x, mask=mask)\ny = tl.load(work_ptr + offs, mask=mask, other=0.0)\n"
        "tl.store(out_ptr + offs, x + y, mask=mask)", WITH_WORK, WORK,
    ),
    kernel(
        "two kernels for what one can do", TRAFFIC, "an intermediate result of 1,200 bytes (out_ptr) is written",
        TILE + X + "tl.store(out_ptr + offs, 1.4142135623730951 * x, mask=mask)",
        "work = torch.empty(x.shape, dtype=x.dtype, device=x.device)\n"
        + LAUNCH.replace("(x, out", "(x, work") + "\n" + LAUNCH.replace("(x, out", "(work, out"),
    ),
    kernel(
        "the output read back", TRAFFIC, "output 1 (out_ptr) is read back 1.0 times",
        TILE + X + "tl.store(out_ptr + offs, x, mask=mask)\ny = tl.load(out_ptr + offs, mask=mask, other=0.0)\n"
        "tl.store(out_ptr + offs, x + y, mask=mask)", LAUNCH,
    ),
    kernel(
        "a copy in float64", TRAFFIC, "an intermediate result of 2,400 bytes (work_ptr) is written and read back",
        TILE + X + "tl.store(work_ptr + offs, x.to(tl.float64), mask=mask)\n"
        "y = tl.load(work_ptr + offs, mask=mask, other=0.0)\ntl.store(out_ptr + offs, 2 * y, mask=mask)",
        WITH_WORK.replace("torch.empty_like(x)", "torch.empty(x.shape, dtype=torch.float64, device=x.device)"), WORK,
    ),
]  # fmt: skip

HONEST = [
    kernel("large tiles", None, "", TILE + X + STORE, "a_kernel[(1,)](x, out, x.numel(), BLOCK=512)"),
    kernel("small tiles", None, "", TILE + X + STORE, LAUNCH.replace("64", "16")),
    kernel(
        "a persistent program", None, "",
        "for start in range(tl.program_id(0) * BLOCK, n, tl.num_programs(0) * BLOCK):\n"
        "    offs = start + tl.arange(0, BLOCK)\n    mask = offs < n\n    " + X + "    " + STORE,
        "a_kernel[(2,)](x, out, x.numel(), BLOCK=32)",
    ),
    kernel(
        "the last tile moved back", None, "",
        "start = tl.minimum(tl.program_id(0) * BLOCK, n - BLOCK)\noffs = start + tl.arange(0, BLOCK)\n"
        "tl.store(out_ptr + offs, 2 * tl.load(x_ptr + offs))", LAUNCH,
    ),
    kernel(
        "scratch that is only written", None, "",
        TILE + X + STORE + "\ntl.store(work_ptr + tl.program_id(0), 1.0)",
        "work = torch.empty(64, device=x.device)\n" + LAUNCH.replace("(x, out", "(x, work, out"), WORK,
    ),
]  # fmt: skip


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return graded(tmp_path_factory.mktemp("kernels"), [*WRONG, *HONEST])


@pytest.mark.parametrize("entry", kernels(WRONG))
def test_extra_traffic_is_named(results, entry):
    assert results[entry.name].kind is TRAFFIC, reasons(results[entry.name])
    assert entry.words in " / ".join(reasons(results[entry.name]))


@pytest.mark.parametrize("entry", kernels(WRONG))
def test_values_alone_would_have_passed_it(results, entry):
    failed = [check for check in results[entry.name].checks if check.status is Status.FAILED]
    assert [check.label for check in failed] == ["memory traffic on 300 float32"]


@pytest.mark.parametrize("entry", kernels(HONEST))
def test_thrift_is_not_accused(results, entry):
    assert results[entry.name].status is Status.PASSED, reasons(results[entry.name])


def test_bytes_are_counted_exactly(results):
    """300 float32 in and out are 2400 bytes; 256 lanes of the last tiles are masked and do not count."""
    (counted,) = results["large tiles"].traffic
    assert (counted.bytes, counted.reference_bytes) == (2400, 2400)
    assert [(tensor.loaded, tensor.stored) for tensor in counted.tensors] == [(1.0, 0.0), (0.0, 1.0)]


def test_the_table_is_called_traffic_and_never_time(results):
    lines = list(wording.traffic(results["x read twice"].traffic[0]))
    assert lines[0] == "traffic of double on 300 float32: 3,600 bytes, 1.50 times the reference solution's"
    assert "    x_ptr (argument 1, 1,200 bytes): read 2, written 0 times" in lines
    assert not any("second" in line or "µs" in line for line in lines)
