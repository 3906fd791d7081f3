"""The command `grader`, as a person types it: a real process in a copy of the toy course."""

import json
import os
import re
import shutil
import subprocess
import sys

import pytest

from judging import ROOT, TOY

EXERCISES = "01_double", "02_negate"


def grader(folder, *arguments, code=0):
    """What the command printed; its exit code must be `code`."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUTF8": "1"}
    command = [sys.executable, "-m", "grader", *arguments]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    return done.stdout + done.stderr


def solve(toy, exercise):
    shutil.copy(toy / "solutions" / exercise / "kernel.py", toy / "exercises" / exercise / "kernel.py")


def copy(factory):
    """A copy of the toy course that the tests of this file share, with what one run of the command has left there."""
    return shutil.copytree(TOY, factory.mktemp("shared") / "toy")


@pytest.fixture(scope="module")
def stubs(tmp_path_factory):
    """Both stubs, checked and written as JSON: what was said, and the course's folder afterwards."""
    toy = copy(tmp_path_factory)
    return grader(toy, "check", "--all", "--json", "out.json", code=1), toy


@pytest.fixture(scope="module")
def halfway(tmp_path_factory):
    """The first exercise solved, and `grader check` twice: what was said, and the course's folder afterwards."""
    toy = copy(tmp_path_factory)
    solve(toy, "01_double")
    return grader(toy, "check"), grader(toy, "check", code=1), toy


@pytest.fixture(scope="module")
def verbose(tmp_path_factory):
    """Two wrong kernels, named by parts of their names, with -v: one is wrong by a factor, one prints and raises."""
    toy = copy(tmp_path_factory)
    wrong = (toy / "solutions/01_double/kernel.py").read_text().replace("2 * x", "3 * x")
    (toy / "exercises/01_double/kernel.py").write_text(wrong)
    raises = 'def negate(x):\n    print("[bold]loud[/bold]")\n    raise ValueError("[i] and [red]")\n'
    (toy / "exercises/02_negate/kernel.py").write_text(raises)
    return grader(toy, "check", "double", "nega", "-v", code=1), toy


def test_list_names_every_exercise(toy):
    said = grader(toy, "list")
    assert all(name in said for name in EXERCISES)


def test_check_of_a_stub_fails_calmly(stubs):
    said, _ = stubs
    assert said.count("not started") == 4  # once where it is told, once in the table
    assert "FAIL" not in said
    assert "grader hint 01" in said
    assert "exercises/01_double/kernel.py" in said


def test_check_without_a_name_takes_the_first_unsolved(halfway):
    first, then, _ = halfway
    assert "Passed on the CPU interpreter" in first
    assert "02 Negate" in then
    assert "01 Double" not in then


def test_check_one_file_finds_its_exercise(toy, tmp_path):
    shutil.copy(toy / "solutions/02_negate/kernel.py", tmp_path / "anything.py")
    assert "02 Negate" in grader(toy, "check", "--from", str(tmp_path / "anything.py"))


def test_output_that_is_no_terminal_is_plain_ascii(stubs):
    said, _ = stubs
    assert said.isascii()


def test_json_holds_the_results(stubs):
    _, toy = stubs
    data = json.loads((toy / "out.json").read_text())
    assert [(r["exercise"], r["status"], r["kind"], r["engine"]) for r in data["results"]] == [
        ("01_double", "failed", "not started", "interpreter"),
        ("02_negate", "failed", "not started", "interpreter"),
    ]


@pytest.fixture(scope="module")
def replayed(verbose, tmp_path_factory):
    """The seed of that run given to the first kernel again, and to a right one: what was said, and the folder afterwards."""
    toy = copy(tmp_path_factory)
    said, before = verbose
    shutil.copy(before / "exercises/01_double/kernel.py", toy / "exercises/01_double/kernel.py")
    solve(toy, "02_negate")
    return grader(toy, "check", "--all", "--seed", re.search(r"seed (\d+)", said).group(1), code=1), toy


def test_seed_replays_the_same_values(verbose, replayed):
    (first, toy), (again, _) = verbose, replayed
    assert "comes first" not in first  # verbose goes on after a failed check
    seed = re.search(r"seed (\d+)", first).group(1)
    wrong = re.search(r"first: .*", first).group(0)
    assert wrong in again
    assert "comes first" in again
    assert wrong not in grader(toy, "check", "01", "--seed", str(int(seed) + 1), code=1)
    assert "1.5 times" in first


def test_replay_is_not_kept_as_a_result(replayed):
    said, toy = replayed
    assert "1 of 2 solved" in said
    assert grader(toy, "progress").count("not checked") == 2


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["check", "nagate"], "Did you mean 02_negate?"),
        (["check", "9"], "grader list"),
        (["check", "e"], "could be"),
        (["check", "01", "--all"], "Give either names or --all"),
        (["check", "01", "--from", "nowhere"], "nowhere does not exist"),
        (["check", "--from", "solutions"], "Give names or --all"),
        (["check", "01", "--engine", "abacus"], "abacus"),
        (["hint", "17"], "There is no exercise"),
        (["no-such-command"], "no-such-command"),
    ],
)
def test_wrong_use_is_one_sentence_and_exit_code_2(toy, arguments, says):
    assert says in grader(toy, *arguments, code=2)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("format = 2", "reads format 1"),
        ("format = ", "not valid TOML"),
        ('format = 1\ntitle = "x"\n[[exercise]]\nid = "01_double"', "lacks 'functions'"),
    ],
)
def test_broken_course_is_named(toy, text, says):
    (toy / "course.toml").write_text(text)
    assert says in grader(toy, "list", code=2)


def test_broken_hidden_test_is_the_graders_fault(toy):
    (toy / "exercises/01_double/test_hidden.py").write_text("import no_such_module\n")
    said = grader(toy, "check", "01", code=3)
    assert "not your kernel's fault" in said
    assert "no_such_module" in said


def test_missing_submission_is_named(toy, tmp_path):
    (tmp_path / "handin").mkdir()
    shutil.copytree(toy / "solutions/01_double", tmp_path / "handin/01_double")
    said = grader(toy, "check", "--all", "--from", str(tmp_path / "handin"), code=1)
    assert "02_negate/kernel.py does not exist" in said
    assert "1 of 2 solved" in said


def test_hints_go_up_one_level_at_a_time(toy):
    said = [grader(toy, "hint", "02") for _ in range(4)]
    assert [re.search(r"hint (\d) of 3", text).group(1) for text in said] == ["1", "2", "3", "3"]
    assert "It is [not] hard." in said[1]
    assert "hint 1 of 3" in grader(toy, "hint", "02", "--level", "1")


def test_hints_begin_at_the_diagnosed_mistake(verbose):
    said, toy = verbose
    assert "equal what this mistake gives, to rounding:\n  times three\n    To double is" in said
    first, second = grader(toy, "hint", "01"), grader(toy, "hint", "01")
    assert "hint 2 of 3" in first
    assert "times three" in first
    assert "hint 3 of 3" in second
    (toy / "exercises/01_double/kernel.py").write_text("other")
    assert "times three" not in grader(toy, "hint", "01")  # it was about another file


def test_solution_is_shown_when_it_is_asked_for_twice(toy):
    first, second = grader(toy, "solution", "01"), grader(toy, "solution", "01")
    assert "grader hint 01" in first
    assert "tl.store" not in first
    assert "line 10: TODO(1): write the result for the elements that exist." in second
    assert "+     tl.store(out_ptr + offs, 2 * x, mask=mask)" in second


def test_solution_is_shown_once_it_is_solved(halfway):
    *_, toy = halfway
    assert "They are the same." in grader(toy, "solution", "01")


def test_progress_counts_and_marks_stale_results(halfway, tmp_path):
    toy = shutil.copytree(halfway[-1], tmp_path / "toy")
    assert "1 of 2 solved, 3 of 7 points" in grader(toy, "progress")
    path = toy / "exercises/01_double/kernel.py"
    path.write_text(path.read_text() + "\n# a thought\n")
    said = grader(toy, "progress")
    assert "changed since it passed" in said
    assert "0 of 2 solved" in said


def test_progress_with_grading_is_calm_about_untouched_stubs(toy):
    said = grader(toy, "progress", "--grade")
    assert "0 of 2 solved" in said
    assert "Next: grader check 01_double" in said


def test_reset_keeps_the_learners_file(toy):
    path = toy / "exercises/01_double/kernel.py"
    path.write_text("my work\n")
    said = grader(toy, "reset", "01")
    assert path.read_text() == (toy / "solutions/01_double/stub.py").read_text()
    assert (toy / said.split()[-1]).read_text() == "my work\n"


def test_solve_and_unsolve_never_lose_work(toy):
    path = toy / "exercises/01_double/kernel.py"
    path.write_text("my work\n")
    grader(toy, "solve", "01", "02")
    grader(toy, "solve", "01")
    assert path.read_text() == (toy / "solutions/01_double/kernel.py").read_text()
    path.write_text("the instructor plays\n")
    grader(toy, "solve", "01")
    assert "01_double, 02_negate" in grader(toy, "unsolve")
    assert path.read_text() == "my work\n"
    kept = [backup.read_text() for backup in (toy / ".grader/backup/01_double").iterdir()]
    assert "the instructor plays\n" in kept
    assert "Nothing to bring back" in grader(toy, "unsolve")


def test_learners_text_is_printed_as_it_is(verbose):
    said, _ = verbose
    assert "ValueError: [i] and [red]" in said
    assert "[bold]loud[/bold]" in said
    assert "kernel.py, line 3" in said


def test_works_from_a_subfolder(toy):
    assert "Double" in grader(toy / "exercises" / "01_double", "list")


def test_list_and_hint_do_not_import_torch(toy):
    code = "import sys; sys.argv = ['grader', 'hint', '01']; import grader.cli\n"
    code += "try: grader.cli.main()\nexcept SystemExit: pass\n"
    code += "print(sorted({'torch', 'triton', 'numpy'} & set(sys.modules)))"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], cwd=toy, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
