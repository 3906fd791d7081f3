"""The course keeps its promises: files complete, stubs that are solutions with gaps, specs with their sections."""

import ast
import re

import pytest

from grader import course
from judging import ROOT

COURSE = course.load(ROOT)
EXERCISES = pytest.mark.parametrize("exercise", COURSE.exercises, ids=lambda exercise: exercise.id)


@EXERCISES
def test_handed_out_file_is_the_stub(exercise):
    """Unless somebody has begun to solve it: then the file no longer claims to be one."""
    handed_out = COURSE.submission(exercise).read_text()
    if "# TODO(" not in handed_out:
        pytest.skip("exercises/ has been worked on")
    assert handed_out == COURSE.stub(exercise).read_text()


@EXERCISES
def test_spec_has_few_links_to_the_web(exercise):
    assert len(re.findall(r"\]\(http", COURSE.spec(exercise).read_text())) <= 3


def _kernels(path):
    tree = ast.parse(path.read_text())
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    return [node for node in functions if any("jit" in ast.unparse(decorator) for decorator in node.decorator_list)]


@EXERCISES
def test_kernels_follow_the_style(exercise):
    for kernel in _kernels(COURSE.solution(exercise)):
        assert ast.get_docstring(kernel), f"{kernel.name} has no docstring"
        assert kernel.end_lineno - kernel.lineno <= 90, f"{kernel.name} is too long"
        names = [argument.arg for argument in kernel.args.args]
        assigned = {n.id for n in ast.walk(kernel) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        assert not assigned & set(names), f"{kernel.name} reassigns a parameter"
        for call in (node for node in ast.walk(kernel) if isinstance(node, ast.Call)):
            if ast.unparse(call.func) == "tl.load":
                given = {keyword.arg for keyword in call.keywords}
                assert ("mask" in given) == ("other" in given), f"{kernel.name}: {ast.unparse(call)}"


@EXERCISES
def test_submissions_import_torch_and_triton_only(exercise):
    for path in (COURSE.solution(exercise), COURSE.stub(exercise)):
        tree = ast.parse(path.read_text())
        imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
        assert imported <= {"torch", "triton", "triton.language"}
        assert not [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
