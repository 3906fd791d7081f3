"""Groups of rows of tiles, walked down and up again; the rest of K comes first, and then whole steps without a mask."""

import torch
import triton
import triton.language as tl


def sizes(rows, cols, step, group):
    return triton.Config({"ROWS": rows, "COLS": cols, "STEP": step, "GROUP": group}, num_warps=4)


@triton.jit
def locate(number, high, wide, GROUP: tl.constexpr):
    """The tile of program `number`: even columns of a group are walked from the top, odd ones from the bottom."""
    group = number // (GROUP * wide)
    top = group * GROUP
    height = tl.minimum(GROUP, high - top)
    nth = number - top * wide
    column = nth // height
    depth = nth - column * height
    if column % 2 == 1:
        depth = height - 1 - depth
    return top + depth, column


@triton.autotune(configs=[sizes(64, 64, 32, 6), sizes(128, 64, 32, 4)], key=["m", "n", "k"])
@triton.jit
def snake_kernel(
    a, b, bias, c, m, n, k, a_m, a_k, b_k, b_n, bias_n, c_m, c_n,
    ROWS: tl.constexpr, COLS: tl.constexpr, STEP: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    tile_m, tile_n = locate(tl.program_id(0), tl.cdiv(m, ROWS), tl.cdiv(n, COLS), GROUP)
    row = (tile_m * ROWS + tl.arange(0, ROWS)).to(tl.int64)
    col = (tile_n * COLS + tl.arange(0, COLS)).to(tl.int64)
    row_there = row < m
    col_there = col < n
    a_row = a + row[:, None] * a_m
    b_col = b + col[None, :] * b_n

    # What does not fill a step.
    rest = k % STEP
    deep = tl.arange(0, STEP).to(tl.int64)
    x = tl.load(a_row + deep[None, :] * a_k, mask=row_there[:, None] & (deep < rest)[None, :], other=0.0)
    y = tl.load(b_col + deep[:, None] * b_k, mask=(deep < rest)[:, None] & col_there[None, :], other=0.0)
    result = tl.dot(x, y, input_precision="ieee")
    deep += rest

    for _ in range(k // STEP):
        x = tl.load(a_row + deep[None, :] * a_k, mask=row_there[:, None], other=0.0)
        y = tl.load(b_col + deep[:, None] * b_k, mask=col_there[None, :], other=0.0)
        result = tl.dot(x, y, result, input_precision="ieee")
        deep += STEP

    if bias is not None:
        offset = tl.load(bias + col * bias_n, mask=col_there, other=0.0)
        result += tl.expand_dims(offset.to(tl.float32), 0)
    c_tile = c + row[:, None] * c_m + col[None, :] * c_n
    tl.store(c_tile, result.to(c.dtype.element_ty), mask=row_there[:, None] & col_there[None, :])


def advanced_matmul(a: torch.Tensor, b: torch.Tensor, bias: torch.Tensor | None = None) -> torch.Tensor:
    (m, k), n = a.shape, b.shape[1]
    c = a.new_empty((m, n))
    snake_kernel[lambda chosen: (triton.cdiv(m, chosen["ROWS"]) * triton.cdiv(n, chosen["COLS"]),)](
        a, b, bias, c, m, n, k, *a.stride(), *b.stride(), bias.stride(0) if bias is not None else 0, *c.stride()
    )
    return c
