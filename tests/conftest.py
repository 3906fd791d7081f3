"""Fixtures that several test files share."""

import shutil

import pytest

from judging import TOY


@pytest.fixture
def toy(tmp_path):
    """A copy of the toy course, to be changed at will."""
    shutil.copytree(TOY, tmp_path / "toy")
    return tmp_path / "toy"
