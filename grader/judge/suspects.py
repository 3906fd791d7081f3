"""The reference solution with mistakes in it, as a submission with the same mistakes might have them.

Some mistakes look different with other tiles, so the solution's own are replaced by those of the submission, as far as what
it loads tells.
"""

import ast
import math
import threading
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, permutations, product

from grader.mistakes import Mistake

Shape = tuple[int, ...]  # of what a program loads at once

MOST_TILES = 16  # ways of choosing lengths that are worth trying
SHORTEST_TILE = 16  # what is shorter is a number of rows
SEVERAL = (2, 4, 8)  # tiles that one program may take, one after another or as rows of a block
PRUNING = "prune_configs_by"  # of an autotuner: it was written for the solution's own tiles
_ONE_TREE_AT_A_TIME = threading.Lock()  # Python 3.11 mixes up how deep two trees are (python/cpython#106905)


@dataclass(frozen=True)
class Suspect:
    """One mistake, or two that are made at once. retiled: whether with other tiles than the solution's own, too."""

    mistakes: tuple[Mistake, ...]
    retiled: bool

    def forms(self, solution: str, shapes: Sequence[Shape], numbers: Sequence[str]) -> list[str]:
        """The source of the solution with the mistakes in it, in every form.

        shapes: what the submission loads. numbers: that stand in its text.
        """
        return list(dict.fromkeys(self._forms(solution, [str(length) for length in _lengths(shapes)], numbers)))

    def tilings(self, form: str, solution: str, shapes: Sequence[Shape]) -> list[str]:
        """One form as it is, and then with other tiles. shapes: what the submission loads."""
        others = with_tiles(form, solution, shapes, with_pairs=len(self.mistakes) == 1) if self.retiled else ()
        return list(dict.fromkeys((form, *others)))

    def _forms(self, solution: str, tiles: Sequence[str], numbers: Sequence[str]) -> Iterator[str]:
        """Of two mistakes, the one in each of its forms and the other as it is; none if only one can be made."""
        if len(self.mistakes) == 1:
            yield from self.mistakes[0].forms(solution, tiles, numbers)
            return
        for first, second in permutations(self.mistakes):
            for alone in first.forms(solution, tiles, numbers):
                both = second.applied(alone)
                if both not in (alone, second.applied(solution)):
                    yield both


@dataclass(frozen=True)
class _Place:
    """Where a text gives a tile its length: bytes `start` to `end`, which `put` replaces.

    is_fixed: whether the length depends on no data. length: if it is a plain number. own: its text.
    """

    name: str
    is_fixed: bool
    length: object
    start: int
    end: int
    put: str
    own: str


def reached(text: str, function: str) -> str:
    """What a call of a function may use of the source in `text`: two texts with the same answer do the same."""
    parts = {name: node for node in ast.parse(text).body for name in _defined(node)}
    waiting, found = [function], {}
    while waiting:
        name = waiting.pop()
        if name in parts and name not in found:
            found[name] = ast.dump(parts[name])
            waiting += [node.id for node in ast.walk(parts[name]) if isinstance(node, ast.Name)]
    return "\n".join(found[name] for name in sorted(found))


def _defined(node: ast.stmt) -> list[str]:
    return [node.name] if isinstance(node, ast.FunctionDef) else _bound(node) if isinstance(node, ast.Assign) else []


def numbers(text: str) -> list[str]:
    """Numbers that stand in a source, without their signs: what its author may have put where another one belongs.

    Powers of two come last: most are lengths. Those below SHORTEST_TILE are left out, since they are axes and warps.
    """
    with _ONE_TREE_AT_A_TIME:
        tree = ast.parse(text)
    found = (abs(_number(node.value)) for node in ast.walk(tree) if isinstance(node, ast.Constant))
    fair = (number for number in dict.fromkeys(found) if 0 < number < float("inf"))
    return [repr(number) for number in sorted(fair, key=_is_length)]


def _number(value: object) -> float:
    """0 for what is none. A text may be one: float("-1e9")."""
    if isinstance(value, int) and value < SHORTEST_TILE and value & (value - 1) == 0:
        return 0.0
    try:
        return float(value) if isinstance(value, int | float | str) else 0.0
    except (ValueError, OverflowError):
        return 0.0


def _is_length(number: float) -> bool:
    return number >= SHORTEST_TILE and math.frexp(number)[0] == 0.5


def has_tiles(solution: str) -> bool:
    """Whether there is any length in it that could be another one."""
    return any(_is_tile(place.name) for place in _places(solution))


def with_tiles(text: str, solution: str, shapes: Sequence[Shape], with_pairs: bool = False) -> Iterator[str]:
    """The source in `text` with other lengths for its tiles: those of `shapes`, the tiles of another submission.

    Tiles are the names BLOCK_… whose length does not depend on the data in `solution`, of which `text` is an edit: a length
    that only the edit has fixed is the mistake, and one that only the edit has made depend on the data stays as it is. If
    their own are among those of `shapes`, only several tiles at once are tried, and that only where there is one such name.
    Names GROUP_… are varied, too. Where all lengths depend on the data, they become longer: more of a tile may be padding.

    with_pairs: whether one of several tiles may also be two of those in `shapes`, side by side.
    """
    places = _places(text)
    fixed = {place.name: place.length for place in _places(solution) if place.is_fixed}
    yield from _retiled(text, places, fixed, shapes, with_pairs) if fixed else _padded(text, places, shapes)


def _padded(text: str, places: Sequence[_Place], shapes: Sequence[Shape]) -> Iterator[str]:
    fixed = {place.name for place in places if place.is_fixed}
    names = {place.name for place in places if _is_tile(place.name)} - fixed
    for length in _lengths(shapes) if names else ():
        yield _edited(text, places, dict.fromkeys(names, f"max({{own}}, {length})"))


def _retiled(
    text: str, places: Sequence[_Place], fixed: Mapping[str, object], shapes: Sequence[Shape], with_pairs: bool
) -> Iterator[str]:
    """fixed: the names whose lengths are free to change, with their own ones."""
    places = [place for place in places if place.is_fixed or place.name not in fixed]
    blocks = {name: length for name, length in fixed.items() if name.startswith("BLOCK_")}
    groups = [name for name in fixed if name.startswith("GROUP_")]
    lengths = _lengths(shapes)
    sizes = [] if all(length in lengths for length in blocks.values()) else lengths
    if len(blocks) == 1:
        sizes = sizes + [times * length for length in lengths for times in SEVERAL]
    free = any(place.name not in fixed and place.name.startswith("BLOCK_") for place in places)
    choices = _choices(blocks, sizes, shapes, free)
    paired = [{**chosen, name: 2 * size} for chosen in choices if len(chosen) > 1 for name, size in chosen.items()]
    choices = [*choices, *(paired if with_pairs else ())][:MOST_TILES]
    grouped = [{**dict.fromkeys(groups, size), **chosen} for size in SEVERAL for chosen in ({}, *choices)]
    for chosen in (*choices, *(grouped if groups else ())):
        yield _edited(text, places, {name: str(length) for name, length in chosen.items()} | {PRUNING: "None"})


def backwards(text: str) -> str:
    """The source in `text` with each loop over a range going from its end to its start; steps are positive."""
    with _ONE_TREE_AT_A_TIME:
        tree = ast.parse(text)
    for loop in ast.walk(tree):
        if isinstance(loop, ast.For) and isinstance(loop.iter, ast.Call) and getattr(loop.iter.func, "id", "") == "range":
            loop.iter = ast.parse(_reversed([f"({ast.unparse(part)})" for part in loop.iter.args]), mode="eval").body
    return ast.unparse(tree)


def _reversed(parts: Sequence[str]) -> str:
    """The range of these arguments, the last number first."""
    start, stop = parts[:2] if len(parts) > 1 else ("0", parts[0])
    step = parts[2] if len(parts) > 2 else "1"
    return f"range({start} + ({stop} - {start} + {step} - 1) // {step} * {step} - {step}, {start} - {step}, -{step})"


def _choices(names: Collection[str], sizes: Sequence[int], shapes: Sequence[Shape], free: bool) -> list[dict[str, int]]:
    """Lengths for tiles: all that explain every shape; where none does, one tile alone is tried first.

    free: whether one length of each shape may be of another kind, which depends on the data.
    """
    alone = [{name: size} for name in reversed(list(names)) for size in sizes]
    if len(names) < 2:
        return alone
    together = [dict(zip(names, chosen, strict=True)) for chosen in product(sizes, repeat=len(names))]
    return [c for c in together if all(_unexplained(shape, c) <= free for shape in shapes)] or alone + together


def _unexplained(shape: Shape, chosen: Mapping[str, int]) -> int:
    """How many lengths of a shape are not those of tiles of which each is taken once."""
    return (Counter(length for length in shape if length >= SHORTEST_TILE) - Counter(chosen.values())).total()


def _lengths(shapes: Sequence[Shape]) -> list[int]:
    """The longest first. Where nothing longer is loaded, a short row may lie in a tile that is just as short."""
    lengths = {length for shape in shapes for length in shape if length >= SHORTEST_TILE}
    return sorted(lengths or {shape[0] for shape in shapes if len(shape) == 1}, reverse=True)


def _edited(text: str, places: Sequence[_Place], lengths: Mapping[str, str]) -> str:
    """`text` with these lengths, in which {own} is what was there.

    It is edited from its end to its start, so that no place moves before it is its turn.
    """
    data = text.encode()
    for place in sorted((place for place in places if place.name in lengths), key=lambda place: place.start, reverse=True):
        data = data[: place.start] + place.put.format(lengths[place.name].format(own=place.own)).encode() + data[place.end :]
    return data.decode()


@lru_cache(maxsize=128)
def _places(text: str) -> tuple[_Place, ...]:
    """From launches, configurations and assignments; after an assignment, another one follows at once."""
    return tuple(_found(text))


def _found(text: str) -> Iterator[_Place]:
    begins = list(accumulate(map(len, text.encode().splitlines(keepends=True)), initial=0))

    def place(name: str, is_fixed: bool, value: ast.expr, after: ast.stmt | None = None) -> _Place:
        node = after or value
        end = begins[(node.end_lineno or 1) - 1] + (node.end_col_offset or 0)
        start = end if after else begins[node.lineno - 1] + node.col_offset
        put = f"; {name} = {{}}" if after else "{}"
        return _Place(name, is_fixed, getattr(value, "value", None), start, end, put, ast.unparse(value))

    with _ONE_TREE_AT_A_TIME:
        tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and _is_tile(node.arg):
            yield place(str(node.arg), isinstance(node.value, ast.Constant), node.value)
        if isinstance(node, ast.keyword) and node.arg == PRUNING:
            yield place(PRUNING, False, node.value)
        if isinstance(node, ast.Dict):
            keys = [getattr(key, "value", None) for key in node.keys]
            yield from (place(str(k), True, v) for k, v in zip(keys, node.values, strict=True) if _is_tile(k))
        if isinstance(node, ast.Assign):
            names, is_fixed = _bound(node), not _depends_on_data(node.value)
            values = getattr(node.value, "elts", [node.value] * len(names))
            yield from (place(k, is_fixed, v, node) for k, v in zip(names, values, strict=False) if _is_tile(k))


def _is_tile(name: object) -> bool:
    return str(name).startswith(("BLOCK_", "GROUP_"))


def _depends_on_data(node: ast.AST) -> bool:
    """Whether an expression computes with triton.cdiv or the like: then another number would not do."""
    calls = [call.func for call in ast.walk(node) if isinstance(call, ast.Call)]
    return any(isinstance(call, ast.Attribute) and getattr(call.value, "id", "") == "triton" for call in calls)


def _bound(node: ast.Assign) -> list[str]:
    """The names that an assignment gives a value, in their order."""
    return [name.id for target in node.targets for name in ast.walk(target) if isinstance(name, ast.Name)]
