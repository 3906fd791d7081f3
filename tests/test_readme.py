"""README says what is true today: its commands run, its examples are real output, its table is the track."""

import re
import shlex
import shutil
import subprocess
import sys
from functools import cache

import pytest
from test_cli import grader, solve

from grader import course
from judging import ROOT, TOY

README = (ROOT / "README.md").read_text()
TYPED = re.findall(r"^\$ (.+)$", README, re.MULTILINE)
IN_TABLE = re.findall(r"^\| `(grader [^`]+)` \|", README, re.MULTILINE)
IN_TOY = {
    "01_vector_add": "02",
    "05": "02",
    "path/to/handin": "solutions",
    "path/to/kernel.py": "solutions/02_negate/kernel.py",
}
FIRST, SECOND = "01_vector_add", "02_row_wise_sum"
RANDOM = re.compile(r"((?<=is )|(?<=expected )|(?<=error ))[-.e\d]+|(?<=out\[)\d+|(?<=program \()\d+")  # values and places


def in_toy(commands):
    """The same commands in words of the toy course; those that differ in their options only become one, with all of them."""
    together = {}
    for command in commands:
        for here, there in IN_TOY.items():
            command = command.replace(here, there)
        plain, *options = command.split(" -")
        together.setdefault(plain, {}).update(dict.fromkeys(options))
    return [" -".join([plain, *options]) for plain, options in together.items()]


@pytest.fixture(scope="module")
def typed(tmp_path_factory):
    """Types a command in a copy of the toy course, the same one only once; gives what it printed, and the folder.

    Everything is solved there, unless the command brings the solutions itself.
    """

    @cache
    def said(command):
        toy = shutil.copytree(TOY, tmp_path_factory.mktemp("typed") / "toy")
        if not re.search("unsolve|--from", command):
            solve(toy, "01_double")
            solve(toy, "02_negate")
        return grader(toy, *command.split()[1:]), toy

    return said


EVERYWHERE = [c for c in [*TYPED, *IN_TABLE] if c.startswith("grader") and "bench" not in c]  # see test_bench, test_gpu


@pytest.mark.parametrize("command", sorted(in_toy(EVERYWHERE)))
def test_command_runs(typed, command):
    said, _ = typed(command)
    assert said


def test_check_all_from_solutions_passes_and_keeps_nothing(typed):
    said, toy = typed("grader check --all --from solutions")
    assert "2 of 2 solved" in said
    assert not (toy / ".grader").exists()


def test_doctor_finds_this_machine_in_order(typed):
    said, _ = typed("grader doctor")
    assert "a small kernel ran and was judged right" in said


def test_vet_finds_a_good_exercise_fit(typed):
    said, _ = typed("grader vet 02")
    assert "1 vetted: fit to be handed out." in said


@pytest.mark.parametrize("command", sorted({c for c in TYPED if c.startswith("make")}))
def test_make_target_exists(command):
    subprocess.run([*command.split(), "--dry-run"], cwd=ROOT, check=True, capture_output=True)


def test_no_other_command_is_shown():
    assert [c for c in TYPED if not c.startswith(("grader", "make"))] == ["source .venv/bin/activate"]


@pytest.mark.parametrize(
    ("number", "exercise", "edit"),
    [
        (0, FIRST, None),
        (1, FIRST, ("mask = offs < n_elements", "mask = offs <= n_elements")),
        (2, SECOND, ("range(0, n_cols, BLOCK_N)", "range(0, BLOCK_N, BLOCK_N)")),
        (3, FIRST, ("", "")),
    ],
    ids=["untouched", "outside", "wrong", "right"],
)
def test_examples_are_real_output(tmp_path, number, exercise, edit):
    for part in ("exercises", "solutions"):
        shutil.copytree(ROOT / part, tmp_path / part)
    shutil.copy(ROOT / "course.toml", tmp_path)
    source = "stub.py" if edit is None else "kernel.py"
    text = (ROOT / "solutions" / exercise / source).read_text()
    (tmp_path / "exercises" / exercise / "kernel.py").write_text(text.replace(*edit) if edit else text)
    example = re.findall(r"```text\n(.*?)```", README, re.DOTALL)[number]
    said = grader(tmp_path, "check", exercise, code=int(number < 3))
    assert RANDOM.sub("#", said).strip() == RANDOM.sub("#", example).strip()


def test_table_is_the_track():
    rows = {row[0]: row[1:] for row in re.findall(r"^\| (\d\d_\w+) \| (.+) \| .+ \| (\d+) \|$", README, re.MULTILINE)}
    expected = {e.id: (", ".join(f"`{f}`" for f in e.functions), str(e.points)) for e in course.load(ROOT).exercises}
    assert rows == expected


def test_commands_of_the_program_are_all_described():
    helped = grader(ROOT, "--help")
    listed = set(re.findall(r"^  ([a-z]+) {2,}", helped, re.MULTILINE))
    assert listed - {"version"} <= {word.split()[1] for word in [*TYPED, *IN_TABLE] if word.startswith("grader")}
    assert "check" in listed


@pytest.mark.parametrize(
    "document",
    [
        "README.md",
        "CONTRIBUTING.md",
        "docs/benchmarks.md",
        "docs/optimization.md",
        "docs/correctness.md",
        "docs/compiler.md",
    ],
)
def test_links_resolve(document):
    path = ROOT / document
    for target in re.findall(r"\]\((?!http)([^)#]+)", path.read_text()):
        assert (path.parent / target).exists(), target


def test_commands_of_the_compiler_page_run():
    page = (ROOT / "docs/compiler.md").read_text().replace("\\\n", " ")
    commands = re.findall(r"^\$ python (docs/dump_stages\.py .+)$", page, re.MULTILINE)
    assert len(commands) == 3
    for command in commands:
        done = subprocess.run([sys.executable, *shlex.split(command)], cwd=ROOT, capture_output=True, text=True, check=True)
        assert len(done.stdout) > 20
