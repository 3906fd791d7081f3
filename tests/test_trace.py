"""`grader trace` and the error map: pictures of tiles that say what happened, of right kernels and of wrong ones."""

import json
import re
import textwrap
from contextlib import closing
from dataclasses import asdict, replace

import pytest
import torch
from test_cli import grader
from test_report import EXERCISE, exercise_text, result
from toy_kernels import LAUNCH, TILE, graded, kernel, kernels

from grader import course
from grader.channel import BadFrame
from grader.course import Tensor, Workload
from grader.judge.answer import Output, parse_answer
from grader.judge.error_map import draw
from grader.judge.nursery import Nursery
from grader.judge.submission import Submission
from grader.judge.tiles import programs
from grader.judge.trace import trace
from grader.report import picture
from grader.report.html import render, render_traces
from grader.report.wording import TrackRow
from grader.results import (
    Cell,
    CheckResult,
    ErrorMap,
    ExerciseResult,
    Kind,
    Status,
    Tiles,
    TouchedTensor,
    Trace,
    TracedLaunch,
)
from judging import ROOT, TOY, grade

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


def frame(**changes):
    tensor = {"memory": 0, "name": "x_ptr", "role": "argument 1", "dtype": "float32", "shape": [4]}
    tensor |= {"loaded": True, "stored": False}
    launch = {"kernel": "k", "grid": [1, 1, 1], "sets": 2, "tensors": [{**tensor, **changes.get("tensor", {})}]}
    record = {"launches": [{**launch, **changes.get("launch", {})}], "complete": True}
    evidence = {"operators": [], "inside_kernel": [], "kernels": [], "strangers": [], "changed_by_host": False}
    nothing = {"allocated": 0, "findings": [], "omitted": [], "tiles": [], "backwards": False}
    outside = {"outputs": [], "evidence": {**evidence, **nothing}}
    return {**outside, "trace": {**record, **changes.get("record", {})}}


def test_record_is_read():
    assert [array.shape for array in parse_answer(frame()).record.launches[0].arrays] == [(2, 1), (3, 4)]


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
        parse_answer(frame(**changes))


def test_record_cannot_fill_the_judges_memory():
    launch = frame()["trace"]["launches"][0]
    launch["tensors"] = [{**launch["tensors"][0], "shape": [1 << 21]}] * 12
    with pytest.raises(BadFrame):
        parse_answer(frame(record={"launches": [launch]}))


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


def storing(name, value, host=LAUNCH):
    return kernel(name, None, "", f"{TILE}{X}tl.store(out_ptr + offs, {value}, mask=mask)", host)


WRONG = [
    storing("tile row off", "tl.where(tl.program_id(0) == 1, 3 * x, 2 * x)"),
    storing("last tile skipped", "2 * x", LAUNCH.replace("64),", "64) - (x.numel() > 64),")),
    storing("one element off", "tl.where(offs == 70, 9.0, 2 * x)"),
    storing("not finite", "2 * x / tl.where(offs < 64, 1.0, 0.0)"),
    storing("right", "2 * x"),
]


@pytest.fixture(scope="module")
def maps(tmp_path_factory):
    """Of each wrong kernel the map of its first failed check: 100 elements, so tiles of 64 and of 36."""
    results = graded(tmp_path_factory.mktemp("wrong"), WRONG)
    failed = {name: [c for c in result.checks if c.status is Status.FAILED] for name, result in results.items()}
    return {name: checks[0].error_map if checks else None for name, checks in failed.items()}


@pytest.mark.parametrize(
    ("name", "cells", "owners", "worst"),
    [
        ("tile row off", (".", "#"), ("0", "1"), "expected"),
        ("last tile skipped", (".", "o"), ("0", "none"), "out[64] was never written; no program of a_kernel stores it"),
        ("one element off", (".", "+"), ("0", "1"), "worst: out[70] is 9, expected"),
        ("not finite", (".", "#"), ("0", "1"), "program (1, 0, 0) stores it"),
    ],
)
def test_map_marks_the_tiles_that_are_wrong(maps, name, cells, owners, worst):
    drawn = maps[name]
    assert drawn.rows == ("0:64", "64:100")
    assert (drawn.cells, drawn.row_programs) == (cells, owners)
    assert worst in drawn.worst
    assert drawn.note == "a cell is a tile that a_kernel stores"


def test_right_kernel_has_no_map(maps):
    assert maps["right"] is None


def test_untouched_stub_has_no_map():
    stub = TOY / "exercises/01_double/kernel.py"
    check = grade(TOY, [("01_double", stub)])[stub].checks[0]
    assert (check.kind, check.error_map) == (Kind.NOT_STARTED, None)


def unseen(*shape, wrong):
    """The map of an output of zeros that should be ones where `wrong`, from a call that nobody has watched."""
    got, right = torch.zeros(shape), torch.zeros(shape).double()
    right[wrong] = 1.0
    answer = replace(parse_answer(frame(record={"launches": []})), outputs=(Output("Tensor", torch.float32, shape),))
    return draw(answer, [got], [(right, torch.zeros_like(right))])


def test_map_without_a_trace_has_blocks_and_says_so():
    drawn = unseen(100, 300, wrong=(slice(14, 21), slice(0, 300)))
    assert drawn.note == "a cell is a block of 7 × 10 elements; which program stores it was not seen"
    assert [row for row, marks in zip(drawn.rows, drawn.cells, strict=True) if marks == "#" * 30] == ["14:21"]
    assert drawn.row_programs == drawn.column_programs == ()


def test_map_of_a_large_output_is_small():
    drawn = unseen(1000, 1000, wrong=(999, 999))
    assert (len(drawn.cells), len(drawn.cells[0])) == (16, 32)
    assert len(json.dumps(asdict(drawn))) < 4096
    assert drawn.worst == "worst: out[999, 999] is 0, expected 1"


def test_right_output_has_no_map():
    assert unseen(3, wrong=slice(0, 0)) is None


DRAWN = ErrorMap(
    "out", ("0:128", "128:150"), ("0:64", "64:80"), ("..", ".#"), ("0,*", "1,*"), ("*,0", "*,1"),
    "a cell is a tile that k stores", "worst: out[130, 70] is 1, expected 2; program (1, 1, 0) stores it",
)  # fmt: skip


def failed(drawn):
    return result(CheckResult("online_softmax", "tiles", Status.FAILED, Kind.VALUES, ("1 of 3 is wrong",), error_map=drawn))


def test_map_stands_below_the_failure():
    lines = [line.strip() for line in exercise_text(failed(DRAWN)).splitlines()]
    start = lines.index("1 of 3 is wrong") + 1
    assert lines[start : start + 6] == [
        "out: . right, # wrong; a cell is a tile that k stores",
        "0:64   64:80",
        "program  *,0    *,1",
        "0:128  0,*  .      .",
        "128:150  1,*  .      #",
        DRAWN.worst,
    ]


def test_map_of_many_columns_is_still_narrow():
    columns = tuple(f"{100 * n}:{100 * n + 100}" for n in range(32))
    wide = replace(DRAWN, columns=columns, cells=("." * 32, "." * 31 + "#"), column_programs=("0",) * 32)
    assert list(picture.map_lines(wide, 69)) == ["  0:128  0,*  " + "." * 32, "128:150  1,*  " + "." * 31 + "#"]


def test_map_that_shows_nothing_is_left_out():
    text = exercise_text(failed(replace(DRAWN, cells=("##", "##"))))
    assert "a cell is" not in text
    assert DRAWN.worst in text


def test_page_has_the_map_and_escapes_it():
    evil = "<script>alert(1)</script>"
    page = render("Course", [TrackRow(EXERCISE, failed(replace(DRAWN, note=evil, worst=evil)))], "2025-03-01T09:30:12+00:00")
    assert "128:150" in page
    assert "<script" not in page
    assert page.count("&lt;script&gt;") == 2


def test_map_travels_in_results_and_may_be_missing():
    record = failed(DRAWN)
    assert ExerciseResult.from_json(json.loads(json.dumps(record.to_json()))) == record
    old = json.loads(json.dumps(record.to_json()))
    del old["checks"][0]["error_map"]
    assert ExerciseResult.from_json(old).checks[0].error_map is None
