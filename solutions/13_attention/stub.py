"""13 Attention: three kernels in a row, and two masks that must not be mixed up: what exists, and what may be seen."""

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
    scale,
    HEAD_DIM: tl.constexpr,
    IS_CAUSAL: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_D: tl.constexpr,
):  # fmt: skip
    """scores[b, h] = q[b, h] k[b, h]ᵀ · scale; one program per head and tile of (BLOCK_M queries, BLOCK_N keys)."""
    pid = tl.program_id(axis=0).to(tl.int64)  # counts the heads of all batches
    q_head_ptr = q_ptr + pid // n_heads * stride_qb + pid % n_heads * stride_qh
    k_head_ptr = k_ptr + pid // n_heads * stride_kb + pid % n_heads * stride_kh
    scores_head_ptr = scores_ptr + pid * seq_len * seq_len

    # Phase 1: which queries, keys and dimensions this program owns, and which of them exist.
    offs_m = tl.program_id(axis=1).to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.program_id(axis=2).to(tl.int64) * BLOCK_N + tl.arange(0, BLOCK_N)
    offs_d = tl.arange(0, BLOCK_D)
    mask_m = offs_m < seq_len
    mask_n = offs_n < seq_len
    mask_d = offs_d < HEAD_DIM

    # Phase 2: the score of every query and key. Dimensions that do not exist are 0 and add nothing to it.
    q_ptrs = q_head_ptr + offs_m[:, None] * stride_qm + offs_d[None, :]
    k_ptrs = k_head_ptr + offs_n[None, :] * stride_kn + offs_d[:, None]
    # TODO(1): load both tiles; scores holds every query times every key, times scale, in float32.
    pass

    # Phase 3: hide the future if causal, and write the tile.
    # TODO(2): if causal, hide every key from the queries before it; store the scores that exist.
    pass


@triton.jit
def softmax_kernel(
    scores_ptr,
    probs_ptr,
    n_rows, seq_len,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):  # fmt: skip
    """probs[row, :] = softmax(scores[row, :]); one program per BLOCK_M rows. A row is one query of one head."""
    offs_m = tl.program_id(axis=0).to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.arange(0, BLOCK_N)
    offs = offs_m[:, None] * seq_len + offs_n[None, :]
    mask = (offs_m[:, None] < n_rows) & (offs_n[None, :] < seq_len)

    # TODO(3): write the softmax of each row over the keys that exist.
    pass


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
    """out[b, h] = probs[b, h] v[b, h]; one program per head and tile of BLOCK_M queries, BLOCK_N keys at a time."""
    pid = tl.program_id(axis=0).to(tl.int64)
    probs_head_ptr = probs_ptr + pid * seq_len * seq_len
    v_head_ptr = v_ptr + pid // n_heads * stride_vb + pid % n_heads * stride_vh
    out_head_ptr = out_ptr + pid // n_heads * stride_ob + pid % n_heads * stride_oh

    offs_m = tl.program_id(axis=1).to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_d = tl.arange(0, BLOCK_D)
    mask_m = offs_m < seq_len
    mask_d = offs_d < HEAD_DIM

    # Phase 1: after each tile of keys, acc holds the weighted sum of the values of all keys seen so far.
    acc = tl.zeros((BLOCK_M, BLOCK_D), dtype=tl.float32)
    for start_n in range(0, seq_len, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N).to(tl.int64)
        mask_n = offs_n < seq_len
        probs_ptrs = probs_head_ptr + offs_m[:, None] * seq_len + offs_n[None, :]
        v_ptrs = v_head_ptr + offs_n[:, None] * stride_vn + offs_d[None, :]
        # TODO(4): acc has gained the probabilities of these keys times their values.
        pass

    # Phase 2: write the tile; the store casts to the type of out.
    # TODO(5): write the part of acc that exists.
    pass


def naive_attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool = False) -> torch.Tensor:
    """Return softmax(q kᵀ / √head_dim) v for q, k, v of shape (batch, heads, seq_len, head_dim), last stride 1."""
    batch, n_heads, seq_len, head_dim = q.shape
    out = torch.empty((batch, n_heads, seq_len, head_dim), dtype=q.dtype, device=q.device)
    scores = torch.empty((batch, n_heads, seq_len, seq_len), dtype=torch.float32, device=q.device)
    probs = torch.empty_like(scores)
    BLOCK_D = max(16, triton.next_power_of_2(head_dim))  # tl.dot needs at least 16
    BLOCK_M = BLOCK_N = 64 if BLOCK_D * q.element_size() <= 256 else 32  # long rows: fewer of them fit into a processor
    n_blocks_m, n_blocks_n = triton.cdiv(seq_len, BLOCK_M), triton.cdiv(seq_len, BLOCK_N)
    # Axis 0 of a grid may be 2**31 - 1 long, axes 1 and 2 only 65,535: batch · heads goes first.
    scores_kernel[(batch * n_heads, n_blocks_m, n_blocks_n)](
        q, k,
        scores,
        n_heads, seq_len,
        q.stride(0), q.stride(1), q.stride(2),
        k.stride(0), k.stride(1), k.stride(2),
        head_dim**-0.5,
        HEAD_DIM=head_dim,
        IS_CAUSAL=causal,
        BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, BLOCK_D=BLOCK_D,
    )  # fmt: skip
    n_rows = batch * n_heads * seq_len
    BLOCK_L = triton.next_power_of_2(seq_len)  # a whole row
    BLOCK_R = max(1, 4096 // BLOCK_L)  # short rows share a program
    softmax_kernel[(triton.cdiv(n_rows, BLOCK_R),)](
        scores,
        probs,
        n_rows, seq_len,
        BLOCK_M=BLOCK_R, BLOCK_N=BLOCK_L,
        num_warps=4 if BLOCK_L <= 8192 else 16,
    )  # fmt: skip
    values_kernel[(batch * n_heads, n_blocks_m)](
        probs, v,
        out,
        n_heads, seq_len,
        v.stride(0), v.stride(1), v.stride(2),
        out.stride(0), out.stride(1), out.stride(2),
        HEAD_DIM=head_dim,
        BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, BLOCK_D=BLOCK_D,
    )  # fmt: skip
    return out
