"""Residual and RMS normalisation: a program has a stretch of rows that follow each other; a row is folded into a square.

With n columns, 1 / sqrt(mean + eps) is sqrt(n) / sqrt(sum + n * eps).
"""

import math

import torch
import triton
import triton.language as tl


@triton.jit
def norm_stretch(
    x_ptr, r_ptr, w_ptr, y_ptr, s_ptr, m, n, xm, xn, rm, rn, root_n, eps,
    STRETCH: tl.constexpr, A: tl.constexpr, B: tl.constexpr,
):  # fmt: skip
    """Both results are contiguous."""
    at = tl.arange(0, A)[:, None] * B + tl.arange(0, B)[None, :]
    there = at < n
    w = tl.load(w_ptr + at, mask=there, other=0.0).to(tl.float32)
    first = tl.program_id(0) * STRETCH
    for step in tl.static_range(STRETCH):
        row = (first + step).to(tl.int64)
        ok = there & (row < m)
        x = tl.load(x_ptr + row * xm + at * xn, mask=ok, other=0.0).to(tl.float32)
        r = tl.load(r_ptr + row * rm + at * rn, mask=ok, other=0.0).to(tl.float32)
        s = x + r
        tl.store(s_ptr + row * n + at, s, mask=ok)
        power = tl.sum(tl.sum(s * s, axis=0), axis=0)
        shrink = root_n * tl.rsqrt(power + n * eps)
        tl.store(y_ptr + row * n + at, s * shrink * w, mask=ok)


def fused_residual_rmsnorm(x, residual, weight, eps=1e-6):
    m, n = x.shape
    y, s = torch.empty((2, m, n), dtype=x.dtype, device=x.device).unbind()
    B = triton.next_power_of_2(math.ceil(n**0.5))
    A = triton.next_power_of_2(triton.cdiv(n, B))
    norm_stretch[(triton.cdiv(m, 4),)](
        x, residual, weight, y, s, m, n, *x.stride(), *residual.stride(), n**0.5, eps,
        STRETCH=4, A=A, B=B, num_warps=4 if n <= 4096 else 16,
    )  # fmt: skip
    return y, s
