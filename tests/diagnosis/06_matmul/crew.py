"""A few programs for all tiles, and tiles of the transposed product."""

import torch
import triton
import triton.language as tl


@triton.jit
def piece(ptr, i, j, n_i, n_j, step_i, step_j):
    """Elements [i, j] of a matrix as a block, 0 where there are none."""
    mask = (i < n_i)[:, None] & (j < n_j)[None, :]
    return tl.load(ptr + i[:, None] * step_i + j[None, :] * step_j, mask=mask, other=0.0)


@triton.jit
def crew_kernel(lhs, rhs, res, m, n, k, lhs_m, lhs_k, rhs_k, rhs_n, res_m, res_n, SIDE: tl.constexpr, STEP: tl.constexpr):
    n_tiles = tl.cdiv(n, SIDE)
    tile = tl.program_id(0).to(tl.int64)
    while tile < tl.cdiv(m, SIDE) * n_tiles:
        im = tile // n_tiles * SIDE + tl.arange(0, SIDE)
        jn = tile % n_tiles * SIDE + tl.arange(0, SIDE)
        acc = tl.zeros([SIDE, SIDE], tl.float32)
        for turn in range(tl.cdiv(k, STEP)):
            kk = (turn * STEP + tl.arange(0, STEP)).to(tl.int64)
            right = piece(rhs, jn, kk, n, k, rhs_n, rhs_k)
            left = piece(lhs, kk, im, k, m, lhs_k, lhs_m)
            acc = tl.dot(right, left, acc=acc, input_precision="ieee")
        where = res + jn[:, None] * res_n + im[None, :] * res_m
        tl.store(where, acc, mask=(jn < n)[:, None] & (im < m)[None, :])
        tile += tl.num_programs(0)


def matmul(a, b):
    m, k, n = a.shape[0], a.shape[1], b.shape[1]
    res = torch.empty(m, n, dtype=a.dtype, device=a.device)
    n_tiles = triton.cdiv(m, 128) * triton.cdiv(n, 128)
    crew_kernel[(min(n_tiles, 4),)](a, b, res, m, n, k, *a.stride(), *b.stride(), *res.stride(), SIDE=128, STEP=32)
    return res
