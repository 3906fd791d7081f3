"""A fixture that several test files share, and the order of files."""

import shutil

import pytest

from judging import TOY

LONG = [
    "test_first_half", "test_second_half", "test_honest", "test_diagnosis", "test_readme", "test_cli", "test_hostile",
    "test_solutions", "test_ir", "test_new", "test_vet", "test_compiling", "test_errors", "test_html", "test_sanitizer",
    "test_traffic", "test_trace",
]  # longest first  # fmt: skip


def pytest_configure(config):
    """Let pytest-xdist hand out files in the order below, not by their number of tests."""
    config.option.loadscopereorder = False


def pytest_collection_modifyitems(items):
    """Long files first: begun last, one would keep a single worker busy while the others have nothing left to do."""
    places = {f"{name}.py": place for place, name in enumerate(LONG)}
    items.sort(key=lambda item: places.get(item.path.name, len(LONG)))


@pytest.fixture
def toy(tmp_path):
    """A copy of the toy course, to be changed at will."""
    shutil.copytree(TOY, tmp_path / "toy")
    return tmp_path / "toy"
