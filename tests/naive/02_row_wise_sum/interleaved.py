"""Eight programs share a row, and each adds up every eighth column; a second kernel adds up the eight parts.

Of every sector of 32 bytes that a program loads it uses 4, so the whole matrix is read eight times.
"""

import torch
import triton
import triton.language as tl

N_PARTS = 8


@triton.jit
def part_kernel(x_ptr, parts_ptr, n_cols, n_parts, stride_xm, stride_xn, BLOCK_N: tl.constexpr):
    """parts[row, part] = sum of x[row, part::n_parts]."""
    row = tl.program_id(axis=0).to(tl.int64)
    part = tl.program_id(axis=1)
    partial = tl.zeros((BLOCK_N,), dtype=tl.float32)
    for start_n in range(0, n_cols, BLOCK_N * n_parts):
        offs_n = start_n + tl.arange(0, BLOCK_N) * n_parts + part
        x = tl.load(x_ptr + row * stride_xm + offs_n * stride_xn, mask=offs_n < n_cols, other=0.0)
        partial += x.to(tl.float32)
    tl.store(parts_ptr + row * n_parts + part, tl.sum(partial, axis=0))


@triton.jit
def row_kernel(parts_ptr, out_ptr, n_rows, n_parts, BLOCK_M: tl.constexpr, BLOCK_P: tl.constexpr):
    """out[row] = sum of parts[row, :]; one program per BLOCK_M rows."""
    offs_m = tl.program_id(axis=0).to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_p = tl.arange(0, BLOCK_P)
    mask = (offs_m[:, None] < n_rows) & (offs_p[None, :] < n_parts)
    parts = tl.load(parts_ptr + offs_m[:, None] * n_parts + offs_p[None, :], mask=mask, other=0.0)
    tl.store(out_ptr + offs_m, tl.sum(parts, axis=1), mask=offs_m < n_rows)


def row_wise_sum(x):
    n_rows, n_cols = x.shape
    out = torch.empty((n_rows,), dtype=x.dtype, device=x.device)
    parts = torch.empty((n_rows, N_PARTS), dtype=torch.float32, device=x.device)
    part_kernel[(n_rows, N_PARTS)](x, parts, n_cols, N_PARTS, x.stride(0), x.stride(1), BLOCK_N=1024)
    row_kernel[(triton.cdiv(n_rows, 128),)](parts, out, n_rows, N_PARTS, BLOCK_M=128, BLOCK_P=N_PARTS)
    return out
