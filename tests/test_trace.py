"""`grader trace` and the error map: pictures of tiles that say what happened, of right kernels and of wrong ones."""

import json
import re
import textwrap
from contextlib import closing
from dataclasses import asdict

import pytest
from test_cli import grader
from toy_kernels import LAUNCH, TILE, kernel, kernels

from grader import course
from grader.channel import BadFrame
from grader.course import Tensor, Workload
from grader.judge.answer import parse_answer
from grader.judge.nursery import Nursery
from grader.judge.submission import Submission
from grader.judge.tiles import programs
from grader.judge.trace import trace
from grader.report import trace as picture
from grader.report.html import render_traces
from grader.results import Cell, Tiles, TouchedTensor, Trace, TracedLaunch
from judging import ROOT, TOY

X = "x = tl.load(x_ptr + offs, mask=mask, other=0.0)\n"
STORE = "tl.store(out_ptr + offs, 2 * x, mask=mask)"
ROWS = kernel(
    "a program for each row", None, "",
    "row = tl.program_id(0)\nfor start in range(0, n, BLOCK):\n    offs = start + tl.arange(0, BLOCK)\n"
    "    at = row * n + offs\n    x = tl.load(x_ptr + at, mask=offs < n, other=0.0)\n"
    "    tl.store(out_ptr + at, 2 * x, mask=offs < n)",
    "a_kernel[(len(x),)](x, out, x.shape[1], BLOCK=32)",
)  # fmt: skip
PERSISTENT = kernel(
    "persistent programs", None, "",
    "for start in range(tl.program_id(0) * BLOCK, n, tl.num_programs(0) * BLOCK):\n"
    "    offs = start + tl.arange(0, BLOCK)\n    mask = offs < n\n    " + X + "    " + STORE,
    "a_kernel[(2,)](x, out, x.numel(), BLOCK=64)",
)  # fmt: skip
SHORT = kernel(
    "the last tile is skipped", None, "", TILE + X + STORE, LAUNCH.replace("cdiv(x.numel(), 64)", "cdiv(x.numel(), 64) - 1")
)
TWICE = kernel("two passes", None, "", TILE + X + X.replace("x =", "x +=") + STORE.replace("2 * x", "x"), LAUNCH)
NOTHING = kernel("nothing is stored", None, "", TILE + X, LAUNCH)
BEYOND = kernel("a load past the end", None, "", TILE + X.replace("mask=mask, other=0.0", "") + STORE, LAUNCH)
RAISES = kernel("raises", None, "", TILE + X + STORE, "raise ValueError('no')")
RACES = kernel("a race", None, "", TILE + X + STORE + "\ntl.store(out_ptr, tl.program_id(0).to(tl.float32))", LAUNCH)
MANY = kernel("many launches", None, "", TILE + X + STORE, f"for _ in range(40):\n    {LAUNCH}")
CROWD = kernel(
    "more programs than a picture shows", None, "", "if tl.program_id(0) < 5:\n" + textwrap.indent(TILE + X + STORE, "    "),
    "a_kernel[(4100,)](x, out, x.numel(), BLOCK=64)",
)  # fmt: skip
COLUMN = kernel(
    "one element at a time", None, "",
    "for i in range(n):\n    tl.store(out_ptr + i, 2 * tl.load(x_ptr + i))", "a_kernel[(1,)](x, out, x.numel(), BLOCK=1)",
)  # fmt: skip
ATOMIC = kernel(
    "atomics", None, "", TILE + X + "tl.atomic_add(out_ptr + offs, 2 * x, mask=mask)",
    "out = torch.zeros_like(x)\n" + LAUNCH,
)  # fmt: skip


@pytest.fixture(scope="module")
def nursery():
    with closing(Nursery("interpreter")) as nursery:
        yield nursery


@pytest.fixture
def traced(nursery, tmp_path):
    """Traces a kernel of the toy course on one input of the given shape."""

    def run(entry, *shape, stub="") -> Trace:
        path = tmp_path / "kernel.py"
        path.write_text(entry.text)
        submission = Submission(path, course.load(TOY).find("01"), nursery)
        try:
            return trace(submission, Workload("double", (Tensor(shape, "float32"),)), stub)
        finally:
            submission.stop()

    return run


def tiles(found, name, side):
    (launch,) = found.launches
    (tensor,) = [tensor for tensor in launch.tensors if tensor.name == name]
    return getattr(tensor, side)


def shown(tiles):
    """Row by row, what stands in the cells."""
    return {row: [picture.words(cell) for cell in cells] for row, cells in zip(tiles.rows, tiles.cells, strict=True)}


def test_row_wise_programs_own_rows(traced):
    """Program (2, 0, 0) loads and stores row 2, tile by tile, and the last tile is ragged."""
    found = traced(ROWS, 4, 70)
    assert found.launches[0].grid == (4, 1, 1)
    for name, side in (("x_ptr", "loads"), ("out_ptr", "stores")):
        assert tiles(found, name, side).columns == ("0:32", "32:64", "64:70")
        assert shown(tiles(found, name, side))["2"] == ["2", "2", "2"]
    assert tiles(found, "x_ptr", "stores") is tiles(found, "out_ptr", "loads") is None


def test_persistent_programs_take_turns(traced):
    found = traced(PERSISTENT, 300)
    stores = {"0:64": ["0"], "64:128": ["1"], "128:192": ["0"], "192:256": ["1"], "256:300": ["0"]}
    assert shown(tiles(found, "out_ptr", "stores")) == stores


def test_skipped_tile_is_the_only_one_untouched(traced):
    cells = shown(tiles(traced(SHORT, 300), "out_ptr", "stores"))
    assert [row for row, (words,) in cells.items() if words == picture.NOBODY] == ["256:300"]


def test_second_pass_is_counted(traced):
    found = traced(TWICE, 300)
    assert {words for (words,) in shown(tiles(found, "x_ptr", "loads")).values()} == {f"{n} 2x" for n in range(5)}
    assert [(total.name, total.loaded, total.stored) for total in found.totals] == [("x_ptr", 2400, 0), ("out_ptr", 0, 1200)]
    assert (
        picture.total(found.totals[0]) == "x_ptr (argument 1, 1,200 bytes): read 2, written 0 times; each element loaded 2x"
    )


def test_output_that_nobody_stores_is_said_to_be_so(traced):
    (launch,) = traced(NOTHING, 300).launches
    assert picture.untouched(launch) == ["out_ptr (output 1), 300 float32: neither loaded nor stored"]


def test_atomics_load_and_store(traced):
    found = traced(ATOMIC, 100)
    assert (
        shown(tiles(found, "out_ptr", "loads"))
        == shown(tiles(found, "out_ptr", "stores"))
        == {"0:64": ["0"], "64:100": ["1"]}
    )


def test_many_tiles_are_merged_and_said_to_be(traced):
    found = traced(COLUMN, 300)
    stores = tiles(found, "out_ptr", "stores")
    assert stores.merged == 19  # 300 tiles on 16 rows
    assert len(stores.rows) == 16
    assert "up to 19 tiles in a cell" in picture.pictures(found.launches[0])[1].title


def test_access_outside_is_shown_with_what_came_before(traced):
    found = traced(BEYOND, 100)
    assert not found.ended
    assert "loads 28 elements outside x_ptr" in " ".join(found.problem)
    assert shown(tiles(found, "out_ptr", "stores")) == {"0:64": ["0"], "64:100": [picture.NOBODY]}


def test_race_is_told_beside_the_picture(traced):
    found = traced(RACES, 100)
    assert found.ended
    assert "so does another program" in found.problem[0]
    assert shown(tiles(found, "out_ptr", "stores"))["0"] == ["all 3x"]


def test_exception_is_told_as_in_a_check(traced):
    found = traced(RAISES, 100)
    assert found.problem == ("kernel.py, line 17: raise ValueError('no')", "ValueError: no")
    assert found.launches == ()


def test_stub_is_not_started(traced):
    assert "nothing was written yet" in traced(NOTHING, 100, stub=f"# a comment\n{NOTHING.text}").problem[0]


@pytest.mark.parametrize("entry", kernels([MANY, CROWD]))
def test_what_is_too_much_for_a_picture_is_left_out(traced, entry):
    found = traced(entry, 300)
    assert not found.complete
    assert found.ended
    assert len(found.launches) <= 16
    assert len(json.dumps(asdict(found))) < 1 << 20


@pytest.mark.parametrize("exercise", course.load(ROOT).exercises, ids=lambda exercise: exercise.id)
def test_solution_has_a_picture_of_every_function(nursery, exercise):
    submission = Submission(course.load(ROOT).solution(exercise), exercise, nursery)
    try:
        found = [trace(submission, workload, "") for workload in exercise.trace]
    finally:
        submission.stop()
    assert [one.function for one in found] == list(exercise.functions)
    for one in found:
        assert one.ended
        assert one.complete
        assert one.problem == ()
        assert all(tensor.loads or tensor.stores for launch in one.launches for tensor in launch.tensors)
        for output in (total for total in one.totals if total.role.startswith("output")):
            assert output.stored == output.bytes, "each element of an output is stored once"
        assert any(len(tiles.rows) * len(tiles.columns) > 1 for tiles in stored(one))
        assert all(len(line) <= 80 for tiles in stored(one) for line in map("  ".join, picture.table(tiles, 80)))


def stored(found):
    return [tensor.stores for launch in found.launches for tensor in launch.tensors if tensor.stores]


@pytest.mark.parametrize("exercise", ["05_online_softmax", "13_attention"])
def test_three_kernels_are_three_pictures(nursery, exercise):
    entry = course.load(ROOT).find(exercise)
    submission = Submission(course.load(ROOT).solution(entry), entry, nursery)
    try:
        found = trace(submission, entry.trace[-1], "")
    finally:
        submission.stop()
    assert len({launch.kernel for launch in found.launches}) == 3


@pytest.mark.parametrize(
    ("members", "grid", "words"),
    [
        ([], (4, 1, 1), ""),
        ([2], (4, 1, 1), "2"),
        ([0], (1, 1, 1), "0"),
        ([0, 1, 2, 3], (4, 1, 1), "all"),
        ([1, 2], (4, 1, 1), "1-2"),
        ([0, 3], (4, 1, 1), "0+3"),
        ([0, 2, 4, 6, 8], (10, 1, 1), "5 programs"),
        ([3], (2, 3, 1), "1,0"),
        ([3, 4, 5], (2, 3, 1), "1,*"),
        ([0, 3], (2, 3, 1), "*,0"),
        ([0, 4], (2, 3, 1), "2 programs"),
        ([5], (1, 3, 2), "0,2,1"),
    ],
)
def test_programs_are_named_by_their_place_in_the_grid(members, grid, words):
    assert programs(sum(1 << member for member in members), grid) == words


def answer(**changes):
    tensor = {"memory": 0, "name": "x_ptr", "role": "argument 1", "dtype": "float32", "shape": [4]}
    tensor |= {"loaded": True, "stored": False}
    launch = {"kernel": "k", "grid": [1, 1, 1], "sets": 2, "tensors": [{**tensor, **changes.get("tensor", {})}]}
    record = {"launches": [{**launch, **changes.get("launch", {})}], "complete": True}
    evidence = {"operators": [], "inside_kernel": [], "kernels": [], "strangers": [], "changed_by_host": False}
    frame = {"outputs": [], "evidence": {**evidence, "allocated": 0, "findings": [], "omitted": []}}
    return {**frame, "trace": {**record, **changes.get("record", {})}}


def test_record_is_read():
    assert [array.shape for array in parse_answer(answer()).record.launches[0].arrays] == [(2, 1), (3, 4)]


@pytest.mark.parametrize(
    "changes",
    [
        {"tensor": {"shape": [1 << 40]}},
        {"tensor": {"shape": [-1]}},
        {"tensor": {"shape": [0]}},
        {"tensor": {"shape": [1] * 9}},
        {"tensor": {"dtype": "float33"}},
        {"launch": {"grid": [1 << 20, 1, 1]}},
        {"launch": {"grid": [1]}},
        {"launch": {"sets": 1 << 30}},
        {"launch": {"sets": 0}},
        {"launch": {"tensors": 3}},
        {"record": {"launches": None}},
    ],
)
def test_record_without_sense_is_refused(changes):
    with pytest.raises(BadFrame):
        parse_answer(answer(**changes))


def test_record_cannot_fill_the_judges_memory():
    launch = answer()["trace"]["launches"][0]
    launch["tensors"] = [{**launch["tensors"][0], "shape": [1 << 21]}] * 12
    with pytest.raises(BadFrame):
        parse_answer(answer(record={"launches": [launch]}))


def test_page_escapes_and_needs_nothing_beside_itself():
    cells = Tiles(("0:4",), ("",), ((Cell("0", 1, 2),),))
    evil = "<script>alert(1)</script>"
    tensor = TouchedTensor(evil, evil, "float32", (4,), 16, 16, 0, cells, None)
    found = Trace("double", "4 float32", (TracedLaunch(evil, (1, 1, 1), (tensor,)),), (tensor,), (evil,), False, False)
    page = render_traces("01 Double", [found])
    assert "<script" not in page
    assert page.count("&lt;script&gt;") >= 4
    assert not re.search(r"(src|href)=|https?:|@import|url\(", page)
    assert "prefers-color-scheme: dark" in page


def test_command_draws_writes_a_page_and_tells_by_its_exit_code(toy):
    text = grader(toy, "trace", "01", "--solution", "--html", "trace.html")
    assert "double_kernel, grid (5,): 5 programs" in text
    assert re.search(r"256:300 +4$", text, re.MULTILINE)
    assert "tl.program_id(0)" in text
    assert text.isascii()
    assert max(map(len, text.splitlines())) <= 85
    assert "256:300" in (toy / "trace.html").read_text()
    assert "still the stub" in grader(toy, "trace", "01", code=1)
    assert "has no function nothing" in grader(toy, "trace", "01", "--function", "nothing", code=2)
