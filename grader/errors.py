"""What the errors that beginners meet mean, in plain words: the table errors.toml, and the search in it."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from textwrap import wrap

from grader.results import Kind

TABLE = Path(__file__).with_name("errors.toml")
WIDTH = 90  # characters; a report on a terminal has 100
LONGEST = 1000  # characters of a message to look at; what comes from a runner may be of any length


@dataclass(frozen=True)
class Explanation:
    """What one error means, and what to look at. kind: how the failure is called; None: as the exception alone would say."""

    name: str
    match: re.Pattern[str]
    means: str
    look: str
    seen: str
    kind: Kind | None = None

    @property
    def lines(self) -> tuple[str, ...]:
        """For the report, below the message itself."""
        return tuple(wrap(self.means, WIDTH) + wrap(self.look, WIDTH))


@cache
def table() -> Mapping[str, Explanation]:
    """All explanations, by name. Raises KeyError, ValueError or re.error if an entry has not the right form."""
    entries = tomllib.loads(TABLE.read_text(encoding="utf-8"))
    return {name: _explanation(name, entry) for name, entry in entries.items()}


def find(error: str, raised: str) -> list[Explanation]:
    """All that match `error`, "Exception: message", which `raised`, "module:function", has raised."""
    text = f"{error[:LONGEST]} in {raised[:LONGEST]}"
    return [entry for entry in table().values() if entry.match.search(text)]


def explain(error: str, raised: str) -> Explanation | None:
    """The one that is certain: where two match, one of them is wrong."""
    found = find(error, raised)
    return found[0] if len(found) == 1 else None


def _explanation(name: str, entry: Mapping[str, str]) -> Explanation:
    kind = Kind(entry["kind"]) if "kind" in entry else None
    return Explanation(name, re.compile(entry["match"], re.DOTALL), entry["means"], entry["look"], entry["seen"], kind)
