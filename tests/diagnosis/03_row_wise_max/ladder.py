"""Four stretches of a row in every turn, unrolled, and a comparison of one's own for lanes and for the reduction."""

import torch
import triton
import triton.language as tl

LOWEST = tl.constexpr(float("-inf"))


@triton.jit
def larger(p, q):
    return tl.where(p > q, p, q)


@triton.jit
def ladder_kernel(mat, res, size, step_i, step_j, SPAN: tl.constexpr, RUNGS: tl.constexpr):
    i = tl.program_id(0).to(tl.int64)
    mat += i * step_i
    best = tl.full([SPAN], LOWEST, tl.float32)
    for turn in range(0, tl.cdiv(size, SPAN * RUNGS)):
        for rung in tl.static_range(RUNGS):
            j = (turn * RUNGS + rung) * SPAN + tl.arange(0, SPAN)
            v = tl.load(mat + j * step_j, j < size, LOWEST)
            best = larger(v.to(tl.float32), best)
    tl.store(res + i, tl.reduce(best, 0, larger))


def row_wise_max(x: torch.Tensor) -> torch.Tensor:
    res = x.new_empty(x.size(0))
    ladder_kernel[(x.size(0),)](x, res, x.size(1), x.stride(0), x.stride(1), SPAN=512, RUNGS=4)
    return res
