"""Scaling, mask, exp and division each in a kernel of its own, every one of them over all scores in float32.

Ten passes over memory of the size seq_len² (eight without the mask), where three kernels make four.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def scores_kernel(
    q_ptr, k_ptr,
    scores_ptr,
    n_heads, seq_len,
    stride_qb, stride_qh, stride_qm,
    stride_kb, stride_kh, stride_kn,
    HEAD_DIM: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_D: tl.constexpr,
):  # fmt: skip
    """scores[b, h] = q[b, h] k[b, h]ᵀ."""
    pid = tl.program_id(axis=0).to(tl.int64)
    q_head_ptr = q_ptr + pid // n_heads * stride_qb + pid % n_heads * stride_qh
    k_head_ptr = k_ptr + pid // n_heads * stride_kb + pid % n_heads * stride_kh
    offs_m = tl.program_id(axis=1).to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.program_id(axis=2).to(tl.int64) * BLOCK_N + tl.arange(0, BLOCK_N)
    offs_d = tl.arange(0, BLOCK_D)
    mask_m = offs_m < seq_len
    mask_n = offs_n < seq_len
    mask_d = offs_d < HEAD_DIM
    q_ptrs = q_head_ptr + offs_m[:, None] * stride_qm + offs_d[None, :]
    k_ptrs = k_head_ptr + offs_n[None, :] * stride_kn + offs_d[:, None]
    q = tl.load(q_ptrs, mask=mask_m[:, None] & mask_d[None, :], other=0.0)
    k = tl.load(k_ptrs, mask=mask_n[None, :] & mask_d[:, None], other=0.0)
    scores = tl.dot(q, k, input_precision="ieee")
    scores_ptrs = scores_ptr + pid * seq_len * seq_len + offs_m[:, None] * seq_len + offs_n[None, :]
    tl.store(scores_ptrs, scores, mask=mask_m[:, None] & mask_n[None, :])


@triton.jit
def tile(n_rows, seq_len, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    """Offsets and mask of this program's BLOCK_M rows. A row is one query of one head, and fits in BLOCK_N."""
    offs_m = tl.program_id(axis=0).to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.arange(0, BLOCK_N)
    mask = (offs_m[:, None] < n_rows) & (offs_n[None, :] < seq_len)
    return offs_m[:, None], offs_n[None, :], mask


@triton.jit
def scale_kernel(scores_ptr, n_rows, seq_len, scale, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    """scores[row, :] *= scale."""
    offs_m, offs_n, mask = tile(n_rows, seq_len, BLOCK_M, BLOCK_N)
    scores = tl.load(scores_ptr + offs_m * seq_len + offs_n, mask=mask, other=0.0)
    tl.store(scores_ptr + offs_m * seq_len + offs_n, scores * scale, mask=mask)


@triton.jit
def mask_kernel(scores_ptr, n_rows, seq_len, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    """scores[row, :] = -inf for the keys that come after the query."""
    offs_m, offs_n, mask = tile(n_rows, seq_len, BLOCK_M, BLOCK_N)
    scores = tl.load(scores_ptr + offs_m * seq_len + offs_n, mask=mask, other=0.0)
    scores = tl.where(offs_n <= offs_m % seq_len, scores, -float("inf"))
    tl.store(scores_ptr + offs_m * seq_len + offs_n, scores, mask=mask)


@triton.jit
def exp_kernel(scores_ptr, probs_ptr, n_rows, seq_len, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    """probs[row, :] = exp(scores[row, :] - max), not yet divided."""
    offs_m, offs_n, mask = tile(n_rows, seq_len, BLOCK_M, BLOCK_N)
    scores = tl.load(scores_ptr + offs_m * seq_len + offs_n, mask=mask, other=-float("inf"))
    numerator = tl.exp(scores - tl.max(scores, axis=1)[:, None])
    tl.store(probs_ptr + offs_m * seq_len + offs_n, numerator, mask=mask)


@triton.jit
def divide_kernel(probs_ptr, n_rows, seq_len, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    """probs[row, :] /= sum of probs[row, :]."""
    offs_m, offs_n, mask = tile(n_rows, seq_len, BLOCK_M, BLOCK_N)
    numerator = tl.load(probs_ptr + offs_m * seq_len + offs_n, mask=mask, other=0.0)
    tl.store(probs_ptr + offs_m * seq_len + offs_n, numerator / tl.sum(numerator, axis=1)[:, None], mask=mask)


@triton.jit
def values_kernel(
    probs_ptr, v_ptr,
    out_ptr,
    n_heads, seq_len,
    stride_vb, stride_vh, stride_vn,
    stride_ob, stride_oh, stride_om,
    HEAD_DIM: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_D: tl.constexpr,
):  # fmt: skip
    """out[b, h] = probs[b, h] v[b, h]."""
    pid = tl.program_id(axis=0).to(tl.int64)
    v_head_ptr = v_ptr + pid // n_heads * stride_vb + pid % n_heads * stride_vh
    out_head_ptr = out_ptr + pid // n_heads * stride_ob + pid % n_heads * stride_oh
    offs_m = tl.program_id(axis=1).to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_d = tl.arange(0, BLOCK_D)
    mask_m = offs_m < seq_len
    mask_d = offs_d < HEAD_DIM
    acc = tl.zeros((BLOCK_M, BLOCK_D), dtype=tl.float32)
    for start_n in range(0, seq_len, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N).to(tl.int64)
        mask_n = offs_n < seq_len
        probs_ptrs = probs_ptr + pid * seq_len * seq_len + offs_m[:, None] * seq_len + offs_n[None, :]
        v_ptrs = v_head_ptr + offs_n[:, None] * stride_vn + offs_d[None, :]
        probs = tl.load(probs_ptrs, mask=mask_m[:, None] & mask_n[None, :], other=0.0)
        v = tl.load(v_ptrs, mask=mask_n[:, None] & mask_d[None, :], other=0.0)
        acc = tl.dot(probs.to(v.dtype), v, acc, input_precision="ieee")
    out_ptrs = out_head_ptr + offs_m[:, None] * stride_om + offs_d[None, :]
    tl.store(out_ptrs, acc, mask=mask_m[:, None] & mask_d[None, :])


def naive_attention(q, k, v, causal=False):
    batch, n_heads, seq_len, head_dim = q.shape
    out = torch.empty((batch, n_heads, seq_len, head_dim), dtype=q.dtype, device=q.device)
    scores = torch.empty((batch, n_heads, seq_len, seq_len), dtype=torch.float32, device=q.device)
    probs = torch.empty_like(scores)
    BLOCK_D = max(16, triton.next_power_of_2(head_dim))
    BLOCK = 64 if BLOCK_D * q.element_size() <= 256 else 32
    blocks = triton.cdiv(seq_len, BLOCK)
    scores_kernel[(batch * n_heads, blocks, blocks)](
        q, k,
        scores,
        n_heads, seq_len,
        q.stride(0), q.stride(1), q.stride(2),
        k.stride(0), k.stride(1), k.stride(2),
        HEAD_DIM=head_dim,
        BLOCK_M=BLOCK, BLOCK_N=BLOCK, BLOCK_D=BLOCK_D,
    )  # fmt: skip
    n_rows = batch * n_heads * seq_len
    BLOCK_N = triton.next_power_of_2(seq_len)
    BLOCK_M = max(1, 4096 // BLOCK_N)
    rows = (triton.cdiv(n_rows, BLOCK_M),)
    scale_kernel[rows](scores, n_rows, seq_len, head_dim**-0.5, BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N)
    if causal:
        mask_kernel[rows](scores, n_rows, seq_len, BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N)
    exp_kernel[rows](scores, probs, n_rows, seq_len, BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N)
    divide_kernel[rows](probs, n_rows, seq_len, BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N)
    values_kernel[(batch * n_heads, blocks)](
        probs, v,
        out,
        n_heads, seq_len,
        v.stride(0), v.stride(1), v.stride(2),
        out.stride(0), out.stride(1), out.stride(2),
        HEAD_DIM=head_dim,
        BLOCK_M=BLOCK, BLOCK_N=BLOCK, BLOCK_D=BLOCK_D,
    )  # fmt: skip
    return out
