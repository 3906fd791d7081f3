"""`grader new`: the skeleton of an exercise, a small one that works and marks what its author has to fill.

Each template is a file of the exercise. Stub and reference solution are one template, so that they cannot differ elsewhere.
"""

import keyword
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from grader.course import Course
from grader.workspace import write

TAKEN = "torch", "triton", "tl"  # what every kernel.py imports


class Refused(Exception):
    """The exercise cannot be made; the message says why. Nothing was written."""


@dataclass(frozen=True)
class Skeleton:
    """The exercise to be made. id: "15_my_kernel"; title: a few plain words; function: of the submission."""

    id: str
    title: str
    function: str

    @property
    def number(self) -> str:
        return self.id.partition("_")[0]


def create(track: Course, name: str, title: str | None = None, function: str | None = None) -> Skeleton:
    """Write the files of a new exercise, then its entry at the end of course.toml. Nothing is overwritten.

    name: the id. title, function: made from the id where they are None. Raises Refused, OSError.
    """
    plain = name.partition("_")[2]
    skeleton = Skeleton(name, plain.replace("_", " ").capitalize() if title is None else title, function or plain)
    files = dict(_files(track, skeleton))
    for reason in (*_wrong(skeleton), *_collisions(track, skeleton), *_existing(track, files)):
        raise Refused(reason)
    for path, text in files.items():
        write(path, text)
    _append(track.root / "course.toml", _render("entry.toml", skeleton))  # last: an entry without its files breaks a course
    return skeleton


def _files(track: Course, skeleton: Skeleton) -> Iterator[tuple[Path, str]]:
    exercise, solution = (track.root / part / skeleton.id for part in ("exercises", "solutions"))
    yield solution / "kernel.py", _render("kernel.py", skeleton)
    yield solution / "stub.py", _render("kernel.py", skeleton, stub=True)
    yield solution / "mistakes.toml", _render("mistakes.toml", skeleton)
    yield solution / "peers.py", _render("peers.py", skeleton)
    yield exercise / "kernel.py", _render("kernel.py", skeleton, stub=True)
    yield exercise / "test_hidden.py", _render("test_hidden.py", skeleton)
    yield exercise / "spec.md", _render("spec.md", skeleton)


def _wrong(skeleton: Skeleton) -> Iterator[str]:
    """What is wrong with the names themselves."""
    if not re.fullmatch(r"[0-9]{2}_[a-z][a-z0-9_]*", skeleton.id):
        yield f'"{skeleton.id}" is no id: it takes two digits, _, and a name in small letters, as in 15_my_kernel.'
    function = skeleton.function
    if not re.fullmatch(r"[a-z][a-z0-9_]*", function) or keyword.iskeyword(function) or function in TAKEN:
        yield f'"{function}" cannot be the name of the function; give another one with --function.'
    if not re.fullmatch(r"\w[\w ,.:;()&'+×·²-]{0,39}", skeleton.title):
        yield f'"{skeleton.title}" is no title: it takes a few plain words, 40 characters at most.'


def _collisions(track: Course, skeleton: Skeleton) -> Iterator[str]:
    """What the course has already. One file must tell by its functions which exercise it answers."""
    for exercise in track.exercises:
        if exercise.id == skeleton.id:
            yield f"{skeleton.id} is an exercise of this course already."
        if exercise.number == skeleton.number:
            yield f"{skeleton.number} is the number of {exercise.id}; choose one that is free."
        if skeleton.function in exercise.functions:
            yield f"{skeleton.function} is a function of {exercise.id}; give another one with --function."


def _existing(track: Course, files: dict[Path, str]) -> Iterator[str]:
    for path in files:
        if path.exists() or path.is_symlink():
            yield f"{path.relative_to(track.root)} exists already, and nothing is overwritten."


def _append(path: Path, entry: str) -> None:
    """Add an entry to course.toml; every byte before it stays."""
    old = path.read_bytes()
    write(path, old + (b"" if old.endswith(b"\n") else b"\n") + b"\n" + entry.encode())


def _render(name: str, skeleton: Skeleton, stub: bool = False) -> str:
    """The text of one file. stub: with the gaps."""
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template(f"{name}.jinja").render(new=skeleton, stub=stub)
