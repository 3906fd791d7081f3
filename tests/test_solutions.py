"""Without a GPU much is measured of some reference solutions: what the compiler makes of them, and the bytes they move."""

import pytest

from grader.results import Status
from judging import ROOT, grade

NAMES = "01_vector_add", "04_softmax", "06_matmul", "07_advanced_matmul"


@pytest.fixture(scope="module")
def results():
    """By number of the exercise."""
    units = [(name, ROOT / "solutions" / name / "kernel.py") for name in NAMES]
    return {result.exercise[:2]: result for result in grade(ROOT, units, compiling=True).values()}


def compiled(result, dtype):
    """Everything the compiler said of a solution, variant by variant."""
    return [variant for variant in result.compiled if variant.dtype == dtype]


def test_all_pass(results):
    assert {result.status for result in results.values()} == {Status.PASSED}


def test_wide_loads_are_seen(results):
    assert [variant.load_bytes for variant in compiled(results["01"], "float32")] == [16]


def test_tensor_cores_are_seen_where_they_are_used(results):
    assert [variant.tensor_cores for variant in compiled(results["06"], "float16")] == ["wgmma"]
    assert [variant.tensor_cores for variant in compiled(results["06"], "float32")] == [""]  # it asks for full precision


def test_every_configuration_of_an_autotuner_is_compiled(results):
    assert len({variant.shared for variant in compiled(results["07"], "float16")}) == 3


def test_registers_and_occupancy_are_known(results):
    variants = [variant for result in results.values() for variant in result.compiled]
    assert {variant.dtype for variant in variants} == {"float32", "float16"}
    for variant in variants:
        assert 8 <= variant.registers <= 255
        assert 0 < variant.occupancy <= 1


def test_an_autotuner_is_judged_by_its_thriftiest_configuration(results):
    """07 has configurations with tiles of 64 and more; which of them the interpreter runs otherwise is left to chance."""
    (counted,) = results["07"].traffic
    assert counted.bytes == counted.reference_bytes
    assert counted.flops >= 2 * 256 * 192 * 256


def test_special_functions_are_counted(results):
    assert results["04"].traffic
    for counted in results["04"].traffic:
        assert counted.specials == 8 * 1024  # one exp for every lane of the tile, masked or not
