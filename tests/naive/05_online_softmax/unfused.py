"""A kernel for every step (maximum, exp, sum, quotient), with the exponentials in memory as float32.

18 bytes travel for each half-precision element, where an online softmax moves 6.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def chunk_max_kernel(x_ptr, chunk_max_ptr, n_cols, n_chunks, stride_xm, stride_xn, BLOCK_N: tl.constexpr):
    """chunk_max[row, chunk] = maximum of x in that chunk of BLOCK_N columns."""
    row = tl.program_id(axis=0).to(tl.int64)
    chunk = tl.program_id(axis=1)
    offs_n = chunk * BLOCK_N + tl.arange(0, BLOCK_N)
    x = tl.load(x_ptr + row * stride_xm + offs_n * stride_xn, mask=offs_n < n_cols, other=-float("inf"))
    tl.store(chunk_max_ptr + row * n_chunks + chunk, tl.max(x.to(tl.float32), axis=0))


@triton.jit
def row_max_kernel(chunk_max_ptr, row_max_ptr, n_chunks, BLOCK_C: tl.constexpr):
    """row_max[row] = maximum of chunk_max[row, :]."""
    row = tl.program_id(axis=0).to(tl.int64)
    offs_c = tl.arange(0, BLOCK_C)
    chunk_max = tl.load(chunk_max_ptr + row * n_chunks + offs_c, mask=offs_c < n_chunks, other=-float("inf"))
    tl.store(row_max_ptr + row, tl.max(chunk_max, axis=0))


@triton.jit
def exp_kernel(x_ptr, row_max_ptr, numerator_ptr, n_cols, stride_xm, stride_xn, BLOCK_N: tl.constexpr):
    """numerator[row, :] = exp(x[row, :] - row_max[row]), in float32, rows one after another."""
    row = tl.program_id(axis=0).to(tl.int64)
    offs_n = tl.program_id(axis=1) * BLOCK_N + tl.arange(0, BLOCK_N)
    mask_n = offs_n < n_cols
    x = tl.load(x_ptr + row * stride_xm + offs_n * stride_xn, mask=mask_n, other=-float("inf")).to(tl.float32)
    tl.store(numerator_ptr + row * n_cols + offs_n, tl.exp(x - tl.load(row_max_ptr + row)), mask=mask_n)


@triton.jit
def chunk_sum_kernel(numerator_ptr, chunk_sum_ptr, n_cols, n_chunks, BLOCK_N: tl.constexpr):
    """chunk_sum[row, chunk] = sum of the numerators in that chunk of BLOCK_N columns."""
    row = tl.program_id(axis=0).to(tl.int64)
    chunk = tl.program_id(axis=1)
    offs_n = chunk * BLOCK_N + tl.arange(0, BLOCK_N)
    numerator = tl.load(numerator_ptr + row * n_cols + offs_n, mask=offs_n < n_cols, other=0.0)
    tl.store(chunk_sum_ptr + row * n_chunks + chunk, tl.sum(numerator, axis=0))


@triton.jit
def row_sum_kernel(chunk_sum_ptr, row_sum_ptr, n_chunks, BLOCK_C: tl.constexpr):
    """row_sum[row] = sum of chunk_sum[row, :]."""
    row = tl.program_id(axis=0).to(tl.int64)
    offs_c = tl.arange(0, BLOCK_C)
    chunk_sum = tl.load(chunk_sum_ptr + row * n_chunks + offs_c, mask=offs_c < n_chunks, other=0.0)
    tl.store(row_sum_ptr + row, tl.sum(chunk_sum, axis=0))


@triton.jit
def divide_kernel(numerator_ptr, row_sum_ptr, out_ptr, n_cols, stride_om, stride_on, BLOCK_N: tl.constexpr):
    """out[row, :] = numerator[row, :] / row_sum[row]."""
    row = tl.program_id(axis=0).to(tl.int64)
    offs_n = tl.program_id(axis=1) * BLOCK_N + tl.arange(0, BLOCK_N)
    mask_n = offs_n < n_cols
    numerator = tl.load(numerator_ptr + row * n_cols + offs_n, mask=mask_n, other=0.0)
    tl.store(out_ptr + row * stride_om + offs_n * stride_on, numerator / tl.load(row_sum_ptr + row), mask=mask_n)


def softmax(x, BLOCK_N=4096):
    n_rows, n_cols = x.shape
    n_chunks = triton.cdiv(n_cols, BLOCK_N)
    BLOCK_C = triton.next_power_of_2(n_chunks)
    out = torch.empty_like(x)
    numerator = torch.empty((n_rows, n_cols), dtype=torch.float32, device=x.device)
    chunk_max = torch.empty((n_rows, n_chunks), dtype=torch.float32, device=x.device)
    chunk_sum = torch.empty_like(chunk_max)
    row_max = torch.empty((n_rows,), dtype=torch.float32, device=x.device)
    row_sum = torch.empty_like(row_max)
    rows, chunks = (n_rows,), (n_rows, n_chunks)
    chunk_max_kernel[chunks](x, chunk_max, n_cols, n_chunks, x.stride(0), x.stride(1), BLOCK_N=BLOCK_N)
    row_max_kernel[rows](chunk_max, row_max, n_chunks, BLOCK_C=BLOCK_C)
    exp_kernel[chunks](x, row_max, numerator, n_cols, x.stride(0), x.stride(1), BLOCK_N=BLOCK_N)
    chunk_sum_kernel[chunks](numerator, chunk_sum, n_cols, n_chunks, BLOCK_N=BLOCK_N)
    row_sum_kernel[rows](chunk_sum, row_sum, n_chunks, BLOCK_C=BLOCK_C)
    divide_kernel[chunks](numerator, row_sum, out, n_cols, out.stride(0), out.stride(1), BLOCK_N=BLOCK_N)
    return out


def online_softmax(x):
    return softmax(x)


def split_online_softmax(x):
    return softmax(x)
