"""A fixed number of programs, each of which takes every so many rows, through block pointers."""

import torch
import triton
import triton.language as tl


@triton.jit
def roaming_kernel(x, y, rows, cols, x_row, x_col, WIDTH: tl.constexpr):
    i = tl.program_id(axis=0).to(tl.int64)
    while i < rows:
        block = tl.make_block_ptr(
            x + i * x_row, shape=(cols,), strides=(x_col,), offsets=(0,), block_shape=(WIDTH,), order=(0,)
        )
        acc = 0.0
        for _ in range(tl.cdiv(cols, WIDTH)):
            v = tl.load(block, boundary_check=(0,), padding_option="zero")
            acc += tl.sum(v.to(tl.float32), axis=0)
            block = tl.advance(block, (WIDTH,))
        tl.store(y + i, acc)
        i += tl.num_programs(axis=0)


def row_wise_sum(x):
    rows, cols = x.shape
    y = torch.empty((rows,), dtype=x.dtype, device=x.device)
    roaming_kernel[(min(rows, 16),)](x, y, rows, cols, x.stride(0), x.stride(1), WIDTH=2048, num_warps=4)
    return y
