"""What only a GPU can show: `pytest tests/test_gpu.py` where there is one. Elsewhere each test says why it is skipped."""

import json
import subprocess
import sys

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
    assert not [(check.label, *check.reason) for check in result.checks if check.status is Status.FAILED]
    assert result.status is Status.PASSED


NAIVE = sorted((ROOT / "tests" / "naive").glob("*/*.py"))
ADD = (ROOT / "solutions/01_vector_add/kernel.py").read_text()
HONEST_ADD = ADD.replace("def vector_add(", "def honest(")


def timed(tmp_path, text):
    """The result of a `vector_add` with this text, timed."""
    path = tmp_path / "kernel.py"
    path.write_text(text)
    return grade(ROOT, [("01_vector_add", path)], engine="gpu")[path]


@pytest.mark.parametrize("path", NAIVE, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_naive_kernel_is_right_and_misses_its_target(path):
    result = grade(ROOT, [(path.parent.name, path)], engine="gpu")[path]
    failed = [check for check in result.checks if check.status is Status.FAILED]
    assert failed, result.timings
    assert {check.kind for check in failed} == {Kind.TOO_SLOW}
    assert Speed.MISSES in [timing.verdict for timing in result.timings]


def test_solution_meets_its_target_excellently(tmp_path):
    result = timed(tmp_path, ADD)
    assert result.status is Status.PASSED
    assert all(timing.is_excellent for timing in result.timings), result.timings


# Timed inputs are larger than all others of 01_vector_add here, so a cheat can tell the timed calls from the rest.
CHEATS = {
    "returns what it had before": """
KEPT = []


def vector_add(x, y):
    if x.numel() < 2**27:
        return honest(x, y)
    if len(KEPT) < 2:
        KEPT.append(honest(x, y))
    return KEPT[-1]
""",
    "works on another stream": """
STREAMS = []


def vector_add(x, y):
    if x.numel() < 2**27:
        return honest(x, y)
    if not STREAMS:
        STREAMS.append(torch.cuda.Stream())
    with torch.cuda.stream(STREAMS[0]):
        return honest(x, y)
""",
    "takes all memory": """
KEPT = []


def vector_add(x, y):
    if x.numel() < 2**27:
        return honest(x, y)
    KEPT.extend(torch.empty(2**36, device=x.device) for _ in range(4))
    return honest(x, y)
""",
}


@pytest.mark.parametrize("cheat", CHEATS)
def test_cheating_in_timed_calls_fails(tmp_path, cheat):
    result = timed(tmp_path, f"{HONEST_ADD}\n\n{CHEATS[cheat]}")
    assert result.status is Status.FAILED, result.timings
    assert result.kind in {Kind.VALUES, Kind.UNWRITTEN, Kind.CLOCK, Kind.MEMORY}, result.checks[-1]
    assert result.checks[-1].label.startswith("speed on")


def test_bench_times_everyone(tmp_path):
    command = [sys.executable, "-m", "grader", "bench", "01", "--json", str(tmp_path / "bench.json")]
    subprocess.run(command, cwd=ROOT, check=True, timeout=300)
    data = json.loads((tmp_path / "bench.json").read_text())
    (result,) = data["results"]
    times = {contender["name"]: contender["seconds"] for contender in result["contenders"]}
    assert {"reference", "eager", "compile"} <= set(times)
    assert all(seconds and result["floor"] * 0.85 < seconds < 1e-2 for seconds in times.values()), times
