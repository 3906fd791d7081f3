"""14 Flash attention: scores, softmax and values in one kernel, so that nothing of size seq_len² is ever in memory."""

import torch
import triton
import triton.language as tl


@triton.jit
def flash_attention_kernel(
    q_ptr, k_ptr, v_ptr,
    out_ptr,
    n_heads, seq_len,
    stride_qb, stride_qh, stride_qm,
    stride_kb, stride_kh, stride_kn,
    stride_vb, stride_vh, stride_vn,
    stride_ob, stride_oh, stride_om,
    scale,
    HEAD_DIM: tl.constexpr,
    IS_CAUSAL: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_D: tl.constexpr,
):  # fmt: skip
    """out = softmax(q kᵀ · scale) v; one program per head and tile of BLOCK_M queries, BLOCK_N keys at a time."""
    n_tiles = tl.cdiv(seq_len, BLOCK_M)
    head = tl.program_id(axis=0).to(tl.int64) // n_tiles  # counts the heads of all batches
    pid_m = n_tiles - 1 - tl.program_id(axis=0) % n_tiles  # last tile first: with a causal mask it is the longest
    q_head_ptr = q_ptr + head // n_heads * stride_qb + head % n_heads * stride_qh
    k_head_ptr = k_ptr + head // n_heads * stride_kb + head % n_heads * stride_kh
    v_head_ptr = v_ptr + head // n_heads * stride_vb + head % n_heads * stride_vh
    out_head_ptr = out_ptr + head // n_heads * stride_ob + head % n_heads * stride_oh

    # Phase 1: the queries of this program, loaded once and kept.
    offs_m = pid_m.to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_d = tl.arange(0, BLOCK_D)
    mask_m = offs_m < seq_len
    mask_d = offs_d < HEAD_DIM
    q_ptrs = q_head_ptr + offs_m[:, None] * stride_qm + offs_d[None, :]
    q = tl.load(q_ptrs, mask=mask_m[:, None] & mask_d[None, :], other=0.0)  # (BLOCK_M, BLOCK_D)

    # Phase 2: which keys count. Every query of the tile sees the keys before whole_n; none sees those from end_n on.
    whole_n = seq_len
    end_n = seq_len
    if IS_CAUSAL:
        # TODO(1): whole_n and end_n are what the causal mask leaves of them.
        pass

    # Phase 3: after each tile of keys, with weight = exp2(score · exp2_scale - row_max), row_sum is the sum of weights
    # and acc the sum of weight · v, over all keys seen so far. exp2(s · exp2_scale) is exp(s · scale), in the form that
    # a GPU computes fastest: scaling and subtracting are one multiply-add, and exp2 is one instruction.
    exp2_scale = scale * 1.4426950408889634  # times log2(e)
    # TODO(2): row_max, row_sum and acc, all float32, are those of no keys at all.
    pass
    for start_n in range(0, end_n, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N).to(tl.int64)
        mask_n = offs_n < seq_len
        k_ptrs = k_head_ptr + offs_n[None, :] * stride_kn + offs_d[:, None]
        v_ptrs = v_head_ptr + offs_n[:, None] * stride_vn + offs_d[None, :]

        # TODO(3): scores holds every query times every key; keys that a query does not see cannot count.
        pass

        # TODO(4): this tile is folded into row_max, row_sum and acc.
        pass

    # Phase 4: divide once, at the end; the store casts to the type of out.
    # TODO(5): write the rows of the result that exist.
    pass


def tile_sizes(BLOCK_D: int, element_size: int) -> tuple[int, int, int, int]:
    """BLOCK_M, BLOCK_N, num_warps, num_stages, such that q and num_stages tiles of k and v fit into 99 KiB."""
    if element_size == 4:
        return {128: (32, 32, 8, 2), 256: (32, 16, 8, 2)}.get(BLOCK_D, (64, 32, 8, 2))
    return {128: (64, 64, 4, 2), 256: (64, 32, 4, 2)}.get(BLOCK_D, (128, 64, 8, 3))


def flash_attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool = False) -> torch.Tensor:
    """Return softmax(q kᵀ / √head_dim) v for q, k, v of shape (batch, heads, seq_len, head_dim), last stride 1."""
    batch, n_heads, seq_len, head_dim = q.shape
    out = torch.empty((batch, n_heads, seq_len, head_dim), dtype=q.dtype, device=q.device)
    BLOCK_D = max(16, triton.next_power_of_2(head_dim))  # tl.dot needs at least 16
    BLOCK_M, BLOCK_N, num_warps, num_stages = tile_sizes(BLOCK_D, q.element_size())
    grid = (batch * n_heads * triton.cdiv(seq_len, BLOCK_M),)  # one axis: the others end at 65,535
    flash_attention_kernel[grid](
        q, k, v,
        out,
        n_heads, seq_len,
        q.stride(0), q.stride(1), q.stride(2),
        k.stride(0), k.stride(1), k.stride(2),
        v.stride(0), v.stride(1), v.stride(2),
        out.stride(0), out.stride(1), out.stride(2),
        head_dim**-0.5,
        HEAD_DIM=head_dim,
        IS_CAUSAL=causal,
        BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, BLOCK_D=BLOCK_D,
        num_warps=num_warps, num_stages=num_stages,
    )  # fmt: skip
    return out
