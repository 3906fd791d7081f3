"""bfloat16 in the interpreter: each operation gives what PyTorch gives, in a process like a runner's."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from judging import ROOT

SCRIPT = Path(__file__).with_name("bfloat16_operations.py")
OPERATIONS = [
    "add", "times_two", "times_fraction", "divide", "maximum", "where", "less", "exp", "to_float16", "from_int", "to_int",
    "negate", "abs", "sum", "row_max", "scan", "full", "zeros", "dot", "round_to_even", "keep_nan", "truncate",
]  # fmt: skip


@pytest.fixture(scope="module")
def differences():
    """For each operation, the number of elements that differ from what they should be."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TRITON_INTERPRET": "1"}
    done = subprocess.run([sys.executable, str(SCRIPT)], env=environment, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_operation_is_right(differences, operation):
    assert differences[operation] == 0


def test_every_operation_is_asked_for(differences):
    assert sorted(differences) == sorted(OPERATIONS)
