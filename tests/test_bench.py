"""What `grader bench` makes of times, on times made up here. Taking them needs a GPU: tests/test_gpu.py."""

import importlib.util
import os
import subprocess
import sys

import pytest

from grader.judge.bench import Rival, _agree, _names
from grader.report.bench import best_own, best_peer, draw, machine_lines, rows, title
from grader.results import BenchResult, Contender, Machine
from judging import ROOT

MACHINE = Machine("NVIDIA Test", (("torch", "2.13.0"),), 4e12, 8e14, "2026-01-01T00:00:00+00:00")


def contender(name, seconds, note=""):
    return Contender(name, seconds, seconds * 0.99, seconds * 1.01, 30, note)


SUM = BenchResult(
    "02_row_wise_sum", "row_wise_sum", "4 × 4 float32", 4 * 10**8, 0.0, 1e-4,
    (contender("reference", 1.25e-4), contender("yours", 1e-3), contender("eager", 2e-4), contender("compile", 1.2e-4)),
)  # fmt: skip
PRODUCT = BenchResult(
    "06_matmul", "matmul", "4096 × 4096 float16", 10**8, 1.4e11, 1.75e-4,
    (
        contender("reference", 2.8e-4), contender("fast", 1.9e-4), contender("cublas", 2e-4),
        contender("wrong", 1e-5, "its result differs from the reference solution's"),
        Contender("liger", note="not timed: ModuleNotFoundError: No module named 'liger_kernel'"),
    ),
)  # fmt: skip


def test_memory_bound_work_is_shown_in_bytes_per_second_and_its_share_of_a_copy():
    assert "100 µs at the ceiling of memory traffic" in title(MACHINE, SUM)
    assert rows(MACHINE, SUM)[0] == ("reference", "125 µs", "3.20 TB/s", "80%", "")


def test_products_are_shown_in_operations_per_second_and_their_share_of_cublas():
    assert "175 µs at the ceiling of arithmetic" in title(MACHINE, PRODUCT)
    assert rows(MACHINE, PRODUCT)[1] == ("fast", "190 µs", "737 TFLOP/s", "92%", "")


def test_what_cannot_be_timed_is_named_with_its_reason():
    assert rows(MACHINE, PRODUCT)[4] == ("liger", "", "", "", PRODUCT.contenders[4].note)


def test_a_peer_that_computes_something_else_is_never_the_best():
    assert best_peer(PRODUCT).name == "cublas"
    assert best_own(PRODUCT).name == "fast"


def test_the_learners_kernel_is_neither_peer_nor_ours():
    fast_learner = BenchResult(
        *[getattr(SUM, f) for f in SUM.__dataclass_fields__][:6], (contender("yours", 1e-5), *SUM.contenders)
    )
    assert best_peer(fast_learner).name == "compile"
    assert best_own(fast_learner).name == "reference"


def test_records_survive_json():
    import json
    from dataclasses import asdict

    for record in (SUM, PRODUCT, MACHINE):
        assert type(record).from_json(json.loads(json.dumps(asdict(record)))) == record


def test_the_machine_is_named_with_its_ceilings():
    assert list(machine_lines(MACHINE)) == [
        "NVIDIA Test; torch 2.13.0",
        "ceilings measured here: a large copy 4.00 TB/s, a large float16 product 800 TFLOP/s",
    ]


def test_picture_is_drawn(tmp_path):
    pytest.importorskip("matplotlib")
    draw(MACHINE, [SUM, PRODUCT], tmp_path / "bench.png")
    assert (tmp_path / "bench.png").read_bytes().startswith(b"\x89PNG")


def test_peers_are_the_names_that_begin_with_a_function(tmp_path):
    path = tmp_path / "peers.py"
    path.write_text(
        "import torch\n\n\ndef softmax_eager(x):\n    return helper(x)\n\n\ndef helper(x):\n    return x\n\n\n"
        "softmax_compile = torch.compile(softmax_eager)\nLIMIT = 3\n"
    )
    assert _names(path, ("softmax", "stable_softmax")) == ("softmax_eager", "softmax_compile")


def test_results_agree_only_if_they_are_the_same_but_for_rounding():
    import torch

    x = torch.randn(100)
    assert _agree([x.half()], [x])
    assert not _agree([x * 1.1], [x])
    assert not _agree([x[:50]], [x])
    assert not _agree([torch.full_like(x, torch.nan)], [x])


def test_a_rival_that_has_left_the_race_has_no_time():
    assert Rival("liger", None, "f", [1.0], "not timed: why", out=True).summary() == Contender(
        "liger", note="not timed: why"
    )


def test_page_of_benchmarks_says_what_was_measured():
    spec = importlib.util.spec_from_file_location("benchmark_table", ROOT / "docs/benchmark_table.py")
    spec.loader.exec_module(page := importlib.util.module_from_spec(spec))
    (measured,) = (ROOT / "docs/evidence").glob("bench-*.json")
    (shown,) = page.BETWEEN_MARKS.findall(page.PAGE.read_text())
    assert shown == page.table(*page.read(measured))


@pytest.mark.skipif(os.path.exists("/dev/nvidia0"), reason="there is a GPU here")
def test_without_a_gpu_it_says_so():
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-m", "grader", "bench", "01"], cwd=ROOT, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 3
    assert "there is no GPU here" in done.stderr
    assert "Traceback" not in done.stderr
