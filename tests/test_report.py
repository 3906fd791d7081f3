"""The report, read from a console of fixed width: what was run, what was found, and what to do next."""

import io
from dataclasses import replace

import pytest
from rich.console import Console

from grader.course import Exercise
from grader.report.terminal import Screen, TrackRow
from grader.results import CheckResult, ExerciseResult, Kind, Speed, Status, TimingResult

EXERCISE = Exercise("05_online_softmax", "Online softmax", 10, ("online_softmax",), 20.0, ())
TIMING = TimingResult(
    "online_softmax", "8 × 8 float32", Speed.MEETS, 1.25, 1.05, 1.01, 0.99, 1.02, 4e-4, 3.96e-4, 1_600_000_000, 0.0, 0.93, 20
)  # fmt: skip


def result(*checks, engine="interpreter", device="CPU", timings=()):
    return ExerciseResult("05_online_softmax", "kernel.py", "", engine, device, 7, checks, timings, output="[bold]\nhello")


def check(label, status=Status.PASSED, kind=None, *reason):
    return CheckResult("online_softmax", label, status, kind, reason)


def shown(draw, terminal=False):
    console = Console(file=io.StringIO(), width=100, force_terminal=terminal, color_system=None, highlight=False)
    draw(Screen(console))
    return console.file.getvalue()


def exercise_text(record, verbose=False, terminal=False):
    return shown(
        lambda screen: screen.exercise(EXERCISE, record, verbose, "exercises/05/kernel.py", "exercises/05/spec.md"), terminal
    )


FAILED = result(
    check("one tile"),
    check(
        "many tiles", Status.FAILED, Kind.VALUES, "871 of 2000 values are wrong", "first: out[1, 0] is 0.02, expected 0.01"
    ),
    check("strides", Status.NOT_RUN, None, '"many tiles" comes first'),
    check("long rows", Status.NOT_RUN, None, '"many tiles" comes first'),
)


def test_failure_says_what_where_and_what_next():
    text = exercise_text(FAILED)
    assert text.startswith("05 Online softmax, on the CPU interpreter\n")
    assert "FAIL many tiles: wrong values\n         871 of 2000 values are wrong\n         first: out[1, 0]" in text
    assert '2 more, not run: "many tiles" comes first' in text
    assert "1 of 4 checks passed. Edit exercises/05/kernel.py\n" in text
    assert "grader hint 05" in text


def test_pass_on_the_interpreter_is_called_that():
    text = exercise_text(result(check("one tile"), check("large", Status.NOT_RUN, None, "needs a GPU")))
    assert "Passed on the CPU interpreter: 1 of 2 checks passed. 1 needs a GPU.\n" in text
    assert "CPU-verified: values, memory safety; not timed, not verified on a GPU." in text
    assert "large: not run, needs a GPU" in text


def test_pass_on_a_gpu_names_the_card_and_the_ratio():
    text = exercise_text(result(check("one tile"), engine="gpu", device="NVIDIA H200", timings=(TIMING,)))
    assert text.startswith("05 Online softmax, on NVIDIA H200\n")
    assert "speed of online_softmax on 8 x 8 float32: meets, excellent" in text
    assert "400 us, reference 396 us; 4.00 TB/s, 93% of a large copy" in text
    assert "ratio 1.010 (99 % interval 0.990 to 1.020, 20 rounds), target 1.25" in text


def test_matrix_product_is_measured_against_a_matrix_product():
    product = replace(TIMING, flops=2e11, bytes=10**8, fraction=0.71)
    text = exercise_text(result(check("one tile"), engine="gpu", device="NVIDIA H200", timings=(product,)))
    assert "500 TFLOP/s, 71% of a large cuBLAS product" in text


def test_grader_trouble_is_not_the_learners():
    assert "not your kernel's fault" in exercise_text(
        result(check("x", Status.GRADER_ERROR, None, "KeyError in the grader"))
    )


@pytest.mark.parametrize("terminal", [False, True])
def test_marks_and_words_carry_the_meaning_without_colour(terminal):
    text = exercise_text(FAILED, terminal=terminal)
    assert text.isascii() is not terminal
    assert ("✗ " in text) is terminal
    assert "many tiles: wrong values" in text


def test_printed_text_is_never_markup():
    assert "    [bold]\n    hello" in exercise_text(FAILED, verbose=True)


def test_track_counts_only_what_is_solved_now():
    solved = result(check("one tile"))
    rows = [
        TrackRow(EXERCISE, solved),
        TrackRow(EXERCISE, solved, stale=True),
        TrackRow(EXERCISE, FAILED),
        TrackRow(EXERCISE, None),
    ]
    text = shown(lambda screen: screen.track("A track", rows, "Next: grader check 05"))
    assert "1 of 4 solved, 10 of 40 points" in text
    for word in ("passed", "changed since it passed", "wrong values", "not checked", "Next: grader check 05"):
        assert word in text
