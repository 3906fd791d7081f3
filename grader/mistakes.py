"""mistakes.toml: the known misconceptions in an exercise, each as an edit of its reference solution."""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any, Self

from grader.course import CourseError
from grader.results import Kind

FILLED = ("TILE", "NUMBER")
Edit = tuple[str, str]  # a text that must be there, and what takes its place


@dataclass(frozen=True)
class Mistake:
    """One misconception. `before` in the text of the reference solution becomes `after`, wherever it occurs.

    also: other edits with the same mistake, as others make it; TILE in one is the length of a tile of theirs, NUMBER a
    number of theirs, without its sign. kind: of the failure. engine: "interpreter", or "gpu" where only a GPU shows it.
    seen: what the learner sees. diagnosis: what is behind it, in two sentences that do not give the answer. hint: the level
    of the hint that helps. source: where people made it.
    """

    name: str
    before: str
    after: str
    kind: Kind
    engine: str
    seen: str
    diagnosis: str
    hint: int
    source: str
    also: tuple[tuple[Edit, ...], ...] = ()

    @classmethod
    def parse(cls, data: Mapping[str, Any]) -> Self:
        """In `also`, a text alone takes the place of `before`."""
        texts = [[(data["before"], form)] if isinstance(form, str) else form for form in data.get("also", ())]
        also = tuple(tuple((before, after) for before, after in edits) for edits in texts)
        return cls(**{**data, "kind": Kind(data["kind"]), "also": also})

    def applied(self, text: str) -> str:
        """`text` with the mistake made in it; the same text where it does not apply."""
        return text.replace(self.before, self.after)

    def forms(self, text: str, tiles: Sequence[str], numbers: Sequence[str]) -> Iterator[str]:
        """`text` with the mistake made in it, in each of its forms, those with each tile and each number."""
        for edits in (((self.before, self.after),), *self.also):
            word = next((w for w in FILLED if any(w in after for _, after in edits)), "")
            for filling in {"TILE": tiles, "NUMBER": numbers}.get(word, [""]):
                yield reduce(lambda made, edit: made.replace(edit[0], edit[1].replace(word, filling)), edits, text)


def load(path: Path) -> tuple[Mistake, ...]:
    """The mistakes in a file; none if there is no file. Raises CourseError."""
    try:
        entries = tomllib.loads(path.read_text(encoding="utf-8"))["mistake"] if path.is_file() else ()
        return tuple(Mistake.parse(entry) for entry in entries)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, KeyError, TypeError, ValueError) as error:
        raise CourseError(f"{path} is not a list of mistakes: {error}") from error
