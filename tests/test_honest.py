"""Right kernels that do it another way, the fast forms of the solutions among them: every one must pass.

A grader that fails an honest kernel is broken.
"""

from pathlib import Path

import pytest

from grader.results import Status
from judging import ROOT, grade

FILES = [*sorted((Path(__file__).parent / "honest").glob("*/*.py")), *sorted(ROOT.glob("solutions/*/fast.py"))]


@pytest.fixture(scope="module")
def results():
    return grade(ROOT, [(path.parent.name, path) for path in FILES])


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_passes(results, path):
    failed = [check for check in results[path].checks if check.status not in (Status.PASSED, Status.NOT_RUN)]
    assert not failed
    assert results[path].status is Status.PASSED
