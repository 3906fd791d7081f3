"""A kernel for every step, float32 in memory between them.

`softmax` widens, applies `tl.softmax`, narrows: 20 bytes for each half-precision element where 4 are enough.
`stable_softmax` (maximum, exp, sum, quotient) moves 18.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def widen_kernel(x_ptr, wide_ptr, n_cols, stride_xm, stride_xn, BLOCK_N: tl.constexpr):
    """wide[row, :] = x[row, :] as float32, rows one after another."""
    row = tl.program_id(axis=0).to(tl.int64)
    offs_n = tl.arange(0, BLOCK_N)
    mask_n = offs_n < n_cols
    x = tl.load(x_ptr + row * stride_xm + offs_n * stride_xn, mask=mask_n, other=0.0)
    tl.store(wide_ptr + row * n_cols + offs_n, x.to(tl.float32), mask=mask_n)


@triton.jit
def softmax_kernel(wide_ptr, probs_ptr, n_cols, BLOCK_N: tl.constexpr):
    """probs[row, :] = softmax(wide[row, :])."""
    row = tl.program_id(axis=0).to(tl.int64)
    offs_n = tl.arange(0, BLOCK_N)
    mask_n = offs_n < n_cols
    x = tl.load(wide_ptr + row * n_cols + offs_n, mask=mask_n, other=-float("inf"))
    tl.store(probs_ptr + row * n_cols + offs_n, tl.softmax(x), mask=mask_n)


@triton.jit
def narrow_kernel(probs_ptr, out_ptr, n_cols, stride_om, stride_on, BLOCK_N: tl.constexpr):
    """out[row, :] = probs[row, :] in the dtype of out."""
    row = tl.program_id(axis=0).to(tl.int64)
    offs_n = tl.arange(0, BLOCK_N)
    mask_n = offs_n < n_cols
    probs = tl.load(probs_ptr + row * n_cols + offs_n, mask=mask_n, other=0.0)
    tl.store(out_ptr + row * stride_om + offs_n * stride_on, probs, mask=mask_n)


def tile(n_cols):
    """A tile that holds a whole row, and the warps for it."""
    BLOCK_N = triton.next_power_of_2(n_cols)
    return {"BLOCK_N": BLOCK_N, "num_warps": min(max(BLOCK_N // 512, 4), 32)}


def softmax(x):
    n_rows, n_cols = x.shape
    out = torch.empty_like(x)
    wide = torch.empty((n_rows, n_cols), dtype=torch.float32, device=x.device)
    probs = torch.empty_like(wide)
    widen_kernel[(n_rows,)](x, wide, n_cols, x.stride(0), x.stride(1), **tile(n_cols))
    softmax_kernel[(n_rows,)](wide, probs, n_cols, **tile(n_cols))
    narrow_kernel[(n_rows,)](probs, out, n_cols, out.stride(0), out.stride(1), **tile(n_cols))
    return out


@triton.jit
def max_kernel(x_ptr, row_max_ptr, n_cols, stride_xm, stride_xn, BLOCK_N: tl.constexpr):
    """row_max[row] = maximum of x[row, :]."""
    row = tl.program_id(axis=0).to(tl.int64)
    offs_n = tl.arange(0, BLOCK_N)
    x = tl.load(x_ptr + row * stride_xm + offs_n * stride_xn, mask=offs_n < n_cols, other=-float("inf"))
    tl.store(row_max_ptr + row, tl.max(x.to(tl.float32), axis=0))


@triton.jit
def exp_kernel(x_ptr, row_max_ptr, numerator_ptr, n_cols, stride_xm, stride_xn, BLOCK_N: tl.constexpr):
    """numerator[row, :] = exp(x[row, :] - row_max[row]), in float32."""
    row = tl.program_id(axis=0).to(tl.int64)
    offs_n = tl.arange(0, BLOCK_N)
    mask_n = offs_n < n_cols
    x = tl.load(x_ptr + row * stride_xm + offs_n * stride_xn, mask=mask_n, other=-float("inf")).to(tl.float32)
    tl.store(numerator_ptr + row * n_cols + offs_n, tl.exp(x - tl.load(row_max_ptr + row)), mask=mask_n)


@triton.jit
def sum_kernel(numerator_ptr, row_sum_ptr, n_cols, BLOCK_N: tl.constexpr):
    """row_sum[row] = sum of numerator[row, :]."""
    row = tl.program_id(axis=0).to(tl.int64)
    offs_n = tl.arange(0, BLOCK_N)
    numerator = tl.load(numerator_ptr + row * n_cols + offs_n, mask=offs_n < n_cols, other=0.0)
    tl.store(row_sum_ptr + row, tl.sum(numerator, axis=0))


@triton.jit
def divide_kernel(numerator_ptr, row_sum_ptr, out_ptr, n_cols, stride_om, stride_on, BLOCK_N: tl.constexpr):
    """out[row, :] = numerator[row, :] / row_sum[row]."""
    row = tl.program_id(axis=0).to(tl.int64)
    offs_n = tl.arange(0, BLOCK_N)
    mask_n = offs_n < n_cols
    numerator = tl.load(numerator_ptr + row * n_cols + offs_n, mask=mask_n, other=0.0)
    tl.store(out_ptr + row * stride_om + offs_n * stride_on, numerator / tl.load(row_sum_ptr + row), mask=mask_n)


def stable_softmax(x):
    n_rows, n_cols = x.shape
    out = torch.empty_like(x)
    numerator = torch.empty((n_rows, n_cols), dtype=torch.float32, device=x.device)
    row_max = torch.empty((n_rows,), dtype=torch.float32, device=x.device)
    row_sum = torch.empty_like(row_max)
    max_kernel[(n_rows,)](x, row_max, n_cols, x.stride(0), x.stride(1), **tile(n_cols))
    exp_kernel[(n_rows,)](x, row_max, numerator, n_cols, x.stride(0), x.stride(1), **tile(n_cols))
    sum_kernel[(n_rows,)](numerator, row_sum, n_cols, **tile(n_cols))
    divide_kernel[(n_rows,)](numerator, row_sum, out, n_cols, out.stride(0), out.stride(1), **tile(n_cols))
    return out
