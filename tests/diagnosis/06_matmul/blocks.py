"""Block pointers for all three matrices; a grid of two axes, columns of tiles first."""

import torch
import triton
import triton.language as tl


@triton.jit
def block_kernel(
    a_ptr,
    b_ptr,
    c_ptr,
    ROWS,
    COLS,
    DEPTH,
    a_row,
    a_col,
    b_row,
    b_col,
    c_row,
    c_col,
    TALL: tl.constexpr,
    WIDE: tl.constexpr,
    DEEP: tl.constexpr,
):
    top = tl.program_id(1) * TALL
    left = tl.program_id(0) * WIDE
    a_block = tl.make_block_ptr(a_ptr, (ROWS, DEPTH), (a_row, a_col), (top, 0), (TALL, DEEP), (1, 0))
    b_block = tl.make_block_ptr(b_ptr, (DEPTH, COLS), (b_row, b_col), (0, left), (DEEP, WIDE), (1, 0))
    total = tl.zeros((TALL, WIDE), tl.float32)
    for _ in range(tl.cdiv(DEPTH, DEEP)):
        a = tl.load(a_block, boundary_check=(0, 1), padding_option="zero")
        b = tl.load(b_block, boundary_check=(0, 1), padding_option="zero")
        total = tl.dot(a, b, total, input_precision="ieee")
        a_block = tl.advance(a_block, (0, DEEP))
        b_block = tl.advance(b_block, (DEEP, 0))
    c_block = tl.make_block_ptr(c_ptr, (ROWS, COLS), (c_row, c_col), (top, left), (TALL, WIDE), (1, 0))
    tl.store(c_block, total.to(c_ptr.dtype.element_ty), boundary_check=(0, 1))


def matmul(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    rows, depth = a.shape
    cols = b.shape[1]
    c = torch.empty((rows, cols), dtype=a.dtype, device=a.device)
    tall, wide, deep = 128, 64, 64
    block_kernel[(triton.cdiv(cols, wide), triton.cdiv(rows, tall))](
        a, b, c, rows, cols, depth, *a.stride(), *b.stride(), *c.stride(), TALL=tall, WIDE=wide, DEEP=deep, num_warps=8
    )
    return c
