"""The names of FlashAttention, with guards at `exp` instead of a shift of 0; split: the pairs of 8 rows in one tile."""

import torch
import triton
import triton.language as tl

NEG_INF = tl.constexpr(float("-inf"))


@triton.jit
def flash_kernel(x_ptr, o_ptr, N, stride_xm, stride_xn, stride_om, stride_on, BLOCK_N: tl.constexpr):
    pid_m = tl.program_id(0).to(tl.int64)
    x_ptr += pid_m * stride_xm
    o_ptr += pid_m * stride_om
    offs = tl.arange(0, BLOCK_N)

    m_i = float("-inf")
    l_i = 0.0
    for start_n in range(0, N, BLOCK_N):
        cols = start_n + offs
        x = tl.load(x_ptr + cols * stride_xn, mask=cols < N, other=float("-inf")).to(tl.float32)
        m_new = tl.maximum(m_i, tl.max(x, 0))
        alpha = tl.where(m_i == NEG_INF, 0.0, tl.exp(m_i - m_new))
        p = tl.where(x == NEG_INF, 0.0, tl.exp(x - m_new))
        l_i = l_i * alpha + tl.sum(p, 0)
        m_i = m_new

    inv_l = 1.0 / l_i
    for start_n in range(0, N, BLOCK_N):
        cols = start_n + offs
        x = tl.load(x_ptr + cols * stride_xn, mask=cols < N, other=float("-inf")).to(tl.float32)
        tl.store(o_ptr + cols * stride_on, tl.exp(x - m_i) * inv_l, mask=cols < N)


def online_softmax(x: torch.Tensor) -> torch.Tensor:
    M, N = x.shape
    o = torch.empty_like(x)
    BLOCK_N = min(4096, triton.next_power_of_2(N))
    flash_kernel[(M,)](x, o, N, x.stride(0), x.stride(1), o.stride(0), o.stride(1), BLOCK_N=BLOCK_N, num_warps=8)
    return o


@triton.jit
def split_kernel(x_ptr, m_ptr, l_ptr, N, num_splits, stride_xm, stride_xn, BLOCK_N: tl.constexpr):
    pid_m = tl.program_id(0).to(tl.int64)
    pid_n = tl.program_id(1)
    cols = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    x = tl.load(x_ptr + pid_m * stride_xm + cols * stride_xn, mask=cols < N, other=float("-inf")).to(tl.float32)
    m = tl.max(x, 0)
    p = tl.where(x == NEG_INF, 0.0, tl.exp(x - m))
    tl.store(m_ptr + pid_m * num_splits + pid_n, m)
    tl.store(l_ptr + pid_m * num_splits + pid_n, tl.sum(p, 0))


@triton.jit
def combine_kernel(m_ptr, l_ptr, row_m_ptr, row_l_ptr, M, num_splits, BLOCK_M: tl.constexpr, SPLITS: tl.constexpr):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    splits = tl.arange(0, SPLITS)
    offs = rows[:, None] * num_splits + splits[None, :]
    valid = (rows[:, None] < M) & (splits[None, :] < num_splits)
    m = tl.load(m_ptr + offs, mask=valid, other=float("-inf"))
    sums = tl.load(l_ptr + offs, mask=valid, other=0.0)
    m_max = tl.max(m, 1)
    scale = tl.where(m == NEG_INF, 0.0, tl.exp(m - m_max[:, None]))
    tl.store(row_m_ptr + rows, m_max, mask=rows < M)
    tl.store(row_l_ptr + rows, tl.sum(sums * scale, 1), mask=rows < M)


@triton.jit
def normalize_kernel(
    x_ptr, row_m_ptr, row_l_ptr, o_ptr, N, stride_xm, stride_xn, stride_om, stride_on, BLOCK_N: tl.constexpr
):
    pid_m = tl.program_id(0).to(tl.int64)
    cols = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    m = tl.load(row_m_ptr + pid_m)
    sums = tl.load(row_l_ptr + pid_m)
    x = tl.load(x_ptr + pid_m * stride_xm + cols * stride_xn, mask=cols < N, other=0.0).to(tl.float32)
    tl.store(o_ptr + pid_m * stride_om + cols * stride_on, tl.exp(x - m) / sums, mask=cols < N)


def split_online_softmax(x: torch.Tensor) -> torch.Tensor:
    M, N = x.shape
    BLOCK_N = 4096
    num_splits = triton.cdiv(N, BLOCK_N)
    m = torch.empty((M, num_splits), device=x.device, dtype=torch.float32)
    sums = torch.empty((M, num_splits), device=x.device, dtype=torch.float32)
    row_m = torch.empty((M,), device=x.device, dtype=torch.float32)
    row_l = torch.empty((M,), device=x.device, dtype=torch.float32)
    o = torch.empty_like(x)
    split_kernel[(M, num_splits)](x, m, sums, N, num_splits, *x.stride(), BLOCK_N=BLOCK_N, num_warps=8)
    combine_kernel[(triton.cdiv(M, 8),)](
        m, sums, row_m, row_l, M, num_splits, BLOCK_M=8, SPLITS=triton.next_power_of_2(num_splits)
    )
    normalize_kernel[(M, num_splits)](x, row_m, row_l, o, N, *x.stride(), *o.stride(), BLOCK_N=BLOCK_N, num_warps=8)
    return o
