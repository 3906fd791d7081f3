"""Submissions that cheat, crash, hang or break the rules: each gets its own verdict, never a pass, never a trace of ours.

The first line of each file in hostile/ names the kind of failure it must get.
"""

from pathlib import Path

import pytest

from grader.results import Kind, Status
from grader.runner.sandbox import landlock_version
from judging import TOY, grade

FILES = sorted((Path(__file__).parent / "hostile").glob("*.py"))
CONFINED = landlock_version() >= 6
DEEDS = {
    "read the solution": f"open({str(TOY / 'solutions/01_double/kernel.py')!r}).read()",
    "read the hidden tests": f"open({str(TOY / 'exercises/01_double/test_hidden.py')!r}).read()",
    "plant a file": f"open({str(TOY / 'planted')!r}, 'w')",
    "list the course": f"__import__('os').listdir({str(TOY)!r})",
    "load the judge": "__import__('grader.judge.tolerance')",
    "use the network": "__import__('socket').create_connection(('127.0.0.1', 9))",
    "signal the judge": "__import__('os').kill(__import__('os').getppid(), 0)",
}


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """The result of each file of hostile/, by its path; and of each deed by its name, where the sandbox stops it."""
    folder = tmp_path_factory.mktemp("deeds")
    deeds = {folder / f"{number}.py": name for number, name in enumerate(DEEDS) if CONFINED}
    for path, name in deeds.items():
        path.write_text(f"def double(x):\n    {DEEDS[name]}\n")
    graded = grade(TOY, [("01_double", path) for path in (*FILES, *deeds)])
    return {deeds.get(path, path): result for path, result in graded.items()}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_gets_its_own_verdict(results, path):
    result = results[path]
    assert (result.status, result.kind) == (Status.FAILED, Kind(path.read_text().strip('"').partition(":")[0])), (
        result.checks[0]
    )


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_reason_is_for_a_learner(results, path):
    reason = "\n".join(next(check.reason for check in results[path].checks if check.status is Status.FAILED))
    assert reason
    assert "Traceback" not in reason
    assert "grader/" not in reason
    assert "/tmp/" not in reason


def test_output_is_kept_short(results):
    flood = next(path for path in FILES if path.stem == "floods")
    assert 0 < len(results[flood].output) <= 4096


def test_no_process_is_left_behind(results):
    names = []
    for path in Path("/proc").glob("[0-9]*/comm"):
        try:
            names.append(path.read_text().strip())
        except OSError:
            continue
    assert "left-behind" not in names


@pytest.mark.skipif(not CONFINED, reason="this kernel has no Landlock of version 6")
@pytest.mark.parametrize("name", DEEDS)
def test_runner_cannot(results, name):
    assert results[name].kind is Kind.CRASH
    assert any(word in " ".join(results[name].checks[0].reason) for word in ("PermissionError", "ModuleNotFoundError"))
