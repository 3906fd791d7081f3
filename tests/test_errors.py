"""Errors that beginners meet, and what the grader says of them: each is provoked, on the interpreter and by the compiler.

tests/errors/kernel.py holds the code. What only a GPU can say is matched as it was recorded.
"""

import ast
import dataclasses
import re
import tomllib
from contextlib import closing

import pytest
import torch
import triton
from toy_kernels import LAUNCH, TILE, graded, kernel

from grader import course, errors
from grader.judge import compiling
from grader.judge.grade import Grade
from grader.judge.nursery import Nursery
from grader.judge.submission import CheckFailed, Submission
from grader.results import Kind
from judging import ROOT, TOY

FILE = ROOT / "tests" / "errors" / "kernel.py"
TRITON = tuple(int(part) for part in triton.__version__.split(".")[:2])
SINCE = {"nested_function": (3, 8), "mask_not_boolean": (3, 9)}  # before, Triton says nothing that could be explained
UNTIL = {"chained_comparison": (3, 8)}  # later, Triton accepts it
ENGINES = ("interpreter", "compiler")

GPU = {
    "cpu_tensor": [
        "ValueError: Pointer argument (at 0) cannot be accessed from Triton (cpu tensor?)",
        "ValueError: Pointer argument cannot be accessed from Triton (cpu tensor?)",
    ],
    "illegal_access": [
        "RuntimeError: Triton Error [CUDA]: an illegal memory access was encountered",
        "AcceleratorError: CUDA error: an illegal memory access was encountered",
    ],
    "misaligned": ["RuntimeError: Triton Error [CUDA]: misaligned address"],
    "shared_memory": [
        "OutOfResources: out of resource: shared memory, Required: 262144, Hardware limit: 232448. Reducing block sizes or "
        "`num_stages` may help."
    ],
    "other_resource": [
        "OutOfResources: out of resource: threads, Required: 2048, Hardware limit: 1024. Reducing block sizes or "
        "`num_stages` may help.",
        "OutOfResources: out of resource: tensor memory, Required: 1024, Hardware limit: 512. Reducing block sizes or "
        "`num_stages` may help.",
    ],
    "too_many_registers": ["RuntimeError: Triton Error [CUDA]: too many resources requested for launch"],
    "grid_too_large": ["RuntimeError: Triton Error [CUDA]: invalid argument"],
    "device": ["RuntimeError: No CUDA GPUs are available"],
}

UNRELATED = [
    ("ZeroDivisionError: division by zero", "kernel:softmax"),
    ("ValueError: 1000 is not a power of 2", "kernel:softmax"),
    ("ValueError: the block size must be a power of two", "kernel:softmax"),
    ("TypeError: 'int' object is not iterable", "kernel:softmax"),
    ("TypeError: object of type 'int' has no len()", "kernel:softmax"),
    ("TypeError: 'float' object cannot be interpreted as an integer", "kernel:softmax"),
    ("TypeError: helper() missing 1 required positional argument: 'n'", "kernel:softmax"),
    ("TypeError: helper() got an unexpected keyword argument 'n'", "kernel:softmax"),
    ("IndexError: list index out of range", "kernel:softmax"),
    ("KeyError: 'float32'", "kernel:softmax"),
    ("AttributeError: 'NoneType' object has no attribute 'shape'", "kernel:softmax"),
    ("AttributeError: 'NoneType' object has no attribute 'dtype'", "kernel:softmax"),
    ("AttributeError: 'Tensor' object has no attribute 'sizes'", "kernel:softmax"),
    ("ValueError: not enough values to unpack (expected 2, got 1)", "kernel:softmax"),
    ("AssertionError: x must be contiguous", "kernel:softmax"),
    ("RuntimeError: shape '[2, 3]' is invalid for input of size 5", "kernel:softmax"),
    ("RuntimeError: The size of tensor a (3) must match the size of tensor b (4)", "torch:add"),
    ("OutOfMemoryError: CUDA out of memory.", "torch:empty"),
    ("SyntaxError: invalid syntax", "kernel:<module>"),
    ("TypeError: object of type 'int' has no len()", "triton.language.standard:zeros"),
    ("TypeError: 'float' object cannot be interpreted as an integer", "triton.language.core:arange"),
    ("CompilationError: AssertionError('block is too small')", "triton.compiler.compiler:make_ir"),
]


def snippets():
    """Name and engines of everything in FILE that provokes an error."""
    for found in ast.parse(FILE.read_text()).body:
        if isinstance(found, ast.FunctionDef) and not found.name.startswith("_") and found.name != "launch":
            entry = found.name.partition("__")[0]
            if SINCE.get(entry, TRITON) <= TRITON <= UNTIL.get(entry, TRITON):
                only = ast.get_docstring(found)
                yield found.name, [only] if only else list(ENGINES)


def provoke(submission, name):
    """The failure of one snippet, or None where this engine accepts it."""
    x = torch.ones(64)
    try:
        if submission.engine == "compiler":
            compiling.ask(submission, "launch", [x, name], "sm_90")
        else:
            Grade(submission, "launch", None).observe(x, name, limit=1 << 16)
    except CheckFailed as failure:
        return failure
    return None


@pytest.fixture(scope="module")
def failures():
    """What each snippet's engines say of it, by name, where they say anything."""
    exercise = dataclasses.replace(course.load(TOY).exercises[0], functions=("launch",), call_timeout=20)
    with closing(Nursery("interpreter")) as nursery:
        submissions = {engine: Submission(FILE, exercise, nursery, engine) for engine in ENGINES}
        found = {name: [provoke(submissions[engine], name) for engine in engines] for name, engines in snippets()}
        for submission in submissions.values():
            submission.stop()
    return {name: [failure for failure in said if failure] for name, said in found.items()}


@pytest.mark.parametrize("name", [name for name, _ in snippets()])
def test_an_error_is_explained_below_its_message(failures, name):
    entry = errors.table()[name.partition("__")[0]]
    assert failures[name], "no engine refuses it"
    for failure in failures[name]:
        *place, message = failure.lines[: -len(entry.lines)]
        assert failure.lines[-len(entry.lines) :] == entry.lines, failure.lines
        assert re.match(r"\w+: .", message)
        assert place == [] or place[0].startswith("kernel.py, line ")
        assert entry.kind in (None, failure.kind)


def test_the_line_is_that_of_the_helper_which_the_kernel_calls(failures):
    assert [failure.lines[0].partition(": ")[2] for failure in failures["half_function__helper"]] == ["return tl.exp(x)"] * 2


def test_every_entry_is_provoked_or_recorded():
    provoked = {name.partition("__")[0] for name, _ in snippets()}
    assert set(errors.table()) - {*SINCE, *UNTIL} == (provoked | set(GPU)) - {*SINCE, *UNTIL}


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, texts in GPU.items() for text in texts])
def test_what_a_gpu_says_is_explained(name, text):
    assert [entry.name for entry in errors.find(text, "triton.runtime.jit:run")] == [name]


@pytest.mark.parametrize(("text", "raised"), UNRELATED)
def test_other_errors_are_not_explained(text, raised):
    assert errors.find(text, raised) == []


def test_a_message_of_any_length_is_looked_at_in_no_time():
    long = "missing 1 required positional argument: Unsupported ptr type cannot convert " * 100_000
    assert errors.find(long, long) == []


@pytest.mark.parametrize("entry", errors.table().values(), ids=lambda entry: entry.name)
def test_explanations_are_short_and_ask(entry):
    sentences = re.findall(r"[.?!](?= |$)", entry.means)
    assert 1 <= len(sentences) <= 2, entry.means
    assert entry.means.endswith(".")
    assert entry.look.endswith("?")
    assert entry.look.count("?") == 1
    assert entry.seen
    assert set(tomllib.loads(errors.TABLE.read_text())[entry.name]) <= {"match", "kind", "means", "look", "seen"}


def test_the_report_says_where_what_it_means_and_where_to_look(tmp_path):
    """In the result itself, so that terminal, page and data have it; the same for the interpreter and the compiler."""
    loaded = "x = tl.load(x_ptr + offs, mask=mask, other=0.0)\n"
    changed = "acc = 0.0\nfor _ in range(n // n):\n    acc += x\ntl.store(out_ptr + offs, acc + x, mask=mask)"
    entries = [
        kernel("tile_length", Kind.COMPILE, "", "tl.arange(0, 100)", LAUNCH),
        kernel(
            "loop_changes_type",
            Kind.COMPILE,
            "",
            TILE + loaded + changed,
            LAUNCH,
        ),
    ]
    for name, result in graded(tmp_path, entries, compiling=True).items():
        failed = next(check for check in result.checks if check.kind is Kind.COMPILE)
        place, message, *meaning, case = failed.reason
        assert place.startswith("kernel.py, line ")
        assert errors.table()[name].match.search(message)
        assert tuple(meaning) == errors.table()[name].lines
        assert case.startswith("case: ")
