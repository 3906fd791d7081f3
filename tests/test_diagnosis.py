"""A mistake is named by its results, whatever the code looks like; where nothing equals, nothing is named.

All kernels of tests/diagnosis are graded by docs/evidence/diagnosis.py; here are some of each kind.
"""

from pathlib import Path

import pytest

from grader import mistakes
from grader.judge.diagnose import Suspect, _retiled
from grader.mistakes import with_tiles
from grader.results import ExerciseResult, Kind
from judging import ROOT, TOY, grade
from planted import planted

SOME = [
    "01_vector_add/sheet_close",
    "01_vector_add/sheet_same_second",  # of no list
    "02_row_wise_sum/parts_whole_only",
    "02_row_wise_sum/parts_one_less",  # of no list
    "02_row_wise_sum/rows_dense_columns",  # shows in a few cases only
    "02_row_wise_sum/rows_first_stretch",  # another length of tile than the reference solution's
    "03_row_wise_max/tile_low_start",  # the same mistake with another number
    "03_row_wise_max/negative_smallest",  # of no list
    "01_vector_add/sheet_whole_rows",  # two mistakes at once
]
DOUBLE = """
import torch
import triton
import triton.language as tl


@triton.jit
def a_kernel(x_ptr, out_ptr, n, TILE: tl.constexpr):
    for start in range(tl.program_id(0) * TILE, n, tl.num_programs(0) * TILE):
        offs = start + tl.arange(0, TILE)
        x = tl.load(x_ptr + offs, mask=offs < n, other=0.0)
        tl.store(out_ptr + offs, {}, mask=offs < n)


def double(x):
    out = torch.empty_like(x)
    a_kernel[(3,)](x, out, x.numel(), TILE=32)
    return out
"""


LISTED = sorted(path.name for path in (ROOT / "tests" / "diagnosis").iterdir())


def named(result):
    return {name for diagnosis in result.diagnoses for name in diagnosis.names}


KERNELS = {f"{kernel.exercise}/{kernel.name}": kernel for folder in LISTED for kernel in planted(folder)}


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("planted")
    paths = {KERNELS[name].write(folder): name for name in SOME}
    graded = grade(ROOT, [(path.parent.name, path) for path in paths], diagnosing=True)
    return {paths[path]: result for path, result in graded.items()}


@pytest.mark.parametrize("name", SOME)
def test_the_mistake_that_was_made_is_named_and_no_other(results, name):
    assert named(results[name]) == KERNELS[name].made


def test_two_mistakes_at_once_are_said_to_be_two(results):
    (diagnosis,) = results["01_vector_add/sheet_whole_rows"].diagnoses
    assert diagnosis.joint
    assert len(diagnosis.texts) == 2


@pytest.mark.parametrize("exercise", LISTED)
def test_planted_mistakes_are_known_ones(exercise):
    known = {mistake.name for mistake in mistakes.load(ROOT / "solutions" / exercise / "mistakes.toml")}
    kernels = planted(exercise)
    assert len({kernel.text for kernel in kernels}) == len(kernels) > 8
    assert set().union(*(kernel.made for kernel in kernels)) <= known


@pytest.fixture(scope="module")
def doubles(tmp_path_factory):
    """The results of kernels that store something else than 2 * x."""
    folder = tmp_path_factory.mktemp("doubles")
    stored = {"thrice": "x + x + x", "minus": "-x - x", "four": "4 * x", "nan": "x / (x - x)", "right": "x + x"}
    for name, what in stored.items():
        (folder / f"{name}.py").write_text(DOUBLE.format(what))
    graded = grade(TOY, [("01_double", folder / f"{name}.py") for name in stored], diagnosing=True)
    return {path.stem: result for path, result in graded.items()}


@pytest.mark.parametrize("name", ["thrice", "minus"])
def test_every_form_of_a_mistake_is_known(doubles, name):
    assert named(doubles[name]) == {"times three"}
    (diagnosis,) = doubles[name].diagnoses
    assert (diagnosis.function, diagnosis.hint, diagnosis.joint) == ("double", 2, False)
    assert diagnosis.cases >= 2


@pytest.mark.parametrize("name", ["four", "nan", "right"])
def test_nothing_is_named_without_evidence(doubles, name):
    assert doubles[name].diagnoses == ()


def test_result_with_a_diagnosis_survives_json(doubles):
    assert ExerciseResult.from_json(doubles["thrice"].to_json()) == doubles["thrice"]


def test_solution_with_other_tiles_keeps_the_rest():
    text = "def f(x):\n    BLOCK_N = 4096\n    k[(1,)](x, BLOCK_N=BLOCK_N, num_warps=4)\n    g[(1,)](x, BLOCK_C=64)"
    tried = list(with_tiles(text, [1024, 8]))
    assert all("num_warps=4" in other for other in tried)
    assert any("BLOCK_N = 1024" in other for other in tried)
    assert any("BLOCK_C=1024" in other for other in tried)
    assert not any("= 8" in other for other in tried)  # too short for a tile


def test_solution_is_not_changed_where_its_tiles_are_those_of_the_submission():
    assert list(with_tiles("BLOCK_N, BLOCK_C = 4096, 64", [4096, 64])) == []
    assert [text.split("\n")[-1] for text in with_tiles("BLOCK_N = 64", [64])] == [f"BLOCK_N = {n}" for n in (128, 256, 512)]
    assert list(with_tiles("BLOCK_N = triton.next_power_of_2(n)", [1024])) == []  # it depends on the data


def test_broken_list_of_mistakes_is_named(tmp_path: Path):
    path = tmp_path / "mistakes.toml"
    path.write_text('[[mistake]]\nname = "half of an entry"')
    with pytest.raises(mistakes.CourseError, match=r"mistakes\.toml is not a list of mistakes"):
        mistakes.load(path)


def test_mistakes_know_their_kind():
    known = mistakes.load(TOY / "solutions/01_double/mistakes.toml")
    assert [mistake.kind for mistake in known] == [Kind.VALUES, Kind.UNWRITTEN]


def test_a_mistake_whose_tiles_cannot_be_others_does_not_keep_the_rest_from_it():
    known = mistakes.load(TOY / "solutions/01_double/mistakes.toml")
    suspects = [Suspect(known[:1], "BLOCK_N = 4096"), Suspect(known[1:], "BLOCK_N, BLOCK_C = 64, 32")]
    tried = [suspect for way in _retiled(suspects, [64, 32]) for suspect in way]
    assert tried
    assert {suspect.mistakes for suspect in tried} == {known[:1]}
