"""Kernels of other structures than the reference solutions, with mistakes in them: tests/diagnosis."""

import tomllib
from dataclasses import dataclass
from pathlib import Path

KERNELS = Path(__file__).resolve().parent / "diagnosis"


@dataclass(frozen=True)
class Planted:
    """One kernel: the names of the mistakes that are in it, none if they are of no list, and its text."""

    exercise: str
    name: str
    made: frozenset[str]
    text: str

    def write(self, folder: Path) -> Path:
        """Its file, in a folder of its exercise's name."""
        path = folder / self.exercise / f"{self.name}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(self.text, encoding="utf-8")
        return path


def planted(exercise: str) -> list[Planted]:
    """All kernels for one exercise: each an edit of a right kernel."""
    folder = KERNELS / exercise
    entries = tomllib.loads((folder / "planted.toml").read_text(encoding="utf-8"))["planted"]
    texts = {path.stem: path.read_text(encoding="utf-8") for path in folder.glob("*.py")}
    return [Planted(exercise, e["name"], frozenset(e["mistakes"]), _edited(texts[e["kernel"]], e["edits"])) for e in entries]


def _edited(text: str, edits: list[tuple[str, str]]) -> str:
    """Each edit's first part occurs once in `text`; from the last to the first, so that what is put in is not searched."""
    for before, after in reversed(edits):
        head, found, tail = text.partition(before)
        assert found, before
        text = head + after + tail
    return text
