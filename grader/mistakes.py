"""mistakes.toml: the known misconceptions in an exercise, each as an edit of its reference solution."""

import ast
import copy
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, product
from pathlib import Path
from typing import Any, Self

from grader.course import CourseError
from grader.results import Kind

MOST_TILES = 9  # ways of choosing lengths that are worth trying


@dataclass(frozen=True)
class Mistake:
    """One misconception. `before` in the text of the reference solution becomes `after`, wherever it occurs.

    kind: of the failure. engine: "interpreter", or "gpu" where only a GPU shows it. seen: what the learner sees. diagnosis:
    what is behind it, in two sentences that do not give the answer. hint: the level of the hint that helps. source: where
    people made it.
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

    @classmethod
    def parse(cls, data: Mapping[str, Any]) -> Self:
        return cls(**{**data, "kind": Kind(data["kind"])})

    def applied(self, text: str) -> str:
        """`text` with the mistake made in it; the same text where it does not apply."""
        return text.replace(self.before, self.after)


def load(path: Path) -> tuple[Mistake, ...]:
    """The mistakes in a file; none if there is no file. Raises CourseError."""
    try:
        entries = tomllib.loads(path.read_text(encoding="utf-8"))["mistake"] if path.is_file() else ()
        return tuple(Mistake.parse(entry) for entry in entries)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, KeyError, TypeError, ValueError) as error:
        raise CourseError(f"{path} is not a list of mistakes: {error}") from error


def with_tiles(text: str, lengths: Sequence[int]) -> Iterator[str]:
    """The source in `text` with other lengths for its tiles: for every name BLOCK_… that is given a plain number."""
    tree = ast.parse(text)
    names = sorted(_fixed(tree))
    for chosen in islice(product([length for length in lengths if length > 1], repeat=len(names)), MOST_TILES):
        yield ast.unparse(_Tiles(dict(zip(names, chosen, strict=True))).visit(copy.deepcopy(tree)))


def _fixed(tree: ast.AST) -> set[str]:
    """The names of tiles whose length is a plain number, or depends on the dtype alone, in an assignment or in a launch."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and isinstance(node.value, ast.Constant):
            names.add(node.arg or "")
        if isinstance(node, ast.Assign) and not _depends_on_data(node.value):
            names |= _bound(node)
    return {name for name in names if name.startswith("BLOCK_")}


def _depends_on_data(node: ast.AST) -> bool:
    """Whether an expression asks for more than the dtype: then another number would not do."""
    calls = [call.func for call in ast.walk(node) if isinstance(call, ast.Call)]
    return any(not isinstance(call, ast.Attribute) or call.attr != "element_size" for call in calls)


def _bound(node: ast.Assign) -> set[str]:
    """The names that an assignment gives a value."""
    return {name.id for target in node.targets for name in ast.walk(target) if isinstance(name, ast.Name)}


class _Tiles(ast.NodeTransformer):
    """Puts the wanted number where the length of a tile is given a value."""

    def __init__(self, lengths: Mapping[str, int]) -> None:
        self._lengths = lengths

    def visit_keyword(self, node: ast.keyword) -> ast.keyword:
        """Of a launch: kernel[grid](..., BLOCK_N=4096)."""
        length = self._lengths.get(node.arg or "")
        return ast.keyword(node.arg, ast.Constant(length)) if length else node

    def visit_Assign(self, node: ast.Assign) -> list[ast.stmt]:
        """Of a function of the host: what is assigned is replaced at once."""
        names = sorted(_bound(node) & set(self._lengths))
        return [node, *(ast.parse(f"{name} = {self._lengths[name]}").body[0] for name in names)]
