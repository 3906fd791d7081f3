"""The course keeps its promises: files complete, stubs that are solutions with gaps, specs with their sections."""

import ast
import re

import pytest

from grader import course
from grader.hints import hints
from grader.results import Kind, Status
from judging import ROOT, grade

COURSE = course.load(ROOT)
EXERCISES = pytest.mark.parametrize("exercise", COURSE.exercises, ids=lambda exercise: exercise.id)
SECTIONS = ["Goal", "Contract", "Formula", "Picture", "Cost", "Your part", "Try it", "Traps", "Hints", "Further reading"]
TODO = re.compile(r"# TODO\((\d+)\): .+\.$")


@pytest.fixture(scope="module")
def stubs():
    units = [(exercise.id, COURSE.stub(exercise)) for exercise in COURSE.exercises]
    return {result.exercise: result for result in grade(ROOT, units).values()}


@pytest.fixture(scope="module")
def solutions():
    units = [(exercise.id, COURSE.solution(exercise)) for exercise in COURSE.exercises]
    return {result.exercise: result for result in grade(ROOT, units).values()}


@EXERCISES
def test_stub_is_not_started(stubs, exercise):
    first = {check.function: check for check in reversed(stubs[exercise.id].checks)}
    assert set(first) == set(exercise.functions)
    assert {check.kind for check in first.values()} == {Kind.NOT_STARTED}, first


@EXERCISES
def test_solution_passes(solutions, exercise):
    result = solutions[exercise.id]
    assert result.status is Status.PASSED, [check for check in result.checks if check.status is Status.FAILED]
    needs = {check.reason for check in result.checks if check.status is Status.NOT_RUN}
    assert needs <= {("needs a GPU",)}


@EXERCISES
def test_stub_is_the_solution_with_gaps(exercise):
    lines = COURSE.stub(exercise).read_text().splitlines()
    kept = [line for line in lines if line.strip() != "pass" and not TODO.match(line.strip())]
    assert "TODO" not in "\n".join(kept)
    rest = iter(COURSE.solution(exercise).read_text().splitlines())
    missing = [line for line in kept if not any(line == other for other in rest)]
    assert not missing


@EXERCISES
def test_todos_are_numbered(exercise):
    numbers = [int(number) for number in re.findall(r"# TODO\((\d+)\)", COURSE.stub(exercise).read_text())]
    assert numbers == list(range(1, len(numbers) + 1))
    assert 2 <= len(numbers) <= 5
    spec = COURSE.spec(exercise).read_text()
    assert [int(number) for number in re.findall(r"^\d\. `TODO\((\d+)\)`", spec, re.MULTILINE)] == numbers


@EXERCISES
def test_handed_out_file_is_the_stub(exercise):
    """Unless somebody has begun to solve it: then the file no longer claims to be one."""
    handed_out = COURSE.submission(exercise).read_text()
    if "# TODO(" not in handed_out:
        pytest.skip("exercises/ has been worked on")
    assert handed_out == COURSE.stub(exercise).read_text()


@EXERCISES
def test_spec_has_its_sections(exercise):
    spec = COURSE.spec(exercise).read_text()
    assert re.findall(r"^## (.+)$", spec, re.MULTILINE) == SECTIONS
    assert len(hints(spec)) == 3
    assert all(hints(spec))
    assert len(spec.splitlines()) <= 120
    assert f"grader check {exercise.id}" in spec
    assert len(re.findall(r"\]\(http", spec)) <= 3


@EXERCISES
def test_links_of_spec_resolve(exercise):
    spec = COURSE.spec(exercise)
    for target in re.findall(r"\]\((?!http)([^)#]+)", spec.read_text()):
        assert (spec.parent / target).exists(), target


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


@EXERCISES
def test_every_function_has_an_oracle_and_a_workload(exercise):
    tests = COURSE.hidden_tests(exercise).read_text()
    assert all(f'"{function}"' in tests for function in exercise.functions)
    assert {workload.function for workload in exercise.workloads} == set(exercise.functions)
