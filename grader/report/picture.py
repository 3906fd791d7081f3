"""What a trace shows, in words and as rows of cells: the same on a terminal and on a page."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from grader.report import wording
from grader.results import Cell, ErrorMap, Tiles, TouchedTensor, Trace, TracedLaunch

NOBODY = "none"
LEGEND = (
    "A cell is a tile: elements that are loaded or stored together. In it stands the",
    "program: 3 is the one whose tl.program_id(0) is 3, and 0,1 is at place 0 of axis 0",
    "and place 1 of axis 1. * is every place on an axis; 0-2 are three neighbours; 0+3",
    "are two programs. 2x: each element two times. none: no program has touched it.",
)
ENDED_EARLY = "The call ended early; the picture shows what had happened by then."
INCOMPLETE = "More happened than a picture can show. What is left out came later."
NOTHING = "No kernel has touched anything."


MARKS = {".": "right", "#": "wrong", "+": "wrong in part", "o": "not written"}


@dataclass(frozen=True)
class Picture:
    """Tiles with their title. names: of the tensors that were all touched in this way."""

    title: str
    names: tuple[str, ...]
    tiles: Tiles


def title(trace: Trace) -> str:
    return f"{trace.function} on {trace.label}"


def remarks(trace: Trace) -> Iterator[str]:
    """What to know before one looks at the pictures."""
    if trace.ended and not trace.totals:
        yield NOTHING
    if not trace.ended and trace.launches:
        yield ENDED_EARLY
    if not trace.complete:
        yield INCOMPLETE


def launch_title(launch: TracedLaunch) -> str:
    """The kernel and its grid: "matmul_kernel, grid (2, 2): 4 programs"."""
    sizes = list(launch.grid)
    while len(sizes) > 1 and sizes[-1] == 1:
        sizes.pop()
    count = launch.grid[0] * launch.grid[1] * launch.grid[2]
    grid = f"({sizes[0]},)" if len(sizes) == 1 else f"({', '.join(map(str, sizes))})"
    return f"{launch.kernel}, grid {grid}: {count:,} program{'s' * (count != 1)}"


def pictures(launch: TracedLaunch) -> list[Picture]:
    """First what is loaded, then what is stored; tensors that are touched alike share a picture."""
    found: dict[tuple[str, str, Tiles], list[TouchedTensor]] = {}
    for verb, side in (("loads", "loads"), ("stores", "stores")):
        for tensor in launch.tensors:
            tiles = getattr(tensor, side)
            if tiles:
                found.setdefault((verb, _kind(tensor), tiles), []).append(tensor)
    return [_picture(verb, kind, tiles, tensors) for (verb, kind, tiles), tensors in found.items()]


def _picture(verb: str, kind: str, tiles: Tiles, tensors: Sequence[TouchedTensor]) -> Picture:
    names = " and ".join(f"{tensor.name} ({tensor.role})" for tensor in tensors)
    return Picture(f"{verb} {names}, {kind}{merged(tiles)}", tuple(tensor.name for tensor in tensors), tiles)


def _kind(tensor: TouchedTensor) -> str:
    return f"{' × '.join(map(str, tensor.shape))} {tensor.dtype}".strip()


def untouched(launch: TracedLaunch) -> list[str]:
    """What the kernel was given, and left alone."""
    idle = [tensor for tensor in launch.tensors if not tensor.loads and not tensor.stores]
    return [f"{tensor.name} ({tensor.role}), {_kind(tensor)}: neither loaded nor stored" for tensor in idle]


def merged(tiles: Tiles) -> str:
    return f"; up to {tiles.merged} tiles in a cell" if tiles.merged > 1 else ""


def words(cell: Cell) -> str:
    """What stands in a cell: "0,* 2x"."""
    if not cell.most:
        return NOBODY
    often = times(cell)
    return f"{cell.programs} {often}" if cell.programs and often != "1x" else cell.programs or often


def times(cell: Cell) -> str:
    return f"{cell.most}x" if cell.least == cell.most else f"{cell.least}-{cell.most}x"


def place(name: str, row: str, column: str) -> str:
    """How a person writes a cell's elements: "a_ptr[0:128, 32:64]"."""
    return f"{name}[{', '.join(part for part in (row.replace(',', ', '), column) if part)}]"


def total(tensor: TouchedTensor) -> str:
    """How often a tensor was read and written in all, and whether that differs from element to element."""
    size = max(tensor.bytes, 1)
    moved = wording.moved(tensor.name, tensor.role, tensor.bytes, tensor.loaded / size, tensor.stored / size)
    spread = [f"{verb} {_spread(tiles)}" for verb, tiles in (("loaded", tensor.loads), ("stored", tensor.stores)) if tiles]
    return f"{moved}; each element {', '.join(spread)}" if spread else moved


def _spread(tiles: Tiles) -> str:
    cells = [cell for row in tiles.cells for cell in row]
    return times(Cell("", min(cell.least for cell in cells), max(cell.most for cell in cells)))


def uneven(tensor: TouchedTensor) -> list[tuple[str, Tiles]]:
    """The directions in which not every element was touched equally often, each with its picture."""
    sides = (("loaded", tensor.loads), ("stored", tensor.stores))
    return [(verb, tiles) for verb, tiles in sides if tiles and len(tiles.rows) * len(tiles.columns) > 1]


def table(tiles: Tiles, width: int) -> Iterator[list[str]]:
    """Lines of equally wide words, at most `width` characters: in blocks of columns where one line is too short.

    The first line of a block holds the columns' indices, unless there is but one dimension; the first word of a line is the
    row's.
    """
    texts = [[words(cell) for cell in row] for row in tiles.cells]
    first = max(len(row) for row in tiles.rows)
    cell = max(len(text) for text in (*tiles.columns, *(text for row in texts for text in row)))
    fitting = max(1, (width - first) // (cell + 2))
    for start in range(0, len(tiles.columns), fitting):
        block = range(len(tiles.columns))[start : start + fitting]
        if any(tiles.columns):
            yield [" " * first, *(tiles.columns[n].ljust(cell) for n in block)]
        for row, line in zip(tiles.rows, texts, strict=True):
            yield [row.rjust(first), *(line[n].ljust(cell) for n in block)]


def map_legend(drawn: ErrorMap) -> str:
    """What a cell is, and what the marks mean that occur."""
    used = [f"{mark} {meaning}" for mark, meaning in MARKS.items() if any(mark in row for row in drawn.cells)]
    return f"{drawn.output}: {', '.join(used)}; {drawn.note}"


def tells(drawn: ErrorMap) -> bool:
    """Whether the cells differ, so that a picture of them shows something."""
    return len(set("".join(drawn.cells))) > 1


def map_lines(drawn: ErrorMap, width: int) -> Iterator[str]:
    """The cells, at most `width` characters wide: below the indices and programs of their columns, if there is room."""
    first = max(len(row) for row in drawn.rows)
    owners = drawn.row_programs or ("",) * len(drawn.rows)
    second = max(len(owner) for owner in owners)
    heads = [drawn.columns, drawn.column_programs] if len(drawn.columns) > 1 else []
    cell = max((len(word) for head in heads for word in head), default=1)
    roomy = first + second + 4 + len(drawn.columns) * (cell + 2) <= width
    for head, word in zip(heads if roomy else [], ("", "program"), strict=False):
        if head:
            yield f"{word:>{first + 2 + second}}  {'  '.join(text.ljust(cell) for text in head)}".rstrip()
    for row, owner, marks in zip(drawn.rows, owners, drawn.cells, strict=True):
        spread = "  ".join(mark.ljust(cell) for mark in marks) if roomy else marks
        yield f"{row:>{first}}  {owner:>{second}}  {spread}".rstrip()
