"""64 programs get equal shares of the tensors, and each walks along its own share."""

import torch
import triton
import triton.language as tl


@triton.jit
def shares_kernel(xs, ys, zs, n, share, STEP: tl.constexpr):
    begin = tl.program_id(0).to(tl.int64) * share
    end = tl.minimum(begin + share, n)
    at = begin
    while at < end:
        i = at + tl.arange(0, STEP)
        mine = i < end
        x = tl.load(xs + i, mask=mine, other=0.0)
        y = tl.load(ys + i, mask=mine, other=0.0)
        tl.store(zs + i, x + y, mask=mine)
        at += STEP


def vector_add(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    z = torch.empty_like(x)
    n = x.numel()
    PROGRAMS = 64
    shares_kernel[(PROGRAMS,)](x, y, z, n, triton.cdiv(n, PROGRAMS), STEP=1024)
    return z
