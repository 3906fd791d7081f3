"""Layer normalisation by few programs, each of which takes every so-manieth row; sums are taken around the first entry."""

import torch
import triton
import triton.language as tl


@triton.jit
def moments(values, exists, count):
    """Mean and variance of a row whose padding holds 0."""
    m = tl.sum(values, axis=0) / count
    gap = tl.where(exists, values - m, 0.0)
    return m, tl.sum(gap * gap, axis=0) / count


@triton.jit
def striding_layernorm(inp, gamma, beta, res, n_rows, n_cols, in_r, in_c, res_r, res_c, epsilon, WIDTH: tl.constexpr):
    col = tl.arange(0, WIDTH)
    exists = col < n_cols
    g = tl.load(gamma + col, mask=exists, other=0.0).to(tl.float32)
    h = tl.load(beta + col, mask=exists, other=0.0).to(tl.float32)
    r = tl.program_id(0).to(tl.int64)
    while r < n_rows:
        base = inp + r * in_r
        first = tl.load(base).to(tl.float32)
        row = tl.load(base + col * in_c, mask=exists, other=0.0).to(tl.float32)
        row = tl.where(exists, row - first, 0.0)
        m, v = moments(row, exists, n_cols)
        k = g * tl.rsqrt(v + epsilon)
        result = row * k + (h - m * k)
        tl.store(res + r * res_r + col * res_c, result, mask=exists)
        r += tl.num_programs(0)


def layernorm(x, weight, bias, eps=1e-5):
    """layer_norm(x) with at most 16 programs."""
    n_rows, n_cols = x.shape
    result = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    striding_layernorm[(min(n_rows, 16),)](
        x, weight, bias, result, n_rows, n_cols, x.stride(0), x.stride(1), result.stride(0), result.stride(1), eps,
        WIDTH=triton.next_power_of_2(n_cols),
    )  # fmt: skip
    return result
