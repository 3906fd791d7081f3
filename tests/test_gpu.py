"""What only a GPU can show: `pytest tests/test_gpu.py` where there is one. Elsewhere each test says why it is skipped."""

import pytest
import torch
from test_honest import FILES as HONEST
from test_hostile import FILES as HOSTILE

from grader.results import Kind, Speed, Status
from judging import ROOT, TOY, grade

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU"),
]

# Where a GPU ends a submission in another way than the interpreter does.
OTHERWISE = {
    "segfault": Kind.OUTSIDE,  # the driver reports the illegal access
    "decoy": Kind.CRASH,  # numpy cannot see memory of the GPU
    "numpy_output": Kind.CRASH,
    "hides_a_write": Kind.CRASH,
    "torch_in_kernel": Kind.COMPILE,
    "wrong_shape": Kind.CRASH,  # it allocates on the CPU, where no kernel may write
}


@pytest.mark.parametrize("path", HOSTILE, ids=lambda path: path.stem)
def test_hostile_gets_its_own_verdict(path):
    kind = OTHERWISE.get(path.stem) or Kind(path.read_text().strip('"').partition(":")[0])
    result = grade(TOY, [("01_double", path)], engine="gpu")[path]
    assert result.kind is kind, result.checks[0]


@pytest.mark.parametrize("path", HONEST, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_honest_passes(path):
    result = grade(ROOT, [(path.parent.name, path)], engine="gpu", timing=False)[path]
    assert result.status is Status.PASSED, [c for c in result.checks if c.status is not Status.PASSED]


def test_slow_kernel_misses_its_target(tmp_path):
    path = tmp_path / "kernel.py"
    solution = (ROOT / "solutions/01_vector_add/kernel.py").read_text()
    path.write_text(solution.replace("BLOCK_SIZE = 1024", "BLOCK_SIZE = 32"))
    result = grade(ROOT, [("01_vector_add", path)], engine="gpu")[path]
    assert (result.status, result.kind) == (Status.FAILED, Kind.TOO_SLOW), result.timings
    assert [timing.verdict for timing in result.timings] == [Speed.MISSES]


def test_skipping_work_when_timed_is_noticed(tmp_path):
    """Timed inputs are larger than all others here: for them it computes twice, and later returns what it had then."""
    path = tmp_path / "kernel.py"
    solution = (ROOT / "solutions/01_vector_add/kernel.py").read_text().replace("def vector_add(", "def honest(")
    path.write_text(
        f"{solution}\n\nKEPT = []\n\n\ndef vector_add(x, y):\n"
        "    if x.numel() < 2**27:\n        return honest(x, y)\n"
        "    if len(KEPT) < 2:\n        KEPT.append(honest(x, y))\n"
        "    return KEPT[-1]\n"
    )
    result = grade(ROOT, [("01_vector_add", path)], engine="gpu")[path]
    assert result.status is Status.FAILED
    assert "timed call" in " ".join(result.checks[-1].reason)
