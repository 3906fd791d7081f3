"""Sixteen programs share the rows; block pointers read them, and a number is kept instead of a block."""

import torch
import triton
import triton.language as tl


@triton.jit
def sharing_kernel(values, tops, height, width, step_down, step_right, SPAN: tl.constexpr):
    at = tl.program_id(axis=0).to(tl.int64)
    while at < height:
        window = tl.make_block_ptr(values + at * step_down, (width,), (step_right,), (0,), (SPAN,), (0,))
        top = -float("inf")
        for k in range(0, width, SPAN):
            seen = tl.load(window, boundary_check=(0,), padding_option="zero").to(tl.float32)
            seen = tl.where(k + tl.arange(0, SPAN) < width, seen, -float("inf"))
            top = tl.maximum(top, tl.max(seen, axis=0))
            window = tl.advance(window, (SPAN,))
        tl.store(tops + at, top)
        at += tl.num_programs(axis=0)


def row_wise_max(x):
    height, width = x.shape
    tops = torch.empty((height,), dtype=x.dtype, device=x.device)
    sharing_kernel[(min(height, 16),)](x, tops, height, width, x.stride(0), x.stride(1), SPAN=4096, num_warps=16)
    return tops
