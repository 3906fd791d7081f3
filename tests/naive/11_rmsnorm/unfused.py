"""A kernel for every step (squares, their mean, the normalised row, the weight), with float32 in memory between them.

22 bytes travel for each half-precision element, where a row that stays in registers moves 4.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def square_kernel(x_ptr, square_ptr, n_cols, stride_xm, stride_xn, BLOCK_N: tl.constexpr):
    """square[row, :] = x[row, :]², in float32, rows one after another."""
    row = tl.program_id(axis=0).to(tl.int64)
    for start_n in range(0, n_cols, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N)
        mask_n = offs_n < n_cols
        x = tl.load(x_ptr + row * stride_xm + offs_n * stride_xn, mask=mask_n, other=0.0).to(tl.float32)
        tl.store(square_ptr + row * n_cols + offs_n, x * x, mask=mask_n)


@triton.jit
def mean_kernel(square_ptr, mean_ptr, n_cols, BLOCK_N: tl.constexpr):
    """mean[row] = mean of square[row, :]."""
    row = tl.program_id(axis=0).to(tl.int64)
    partial = tl.zeros((BLOCK_N,), dtype=tl.float32)
    for start_n in range(0, n_cols, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N)
        partial += tl.load(square_ptr + row * n_cols + offs_n, mask=offs_n < n_cols, other=0.0)
    tl.store(mean_ptr + row, tl.sum(partial, axis=0) / n_cols)


@triton.jit
def normalise_kernel(x_ptr, mean_ptr, normal_ptr, n_cols, stride_xm, stride_xn, eps, BLOCK_N: tl.constexpr):
    """normal[row, :] = x[row, :] / sqrt(mean[row] + eps), in float32."""
    row = tl.program_id(axis=0).to(tl.int64)
    rrms = tl.rsqrt(tl.load(mean_ptr + row) + eps)
    for start_n in range(0, n_cols, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N)
        mask_n = offs_n < n_cols
        x = tl.load(x_ptr + row * stride_xm + offs_n * stride_xn, mask=mask_n, other=0.0).to(tl.float32)
        tl.store(normal_ptr + row * n_cols + offs_n, x * rrms, mask=mask_n)


@triton.jit
def weigh_kernel(normal_ptr, weight_ptr, out_ptr, n_cols, stride_om, stride_on, BLOCK_N: tl.constexpr):
    """out[row, :] = normal[row, :] * weight."""
    row = tl.program_id(axis=0).to(tl.int64)
    for start_n in range(0, n_cols, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N)
        mask_n = offs_n < n_cols
        normal = tl.load(normal_ptr + row * n_cols + offs_n, mask=mask_n, other=0.0)
        weight = tl.load(weight_ptr + offs_n, mask=mask_n, other=0.0).to(tl.float32)
        tl.store(out_ptr + row * stride_om + offs_n * stride_on, normal * weight, mask=mask_n)


def rmsnorm(x, weight, eps=1e-6):
    n_rows, n_cols = x.shape
    out = torch.empty_like(x)
    square = torch.empty((n_rows, n_cols), dtype=torch.float32, device=x.device)
    normal = torch.empty_like(square)
    mean = torch.empty((n_rows,), dtype=torch.float32, device=x.device)
    grid = (n_rows,)
    square_kernel[grid](x, square, n_cols, x.stride(0), x.stride(1), BLOCK_N=4096)
    mean_kernel[grid](square, mean, n_cols, BLOCK_N=4096)
    normalise_kernel[grid](x, mean, normal, n_cols, x.stride(0), x.stride(1), eps, BLOCK_N=4096)
    weigh_kernel[grid](normal, weight, out, n_cols, out.stride(0), out.stride(1), BLOCK_N=4096)
    return out
