"""13 Attention, written for speed, still in three kernels with a matrix of seq_len² between them.

The time goes into that matrix, so it crosses memory twice and not four times, in the dtype of v, and tile by tile: what one
program writes is one block of memory. The softmax is that of exercise 05, split over the tiles of a row. The first kernel
writes weights relative to the maximum of their own tile, with that maximum and their sum; the second makes of these pairs,
which are few, one factor for each row and tile; the third applies it after the product of a tile. With a causal mask no
kernel touches a tile that is all future, and only tiles at the edge are masked at all.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def weights_kernel(
    q_ptr, k_ptr,
    weights_ptr, tile_max_ptr, tile_sum_ptr,
    n_heads, seq_len,
    stride_qb, stride_qh, stride_qm,
    stride_kb, stride_kh, stride_kn,
    scale,
    HEAD_DIM: tl.constexpr,
    IS_CAUSAL: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_D: tl.constexpr,
):  # fmt: skip
    """weights = exp(q kᵀ · scale - tile_max), tile_sum = their sum; one program per head and tile of BLOCK_M queries."""
    head = tl.program_id(axis=0).to(tl.int64)  # counts the heads of all batches
    pid_m = tl.num_programs(axis=1) - 1 - tl.program_id(axis=1)  # with a causal mask the last tile is the longest
    q_head_ptr = q_ptr + head // n_heads * stride_qb + head % n_heads * stride_qh
    k_head_ptr = k_ptr + head // n_heads * stride_kb + head % n_heads * stride_kh

    # Phase 1: the queries of this program, loaded once and kept.
    offs_m = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_d = tl.arange(0, BLOCK_D)
    mask_m = offs_m < seq_len
    mask_d = offs_d < HEAD_DIM
    q_ptrs = q_head_ptr + offs_m.to(tl.int64)[:, None] * stride_qm + offs_d[None, :]
    q = tl.load(q_ptrs, mask=mask_m[:, None] & mask_d[None, :], other=0.0)  # (BLOCK_M, BLOCK_D)

    # Phase 2: which keys count. Every query of the tile sees the keys before whole_n; none sees the tiles from n_seen on.
    # BLOCK_N is a multiple of BLOCK_M, so every query sees the first key of each of the n_seen tiles: no maximum is -inf.
    n_tiles = tl.cdiv(seq_len, BLOCK_N)
    row_tile = pid_m * BLOCK_M // BLOCK_N
    whole_n = seq_len
    n_seen = n_tiles
    if IS_CAUSAL:
        whole_n = pid_m * BLOCK_M + 1
        n_seen = row_tile + 1

    # Phase 3: where the first tile of keys lies in k, weights, tile_max and tile_sum. The last three are made of whole tiles
    # of (BLOCK_N, BLOCK_N), one after another, each a block of memory.
    offs_n = tl.arange(0, BLOCK_N)
    k_ptrs = k_head_ptr + offs_n.to(tl.int64)[None, :] * stride_kn + offs_d[:, None]
    k_step = tl.full((1, 1), BLOCK_N, dtype=tl.int64) * stride_kn
    first_pair = (head * n_tiles + row_tile) * n_tiles * BLOCK_N + pid_m * BLOCK_M % BLOCK_N
    offs_pair = first_pair + tl.arange(0, BLOCK_M)
    weights_ptrs = weights_ptr + offs_pair[:, None] * BLOCK_N + offs_n[None, :]

    # Phase 4: the weights of one tile after the other. exp2(s · exp2_scale) is exp(s · scale), in the form that a GPU
    # computes fastest: scaling and subtracting are one multiply-add, and exp2 is one instruction.
    exp2_scale = scale * 1.4426950408889634  # times log2(e)
    for tile in range(0, n_seen):
        keys = tile * BLOCK_N + offs_n
        mask_n = keys < seq_len
        k = tl.load(k_ptrs + tile * k_step, mask=mask_n[None, :] & mask_d[:, None], other=0.0)  # (BLOCK_D, BLOCK_N)
        scores = tl.dot(q, k, input_precision="ieee")  # (BLOCK_M, BLOCK_N), not yet scaled
        if (tile + 1) * BLOCK_N > whole_n:  # only the last tile holds keys that some query must not count
            visible = mask_n[None, :]
            if IS_CAUSAL:
                visible = keys[None, :] <= offs_m[:, None]  # a query that exists sees keys that exist
            scores = tl.where(visible, scores, -float("inf"))

        # Lanes past the last query or key have a place in the padding: a query of zeros, and weights of 0.
        tile_max = tl.max(scores, axis=1) * exp2_scale
        weights = tl.exp2(scores * exp2_scale - tile_max[:, None])
        tl.store(tile_max_ptr + tile * BLOCK_N + offs_pair, tile_max)
        tl.store(tile_sum_ptr + tile * BLOCK_N + offs_pair, tl.sum(weights, axis=1))
        tl.store(weights_ptrs + tile * BLOCK_N * BLOCK_N, weights)


@triton.jit
def factors_kernel(
    tile_max_ptr, tile_sum_ptr,
    factors_ptr,
    n_tiles,
    IS_CAUSAL: tl.constexpr,
    BLOCK_N: tl.constexpr, BLOCK_T: tl.constexpr, BLOCK_R: tl.constexpr,
):  # fmt: skip
    """factors[tile, row] = exp(tile_max[tile, row] - row_max[row]) / row_sum[row]; one program per BLOCK_R rows."""
    first_row = tl.program_id(axis=0).to(tl.int64) * BLOCK_R  # a row is one query of one head
    row_tile = first_row // BLOCK_N

    n_seen = n_tiles
    if IS_CAUSAL:
        n_seen = (row_tile % n_tiles + 1).to(tl.int32)  # nobody has written the tiles of the future
    offs_t = tl.arange(0, BLOCK_T)
    offs_r = first_row % BLOCK_N + tl.arange(0, BLOCK_R)
    offs = (row_tile * n_tiles + offs_t[:, None]) * BLOCK_N + offs_r[None, :]
    mask_t = (offs_t < n_seen)[:, None]

    # The sums are relative to the maximum of their tile: bring them to that of the row before adding.
    tile_max = tl.load(tile_max_ptr + offs, mask=mask_t, other=-float("inf"))  # (BLOCK_T, BLOCK_R)
    tile_sum = tl.load(tile_sum_ptr + offs, mask=mask_t, other=0.0)
    shrink = tl.exp2(tile_max - tl.max(tile_max, axis=0)[None, :])
    tl.store(factors_ptr + offs, shrink / tl.sum(shrink * tile_sum, axis=0)[None, :], mask=mask_t)


@triton.jit
def values_kernel(
    weights_ptr, factors_ptr, v_ptr,
    out_ptr,
    n_heads, seq_len,
    stride_vb, stride_vh, stride_vn,
    stride_ob, stride_oh, stride_om,
    HEAD_DIM: tl.constexpr,
    IS_CAUSAL: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_D: tl.constexpr,
):  # fmt: skip
    """out = Σ over tiles of factors · (weights v); one program per head and tile of BLOCK_M queries."""
    head = tl.program_id(axis=0).to(tl.int64)
    pid_m = tl.num_programs(axis=1) - 1 - tl.program_id(axis=1)
    v_head_ptr = v_ptr + head // n_heads * stride_vb + head % n_heads * stride_vh
    out_head_ptr = out_ptr + head // n_heads * stride_ob + head % n_heads * stride_oh

    # Phase 1: where the first tile of this program lies in v, weights and factors.
    offs_n = tl.arange(0, BLOCK_N)
    offs_d = tl.arange(0, BLOCK_D)
    mask_d = offs_d < HEAD_DIM
    n_tiles = tl.cdiv(seq_len, BLOCK_N)
    row_tile = pid_m * BLOCK_M // BLOCK_N
    first_pair = (head * n_tiles + row_tile) * n_tiles * BLOCK_N + pid_m * BLOCK_M % BLOCK_N
    offs_pair = first_pair + tl.arange(0, BLOCK_M)
    weights_ptrs = weights_ptr + offs_pair[:, None] * BLOCK_N + offs_n[None, :]
    v_ptrs = v_head_ptr + offs_n.to(tl.int64)[:, None] * stride_vn + offs_d[None, :]
    v_step = tl.full((1, 1), BLOCK_N, dtype=tl.int64) * stride_vn
    n_seen = n_tiles
    if IS_CAUSAL:
        n_seen = row_tile + 1

    # Phase 2: after each tile of keys, acc holds the weighted sum of the values of all keys seen so far.
    acc = tl.zeros((BLOCK_M, BLOCK_D), dtype=tl.float32)
    for tile in range(0, n_seen):
        weights = tl.load(weights_ptrs + tile * BLOCK_N * BLOCK_N)  # (BLOCK_M, BLOCK_N), all of it written
        # A weight of 0 does not silence a value that is NaN, since 0 · NaN is NaN: v needs its mask and its 0.
        mask_n = tile * BLOCK_N + offs_n < seq_len
        v = tl.load(v_ptrs + tile * v_step, mask=mask_n[:, None] & mask_d[None, :], other=0.0)  # (BLOCK_N, BLOCK_D)
        factors = tl.load(factors_ptr + tile * BLOCK_N + offs_pair)
        acc += tl.dot(weights, v, input_precision="ieee") * factors[:, None]

    # Phase 3: write the tile; the store casts to the type of out.
    offs_m = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    out_ptrs = out_head_ptr + offs_m.to(tl.int64)[:, None] * stride_om + offs_d[None, :]
    tl.store(out_ptrs, acc, mask=(offs_m < seq_len)[:, None] & mask_d[None, :])


def tile_size(seq_len: int, block_d: int, element_size: int) -> int:
    """Queries and keys in a tile: as many as fit into the registers, and into shared memory where a GPU has only 99 KiB."""
    whole = max(16, triton.next_power_of_2(seq_len))
    if element_size == 4:  # no tensor cores: each thread multiplies in its own registers
        return min(whole, 64 if block_d <= 64 else 32)
    return min(whole, 128 if block_d <= 128 else 64)


def naive_attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool = False) -> torch.Tensor:
    """Return softmax(q kᵀ / √head_dim) v for q, k, v of shape (batch, heads, seq_len, head_dim), last stride 1."""
    batch, n_heads, seq_len, head_dim = q.shape
    BLOCK_D = max(16, triton.next_power_of_2(head_dim))  # tl.dot needs at least 16
    BLOCK = tile_size(seq_len, BLOCK_D, q.element_size())
    n_tiles = triton.cdiv(seq_len, BLOCK)
    out = torch.empty((batch, n_heads, seq_len, head_dim), dtype=q.dtype, device=q.device)
    weights = torch.empty((batch * n_heads, n_tiles, n_tiles, BLOCK, BLOCK), dtype=q.dtype, device=q.device)
    tile_max = torch.empty((batch * n_heads, n_tiles, n_tiles, BLOCK), dtype=torch.float32, device=q.device)
    tile_sum = torch.empty_like(tile_max)
    factors = torch.empty_like(tile_max)
    # Axis 0 of a grid may be 2**31 - 1 long, axes 1 and 2 only 65,535: batch · heads goes first.
    BLOCK_M = min(64, BLOCK)  # half a tile of weights fits into the registers of 4 warps
    weights_kernel[(batch * n_heads, n_tiles * BLOCK // BLOCK_M)](
        q, k,
        weights, tile_max, tile_sum,
        n_heads, seq_len,
        q.stride(0), q.stride(1), q.stride(2),
        k.stride(0), k.stride(1), k.stride(2),
        head_dim**-0.5,
        HEAD_DIM=head_dim,
        IS_CAUSAL=causal,
        BLOCK_M=BLOCK_M, BLOCK_N=BLOCK, BLOCK_D=BLOCK_D,
        num_warps=4,
        num_stages=2,
    )  # fmt: skip
    BLOCK_T = triton.next_power_of_2(n_tiles)  # all tiles of a row
    BLOCK_R = min(BLOCK, max(1, 2048 // BLOCK_T))
    factors_kernel[(batch * n_heads * n_tiles * BLOCK // BLOCK_R,)](
        tile_max, tile_sum,
        factors,
        n_tiles,
        IS_CAUSAL=causal,
        BLOCK_N=BLOCK, BLOCK_T=BLOCK_T, BLOCK_R=BLOCK_R,
    )  # fmt: skip
    values_kernel[(batch * n_heads, n_tiles)](
        weights, factors, v,
        out,
        n_heads, seq_len,
        v.stride(0), v.stride(1), v.stride(2),
        out.stride(0), out.stride(1), out.stride(2),
        HEAD_DIM=head_dim,
        IS_CAUSAL=causal,
        BLOCK_M=BLOCK, BLOCK_N=BLOCK, BLOCK_D=BLOCK_D,
        num_warps=8 if BLOCK * BLOCK_D >= 8192 else 4,
        num_stages=2,
    )  # fmt: skip
    return out
