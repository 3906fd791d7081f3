"""mistakes.toml: the known misconceptions in an exercise, each as an edit of its reference solution."""

import ast
import copy
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice, product
from pathlib import Path
from typing import Any, Self

from grader.course import CourseError
from grader.results import Kind

MOST_TILES = 16  # ways of choosing lengths that are worth trying
SHORTEST_TILE = 16  # what is shorter is a number of rows
SEVERAL = (2, 4, 8)  # tiles that one program may take, one after another or as rows of a block


@dataclass(frozen=True)
class Mistake:
    """One misconception. `before` in the text of the reference solution becomes `after`, wherever it occurs.

    also: what else it becomes when others make the same mistake, such as another number; TILE in it is the length of a
    tile of theirs. kind: of the failure. engine: "interpreter", or "gpu" where only a GPU shows it. seen: what the learner
    sees. diagnosis: what is behind it, in two sentences that do not give the answer. hint: the level of the hint that
    helps. source: where people made it.
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
    also: tuple[str, ...] = ()

    @classmethod
    def parse(cls, data: Mapping[str, Any]) -> Self:
        return cls(**{**data, "kind": Kind(data["kind"]), "also": tuple(data.get("also", ()))})

    def applied(self, text: str) -> str:
        """`text` with the mistake made in it; the same text where it does not apply."""
        return text.replace(self.before, self.after)

    def forms(self, text: str, lengths: Sequence[int]) -> Iterator[str]:
        """`text` with the mistake made in it, in each of its forms. TILE in one is each of `lengths`, one after another."""
        for after in (self.after, *self.also):
            for length in _tiles(lengths) if "TILE" in after else (0,):
                yield text.replace(self.before, after.replace("TILE", str(length)))


def load(path: Path) -> tuple[Mistake, ...]:
    """The mistakes in a file; none if there is no file. Raises CourseError."""
    try:
        entries = tomllib.loads(path.read_text(encoding="utf-8"))["mistake"] if path.is_file() else ()
        return tuple(Mistake.parse(entry) for entry in entries)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, KeyError, TypeError, ValueError) as error:
        raise CourseError(f"{path} is not a list of mistakes: {error}") from error


def with_tiles(text: str, lengths: Sequence[int]) -> Iterator[str]:
    """The source in `text` with other lengths for its tiles, first for one alone.

    Tiles are the names BLOCK_… whose length does not depend on the data. If their own are among `lengths`, only several
    tiles at once are tried, and that only where there is one such name.
    """
    tree = ast.parse(text)
    fixed = dict(_fixed(tree))
    sizes = [] if all(length in lengths for length in fixed.values()) else _tiles(lengths)
    if len(fixed) == 1:
        sizes += [times * length for length in _tiles(lengths) for times in SEVERAL]
    alone = ({name: size} for name in reversed(fixed) for size in sizes)
    together = (dict(zip(fixed, chosen, strict=True)) for chosen in product(sizes, repeat=len(fixed)))
    for chosen in islice(chain(alone, together if len(fixed) > 1 else ()), MOST_TILES):
        yield ast.unparse(_Tiles(chosen).visit(copy.deepcopy(tree)))


def _tiles(lengths: Sequence[int]) -> list[int]:
    return [length for length in lengths if length >= SHORTEST_TILE]


def _fixed(tree: ast.AST) -> Iterator[tuple[str, object]]:
    """The tiles whose length does not depend on the data, from assignments, launches and configurations.

    None: it is no plain number.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and isinstance(node.value, ast.Constant) and str(node.arg).startswith("BLOCK_"):
            yield str(node.arg), node.value.value
        if isinstance(node, ast.Dict):
            for key in (str(getattr(key, "value", "")) for key in node.keys):
                if key.startswith("BLOCK_"):
                    yield key, None
        if isinstance(node, ast.Assign) and not _depends_on_data(node.value):
            values = getattr(node.value, "elts", [node.value] * len(_bound(node)))
            for name, value in zip(_bound(node), values, strict=True):
                if name.startswith("BLOCK_"):
                    yield name, getattr(value, "value", None)


def _depends_on_data(node: ast.AST) -> bool:
    """Whether an expression asks for more than the dtype: then another number would not do."""
    calls = [call.func for call in ast.walk(node) if isinstance(call, ast.Call)]
    return any(not isinstance(call, ast.Attribute) or call.attr != "element_size" for call in calls)


def _bound(node: ast.Assign) -> list[str]:
    """The names that an assignment gives a value, in their order."""
    return [name.id for target in node.targets for name in ast.walk(target) if isinstance(name, ast.Name)]


class _Tiles(ast.NodeTransformer):
    """Puts the wanted number where the length of a tile is given a value."""

    def __init__(self, lengths: Mapping[str, int]) -> None:
        self._lengths = lengths

    def visit_keyword(self, node: ast.keyword) -> ast.keyword:
        """Of a launch: kernel[grid](..., BLOCK_N=4096)."""
        length = self._lengths.get(node.arg or "")
        return ast.keyword(node.arg, ast.Constant(length)) if length else node

    def visit_Dict(self, node: ast.Dict) -> ast.Dict:
        """Of a configuration: triton.Config({"BLOCK_N": 128})."""
        keys = [getattr(key, "value", None) for key in node.keys]
        sizes = [self._lengths.get(str(key)) for key in keys]
        values = [ast.Constant(size) if size else value for size, value in zip(sizes, node.values, strict=True)]
        return ast.Dict(node.keys, values)

    def visit_Assign(self, node: ast.Assign) -> list[ast.stmt]:
        """Of a function of the host: what is assigned is replaced at once."""
        self.generic_visit(node)
        names = [name for name in _bound(node) if name in self._lengths]
        return [node, *(ast.parse(f"{name} = {self._lengths[name]}").body[0] for name in names)]
