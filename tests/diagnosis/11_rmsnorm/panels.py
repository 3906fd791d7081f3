"""RMS normalisation in two kernels: a factor for each row, then panels of columns, whose weights stay in registers."""

import torch
import triton
import triton.language as tl


@triton.jit
def row_factors(x_ptr, factor_ptr, n_rows, n_cols, row_step, col_step, eps, ROWS: tl.constexpr, LANES: tl.constexpr):
    """ROWS rows side by side; each lane collects every LANES-th column, and the lanes are added up at the end."""
    r = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    lane = tl.arange(0, LANES)
    collected = tl.zeros((ROWS, LANES), tl.float32)
    for start in range(0, n_cols, LANES):
        c = start + lane
        inside = (r < n_rows)[:, None] & (c < n_cols)[None, :]
        x = tl.load(x_ptr + r[:, None] * row_step + c[None, :] * col_step, mask=inside, other=0.0).to(tl.float32)
        collected += x * x
    size = tl.sum(collected, axis=1) / n_cols
    factor = tl.rsqrt(size + eps)
    tl.store(factor_ptr + r, factor, mask=r < n_rows)


@triton.jit
def apply_factors(x_ptr, w_ptr, factor_ptr, y_ptr, n_rows, n_cols, row_step, col_step, PANEL: tl.constexpr):
    """A program goes down one panel and takes every so-manieth row. y is contiguous."""
    c = tl.program_id(0) * PANEL + tl.arange(0, PANEL)
    valid = c < n_cols
    w = tl.load(w_ptr + c, mask=valid, other=0.0).to(tl.float32)
    r = tl.program_id(1).to(tl.int64)
    while r < n_rows:
        factor = tl.load(factor_ptr + r)
        x = tl.load(x_ptr + r * row_step + c * col_step, mask=valid, other=0.0).to(tl.float32)
        tl.store(y_ptr + r * n_cols + c, x * factor * w, mask=valid)
        r += tl.num_programs(1)


def rmsnorm(x, weight, eps=1e-6):
    n_rows, n_cols = x.shape
    y = torch.empty((n_rows, n_cols), dtype=x.dtype, device=x.device)
    factors = torch.empty(n_rows, dtype=torch.float32, device=x.device)
    row_factors[(triton.cdiv(n_rows, 4),)](x, factors, n_rows, n_cols, x.stride(0), x.stride(1), eps, ROWS=4, LANES=256)
    grid = (triton.cdiv(n_cols, 512), min(triton.cdiv(n_rows, 4), 256))
    apply_factors[grid](x, weight, factors, y, n_rows, n_cols, x.stride(0), x.stride(1), PANEL=512)
    return y
