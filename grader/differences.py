"""Where a submission differs from the reference solution, and why: the task that the stub set at that place."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

_TODO = re.compile(r"\s*# (TODO\(\d+\): .+)")
CHANGED = "no task asks for this change: the stub has it as the solution does"
ADDED = "no task asks for this"


@dataclass(frozen=True)
class Difference:
    """Lines of the submission, from line `line` on, and what the solution has in their place. reason: what is done there."""

    line: int
    reason: str
    ours: tuple[str, ...]
    theirs: tuple[str, ...]


def differences(submission: str, solution: str, stub: str) -> Iterator[Difference]:
    """Each place where the texts differ, from the top. stub: the solution with gaps, each with a TODO."""
    ours, theirs = _lines(submission), _lines(solution)
    tasks = _tasks(stub, theirs)
    for kind, start, end, other_start, other_end in _opcodes(ours, theirs):
        if kind != "equal":
            elsewhere = CHANGED if other_start < other_end else ADDED
            reason = next((tasks[n] for n in range(other_start, max(other_end, other_start + 1)) if n in tasks), elsewhere)
            yield Difference(start + 1, reason, tuple(ours[start:end]), tuple(theirs[other_start:other_end]))


def _tasks(stub: str, solution: Sequence[str]) -> dict[int, str]:
    """For each line of the solution that fills a gap of the stub, the task of that gap."""
    lines = _lines(stub)
    found: dict[int, str] = {}
    for kind, start, end, other_start, other_end in _opcodes(lines, solution):
        tasks = [match.group(1) for line in lines[start:end] if (match := _TODO.match(line))]
        if kind != "equal" and tasks:
            found |= dict.fromkeys(range(other_start, other_end), tasks[0])
    return found


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.splitlines()]


def _opcodes(one: Sequence[str], other: Sequence[str]) -> Sequence[tuple[str, int, int, int, int]]:
    return SequenceMatcher(a=one, b=other, autojunk=False).get_opcodes()
