"""`grader ir`: every stage of the compiler can be read without a GPU, with the lines of kernel.py beside it."""

import re
import shutil
from contextlib import closing

import pytest
from test_cli import grader

from grader import course
from grader.judge.ir import show, specimens
from grader.judge.nursery import Nursery
from grader.judge.submission import Submission
from judging import TOY


@pytest.fixture(scope="module")
def toy(tmp_path_factory):
    """A copy of the toy course whose first exercise holds another kernel than the solution's."""
    folder = shutil.copytree(TOY, tmp_path_factory.mktemp("ir") / "toy")
    solution = (folder / "solutions/01_double/kernel.py").read_text()
    (folder / "exercises/01_double/kernel.py").write_text(solution.replace("2 * x", "x + x"))
    return folder


@pytest.fixture(scope="module")
def compiled(toy):
    """Asks for a stage: the text, from one process for all."""
    track = course.load(toy)
    exercise = track.find("01")
    with closing(Nursery("interpreter")) as nursery:
        compiler = Submission(track.submission(exercise), exercise, nursery, "compiler")
        arguments = specimens(track, exercise, compiler)["double"]
        yield lambda stage, target: show(compiler, "double", arguments, stage, target)
        compiler.stop()


WORDS = {
    "ttir": "tt.load",
    "ttgir": "#ttg.blocked",
    "llir": "define",
    "ptx": "ld.global",
    "sass": "LDG",
    "amdgcn": "s_endpgm",
}


@pytest.mark.parametrize("stage", WORDS)
def test_stage_is_shown_with_the_lines_it_comes_from(toy, compiled, stage):
    target = "gfx942" if stage == "amdgcn" else "sm_80"
    ok, text = compiled(stage, target)
    assert ok
    assert WORDS[stage] in text
    lines = (toy / "exercises/01_double/kernel.py").read_text().splitlines()
    named = {lines[int(number) - 1].strip() for number in re.findall(r"// kernel\.py:(\d+)", text)}
    assert stage == "llir" or "x = tl.load(x_ptr + offs, mask=mask, other=0.0)" in named


def test_two_kernels_stand_side_by_side(toy):
    text = grader(toy, "ir", "01", "--diff", "--stage", "ttir")
    assert len(re.findall(r"tt\.func", text)) == 2
    different = [line for line in text.splitlines() if " | " in line]
    assert any("arith.addf" in line.split(" | ")[0] and "arith.mulf" in line.split(" | ")[1] for line in different)


def test_what_does_not_compile_is_said_with_its_line(toy):
    path = toy / "exercises/02_negate/kernel.py"
    path.write_text((toy / "solutions/02_negate/kernel.py").read_text().replace("tl.load(", "tl.lode(", 1))
    text = grader(toy, "ir", "02", code=1)
    assert "kernel.py, line" in text
    assert "tl.lode" in text
