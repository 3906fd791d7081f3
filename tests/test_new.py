"""`grader new` begins an exercise that works; `grader vet` names what its author has to fill, and accepts it filled.

The author of these tests follows the steps of CONTRIBUTING.md, in a copy of the toy course.
"""

import re
import shutil

import pytest
from test_cli import grader

from grader import course, mistakes
from judging import TOY, grade

NAME = "15_my_kernel"
STEPS = [  # where there is something to fill
    "course.toml", *(f"solutions/{NAME}/{file}" for file in ("kernel.py", "mistakes.toml", "peers.py", "stub.py")),
    *(f"exercises/{NAME}/{file}" for file in ("kernel.py", "spec.md", "test_hidden.py")),
]  # fmt: skip


def contents(folder):
    """Every file of a course, by its path, without the learner's own."""
    paths = (path for path in sorted(folder.rglob("*")) if path.is_file() and ".grader" not in path.parts)
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


def fill(folder):
    """Do what the places to fill ask for: the kernel triples, and no place is left."""
    for file in STEPS:
        text = (folder / file).read_text().replace("2 * x", "3 * x").replace("2 · x", "3 · x")
        if file != f"exercises/{NAME}/kernel.py":  # step 3: `grader reset` puts the stub there
            (folder / file).write_text(re.sub(r".*FILL: .*\n", "", text))
    grader(folder, "reset", "15")


@pytest.fixture(scope="module")
def begun(tmp_path_factory):
    """A toy course with a new exercise; not to be changed."""
    folder = shutil.copytree(TOY, tmp_path_factory.mktemp("begun") / "toy")
    grader(folder, "new", NAME)
    return folder


@pytest.fixture(scope="module")
def named(begun):
    """What vet says of the new exercise."""
    return grader(begun, "vet", "15", code=1).splitlines()


def test_new_exercise_works(begun):
    said = grader(begun, "check", "15", "--from", "solutions")
    assert "15 My kernel" in said
    assert "Passed on the CPU interpreter" in said


def test_vet_names_the_places_to_fill_and_nothing_else(named):
    assert [line for line in named if line.startswith("FAIL")] == [f"FAIL {NAME}: no place is left to fill"]
    assert {line.split(", line ")[0].strip() for line in named if ", line " in line} == set(STEPS)
    assert named[-1] == "1 vetted, 1 problem."


def test_each_place_is_a_line_with_its_cure(begun, named):
    places = re.findall(r"^ +(\S+), line (\d+): (.+)$", "\n".join(named), re.MULTILINE)
    assert len(places) == sum(text.count(b"FILL: ") for text in contents(begun).values())
    for file, number, cure in places:
        assert cure in (begun / file).read_text().splitlines()[int(number) - 1]


def test_filled_exercise_is_accepted(begun, tmp_path):
    folder = shutil.copytree(begun, tmp_path / "toy")
    fill(folder)
    assert "1 vetted: fit to be handed out." in grader(folder, "vet", "15")


def test_its_mistakes_fail_as_they_say(begun, tmp_path):
    track = course.load(begun)
    exercise = track.find(NAME)
    solution = track.solution(exercise).read_text()
    listed = {tmp_path / f"{place}.py": m for place, m in enumerate(mistakes.load(track.mistakes(exercise)))}
    for path, mistake in listed.items():
        assert mistake.applied(solution) != solution
        path.write_text(mistake.applied(solution))
    results = grade(begun, [(NAME, path) for path in listed])
    assert [results[path].kind for path in listed] == [mistake.kind for mistake in listed.values()]
    assert len(listed) >= 2


def test_names_are_the_authors(toy):
    grader(toy, "new", "03_row_norm", "--title", "Row-wise L2 norm", "--function", "norm")
    made = course.load(toy).find("3")
    assert (made.id, made.title, made.functions) == ("03_row_norm", "Row-wise L2 norm", ("norm",))
    assert "def norm(x: torch.Tensor)" in (toy / "solutions/03_row_norm/kernel.py").read_text()
    assert "# 03 Row-wise L2 norm\n" in (toy / "exercises/03_row_norm/spec.md").read_text()


@pytest.mark.parametrize("end", ["# a comment at the end", "# a comment at the end\n"])
def test_what_is_there_is_kept(toy, end):
    with (toy / "course.toml").open("a") as file:
        file.write(end)
    for name in (NAME, "16_other"):
        before = contents(toy)
        grader(toy, "new", name)
        after = contents(toy)
        assert after.pop("course.toml").startswith(before.pop("course.toml"))
        assert before.items() <= after.items()
    assert [exercise.number for exercise in course.load(toy).exercises] == ["01", "02", "15", "16"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["02_negate"], "02_negate is an exercise of this course already."),
        (["02_other"], "02 is the number of 02_negate; choose one that is free."),
        (["my_kernel"], '"my_kernel" is no id'),
        (["15"], '"15" is no id'),
        (["15_My_Kernel"], '"15_My_Kernel" is no id'),
        (["15_/../../x"], '"15_/../../x" is no id'),
        (["15_lambda"], '"lambda" cannot be the name of the function'),
        (["15_torch"], '"torch" cannot be the name of the function'),
        (["15_double"], "double is a function of 01_double; give another one with --function."),
        ([NAME, "--function", "a b"], '"a b" cannot be the name of the function'),
        ([NAME, "--title", 'a "quoted" one'], "is no title"),
        ([NAME, "--title", "two\nlines"], "is no title"),
        (["14_left"], "exercises/14_left/spec.md exists already, and nothing is overwritten."),
    ],
)
def test_refusal_is_one_sentence_and_changes_nothing(toy, arguments, says):
    (toy / "exercises/14_left").mkdir()
    (toy / "exercises/14_left/spec.md").write_text("from an earlier try\n")
    before = contents(toy)
    said = grader(toy, "new", *arguments, code=2)
    assert says in said
    assert said.strip().endswith(".")
    assert contents(toy) == before
