"""A mistake is named by its results, whatever the code looks like; where nothing equals, nothing is named.

All kernels of tests/diagnosis are graded by docs/evidence/diagnosis.py; here are some of each kind.
"""

from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from grader import course, mistakes
from grader.channel import POISON_MARKS
from grader.judge import diagnose
from grader.judge.diagnose import _nameable
from grader.judge.job import Job
from grader.judge.nursery import Nursery, RunnerUnavailable
from grader.judge.plugin import Checks
from grader.judge.process import Runner
from grader.judge.session import Session
from grader.judge.submission import Submission
from grader.judge.suspects import Suspect, backwards, numbers, reached, with_tiles
from grader.report import wording
from grader.results import CheckResult, Diagnosis, ExerciseResult, Kind, Status
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
    "14_flash_attention/never_updated_backwards",  # goes from the last keys to the first, where order matters
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

TUNED = """
import torch
import triton
import triton.language as tl


@triton.autotune([triton.Config({"TILE": 4096}), triton.Config({"TILE": 64})], key=["n"])
@triton.jit
def a_kernel(x_ptr, out_ptr, n, TILE: tl.constexpr):
    offs = tl.arange(0, TILE)
    tl.store(out_ptr + offs, 2 * tl.load(x_ptr + offs, mask=offs < n, other=0.0), mask=offs < n)


def double(x):
    out = torch.empty_like(x)
    a_kernel[(2,)](x, out, x.numel())
    return out
"""

ADDING = """
import torch
import triton
import triton.language as tl


@triton.autotune([triton.Config({"TILE": 64}), triton.Config({"TILE": 128})], key=[])
@triton.jit
def a_kernel(x_ptr, out_ptr, n, TILE: tl.constexpr):
    offs = tl.program_id(0) * TILE + tl.arange(0, TILE)
    doubled = 2 * tl.load(x_ptr + offs, mask=offs < n, other=0.0)
    tl.store(out_ptr + offs, doubled + tl.load(out_ptr + offs, mask=offs < n, other=0.0), mask=offs < n)


def double(x):
    out = torch.zeros_like(x)
    a_kernel[lambda meta: (triton.cdiv(x.numel(), meta["TILE"]),)](x, out, x.numel())
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


def diagnosed(tmp_path, text, kind):
    """The names of the mistakes that a submission for 01_double is found to have."""
    path = tmp_path / "kernel.py"
    path.write_text(text)
    track = course.load(TOY)
    exercise = track.find("01_double")
    solution, known = track.solution(exercise).read_text(), mistakes.load(track.mistakes(exercise))
    known += (replace(known[0], name="times six", after="6 * x", also=()),)
    failed = CheckResult("double", "a ragged tail", Status.FAILED, kind, cases=1)
    with closing(Nursery("interpreter")) as nursery:
        submission = Submission(path, exercise, nursery)
        found = diagnose.run(submission, solution, known, track.hidden_tests(exercise), [failed])
        return [name for diagnosis in found for name in diagnosis.names]


def test_what_only_the_choice_of_an_autotuner_gets_wrong_is_named(tmp_path):
    """The first call of a size is right for once: the trial of the other configuration has written the rest."""
    assert diagnosed(tmp_path, TUNED, Kind.UNWRITTEN) == ["tile of the first program"]


def test_what_only_the_trials_of_an_autotuner_get_wrong_is_named(tmp_path):
    """Two trials and the call itself add up to three times the result; a call that need not choose any more is right."""
    assert diagnosed(tmp_path, ADDING, Kind.VALUES) == ["times six"]


def test_processes_of_another_nursery_are_no_strays(tmp_path):
    """On a GPU the interpreter is asked as well, from processes of its own."""
    path = tmp_path / "kernel.py"
    path.write_text(DOUBLE.format("x + x"))
    exercise = course.load(TOY).find("01_double")
    with closing(Nursery("interpreter")) as first, closing(Nursery("interpreter", beside=first)) as second:
        homes = (first, second, first)
        one, other, another = (Runner(path, exercise.functions, nursery, "interpreter") for nursery in homes)
        one.stop()
        other.stop()
        assert another.ask({"do": "load", "poison": POISON_MARKS[0]}, None, 60)[0]["number"] == 1
        assert Runner(path, exercise.functions, second, "interpreter").alive


@pytest.mark.parametrize("works", [True, False])
def test_on_a_gpu_the_interpreter_is_asked_first(tmp_path, monkeypatch, works):
    """Where it does not work, the GPU is asked all the same. Here is none, so nothing comes of that."""
    path = tmp_path / "kernel.py"
    path.write_text(DOUBLE.format("x + x + x"))
    asked = []
    run = diagnose.run

    def watched(submission, *rest):
        asked.append(submission.engine)
        if not works or submission.engine == "gpu":
            raise RunnerUnavailable
        return run(submission, *rest)

    monkeypatch.setattr(diagnose, "run", watched)
    failed = CheckResult("double", "one full tile", Status.FAILED, Kind.VALUES, cases=1)
    with closing(Nursery("interpreter")) as nursery:
        session = Session(Job(str(TOY), ()), nursery, print)
        submission = Submission(path, course.load(TOY).find("01_double"), nursery, engine="gpu")
        checks = Checks(submission, "", 0, False, print)
        checks.results.append(failed)
        found = session._diagnosed(submission, checks)
    assert asked == ["interpreter", "gpu"]
    assert [diagnosis.names for diagnosis in found] == [("times three",)] * works


@pytest.mark.parametrize("name", ["four", "nan", "right"])
def test_nothing_is_named_without_evidence(doubles, name):
    assert doubles[name].diagnoses == ()


def test_result_with_a_diagnosis_survives_json(doubles):
    assert ExerciseResult.from_json(doubles["thrice"].to_json()) == doubles["thrice"]


def tiled(text, shapes):
    return list(with_tiles(text, text, shapes))


def test_solution_with_other_tiles_keeps_the_rest():
    text = "def f(x):\n    BLOCK_N = 4096  # √\n    k[(1,)](x, BLOCK_N=BLOCK_N, num_warps=4)\n    g[(1,)](x, BLOCK_C=64)"
    tried = tiled(text, [(1024, 8)])
    assert all("num_warps=4" in other for other in tried)
    assert any("BLOCK_N = 4096; BLOCK_N = 1024  # √" in other for other in tried)
    assert any("BLOCK_C=1024" in other for other in tried)
    assert not any("=8" in other or "= 8" in other for other in tried)  # too short for a tile


def test_solution_is_not_changed_where_its_tiles_are_those_of_the_submission():
    assert tiled("BLOCK_N, BLOCK_C = 4096, 64", [(4096, 64)]) == []
    assert [text.split()[-1] for text in tiled("BLOCK_N = 64", [(64,)])] == ["128", "256", "512"]


def test_tiles_that_depend_on_the_data_only_become_longer():
    """More of a tile may be padding; with a shorter one a right kernel would be wrong."""
    text = "BLOCK_N = triton.next_power_of_2(n)"
    assert tiled(text, [(1024,)]) == [f"{text}; BLOCK_N = max(triton.next_power_of_2(n), 1024)"]


def test_tiles_are_those_that_explain_what_was_loaded():
    text = "BLOCK_M, BLOCK_N, BLOCK_K = 128, 128, 64"
    chosen = {tuple(other.split(";")[-3:]) for other in tiled(text, [(64, 32), (32, 16)])}
    assert len(chosen) == 6  # each order of 64, 32 and 16
    text = "BLOCK_M, BLOCK_N = 128, 64\nBLOCK_D = triton.cdiv(n, 2)"
    tried = "".join(tiled(text, [(64, 512), (32, 512)]))
    assert "BLOCK_N = 32; BLOCK_M = 64" in tried  # 512 may be the length that depends on the data
    assert "BLOCK_N = 64; BLOCK_M = 64" not in tried  # nothing would be 32


def test_two_tiles_side_by_side_are_tried_as_one():
    text = "BLOCK_M, BLOCK_N = 128, 64"
    paired = list(with_tiles(text, text, [(32, 16)], with_pairs=True))
    assert {other.split("; ", 1)[1] for other in paired} == {
        f"BLOCK_N = {n}; BLOCK_M = {m}" for m, n in [(32, 16), (16, 32), (64, 16), (32, 32), (16, 64)]
    }


def test_where_all_tiles_are_short_they_are_no_numbers_of_rows():
    assert tiled("BLOCK_N = 1024", [(2,)])[0] == "BLOCK_N = 1024; BLOCK_N = 2"
    assert tiled("BLOCK_M, BLOCK_N = 64, 64", [(2, 4)]) == []


def test_groups_of_tiles_are_varied():
    tried = tiled('CONFIG = {"BLOCK_M": 64, "GROUP_M": 8}', [(64,)])
    assert {'{"BLOCK_M": 128, "GROUP_M": 8}', '{"BLOCK_M": 64, "GROUP_M": 4}'} <= {
        other[len("CONFIG = ") :] for other in tried
    }


def test_configurations_of_other_tiles_are_not_pruned():
    tried = tiled('@autotune([{"BLOCK_M": 64}], prune_configs_by={"early_config_prune": short})\ndef f(): pass', [(256,)])
    assert '@autotune([{"BLOCK_M": 256}], prune_configs_by=None)\ndef f(): pass' in tried


def test_a_length_that_only_the_mistake_has_fixed_stays():
    """Otherwise one length for all rows could be another one for each row, which is no mistake."""
    solution = "BLOCK_N = triton.next_power_of_2(n)"
    assert list(with_tiles("BLOCK_N = 1024", solution, [(64,), (128,)])) == []


def test_a_length_that_the_mistake_makes_depend_on_the_data_stays():
    """Otherwise the mistake would be cut down to another one."""
    solution = "BLOCK_N = 1024\nk[(1,)](BLOCK_N=BLOCK_N)"
    edited = solution.replace("1024", "triton.next_power_of_2(n)")
    assert set(with_tiles(edited, solution, [(64,)])) == {edited}


@pytest.mark.parametrize("loop", ["range(n)", "range(2, n)", "range(0, n, 3)", "range(1, 2 * n, n - 1)"])
def test_loops_go_from_their_end_to_their_start(loop):
    text = f"def walk(n):\n    places = []\n    for place in {loop}:\n        places += [place]\n    return places"
    there, back = ({}, {})
    exec(text, there)
    exec(backwards(text), back)
    for n in (2, 3, 7, 9, 10):
        assert back["walk"](n) == there["walk"](n)[::-1]


def test_numbers_of_a_submission_are_known():
    text = 'a = -1e38\nb = float("-30")\nc, d = 3, 1024\ne = float("inf")\nf = "no number"\ng = 0.5\nh = 1e38'
    found = numbers(text)
    assert sorted(found[:-1]) == ["0.5", "1e+38", "3.0", "30.0"]
    assert found[-1] == "1024.0"  # mostly a length


def test_what_a_function_reaches_is_known():
    text = "A = 1\ndef f(x): return g(A)\ndef g(x): return x\ndef h(x): return g(2)"
    assert reached(text, "f") == reached(text.replace("g(2)", "g(3)"), "f")
    assert reached(text, "f") != reached(text.replace("A = 1", "A = 2"), "f")
    assert reached(text, "f") != reached(text.replace("return x", "return 0"), "f")


def test_broken_list_of_mistakes_is_named(tmp_path: Path):
    path = tmp_path / "mistakes.toml"
    path.write_text('[[mistake]]\nname = "half of an entry"')
    with pytest.raises(mistakes.CourseError, match=r"mistakes\.toml is not a list of mistakes"):
        mistakes.load(path)


def test_mistakes_know_their_kind():
    known = mistakes.load(TOY / "solutions/01_double/mistakes.toml")
    assert [mistake.kind for mistake in known] == [Kind.VALUES, Kind.UNWRITTEN]


def test_two_mistakes_are_made_where_both_can_be():
    first, second = mistakes.load(TOY / "solutions/01_double/mistakes.toml")
    text = (TOY / "solutions/01_double/kernel.py").read_text()
    both = list(Suspect((first, second), retiled=False).forms(text, [], []))
    assert len(both) == 2  # the first has two forms
    assert all(second.before not in other for other in both)
    assert {"3 * x" in other for other in both} == {"-2 * x" in other for other in both} == {True, False}


def test_of_several_pairs_what_they_share_is_named():
    first, second = mistakes.load(TOY / "solutions/01_double/mistakes.toml")
    third = replace(first, name="another")
    assert _nameable([(first, second), (third, second)]) == [second]
    assert _nameable([(first, second), (second, third), (first, third)]) == []
    assert _nameable([(first,), (second,)]) == [first, second]  # nobody can tell them apart
    assert _nameable([(first,), (second,), (third,)]) == []  # more than can be looked at
    one_of_two = Diagnosis("double", ("another",), ("Text.",), joint=True, hint=1, cases=3)
    assert wording.equal(one_of_two).endswith("equal what this mistake gives together with another, to rounding:")
