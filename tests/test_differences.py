"""The differences between a submission and the solution, each with the task of the stub that it belongs to."""

from grader.differences import ADDED, CHANGED, differences

SOLUTION = "def f(x):\n    a = 1\n    b = 2\n    c = 3\n    return a\n"
STUB = "def f(x):\n    a = 1\n    # TODO(1): count on.\n    pass\n    return a\n"


def test_a_gap_is_filled_by_its_task():
    (found,) = differences("def f(x):\n    a = 1\n    b = 4\n    c = 3\n    return a\n", SOLUTION, STUB)
    assert (found.line, found.reason) == (3, "TODO(1): count on.")
    assert (found.ours, found.theirs) == (("    b = 4",), ("    b = 2",))


def test_what_no_task_asked_for_is_said_to_be_that():
    (changed,) = differences(SOLUTION.replace("a = 1", "a = 7"), SOLUTION, STUB)
    assert (changed.line, changed.reason) == (2, CHANGED)
    (added,) = differences(SOLUTION.replace("    a = 1", "    print(x)\n    a = 1"), SOLUTION, STUB)
    assert (added.line, added.reason) == (2, ADDED)


def test_lines_that_are_left_out_belong_to_their_task_too():
    (found,) = differences("def f(x):\n    a = 1\n    return a\n", SOLUTION, STUB)
    assert found.reason == "TODO(1): count on."
    assert found.ours == ()


def test_the_solution_does_not_differ_from_itself():
    assert list(differences(SOLUTION, SOLUTION, STUB)) == []


def test_space_at_the_end_of_lines_is_no_difference():
    assert list(differences(SOLUTION.replace("\n", "  \n"), SOLUTION, STUB)) == []
