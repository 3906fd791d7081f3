"""Attention with block pointers: scores, then the softmax of whole rows, then values."""

import torch
import triton
import triton.language as tl


@triton.jit
def compute_scores(
    q, k, scores, heads, seq, q0, q1, q2, k0, k1, k2,
    dim: tl.constexpr, causal: tl.constexpr, TILE: tl.constexpr, DIM: tl.constexpr,
):  # fmt: skip
    """One program per head and tile of queries, which walks along the keys."""
    i = tl.program_id(0).to(tl.int64)
    b = i // heads
    h = i % heads
    m0 = tl.program_id(1) * TILE
    q_tile = tl.make_block_ptr(q + b * q0 + h * q1, (seq, dim), (q2, 1), (m0, 0), (TILE, DIM), (1, 0))
    k_tile = tl.make_block_ptr(k + b * k0 + h * k1, (dim, seq), (1, k2), (0, 0), (DIM, TILE), (0, 1))
    s_tile = tl.make_block_ptr(scores + i * seq * seq, (seq, seq), (seq, 1), (m0, 0), (TILE, TILE), (1, 0))
    query = tl.load(q_tile, boundary_check=(0, 1), padding_option="zero")
    root = tl.sqrt(float(dim))
    for n0 in range(0, seq, TILE):
        key = tl.load(k_tile, boundary_check=(0, 1), padding_option="zero")
        s = tl.dot(query, key, input_precision="ieee") / root
        if causal:
            behind = m0 + tl.arange(0, TILE)[:, None] >= n0 + tl.arange(0, TILE)[None, :]
            s = tl.where(behind, s, float("-inf"))
        tl.store(s_tile, s, boundary_check=(0, 1))
        k_tile = tl.advance(k_tile, (0, TILE))
        s_tile = tl.advance(s_tile, (0, TILE))


@triton.jit
def normalise_rows(scores, probs, rows, seq, GROUP: tl.constexpr, LONG: tl.constexpr):
    at = tl.program_id(0) * GROUP
    s_rows = tl.make_block_ptr(scores, (rows, seq), (seq, 1), (at, 0), (GROUP, LONG), (1, 0))
    p_rows = tl.make_block_ptr(probs, (rows, seq), (seq, 1), (at, 0), (GROUP, LONG), (1, 0))
    s = tl.load(s_rows, boundary_check=(0, 1), padding_option="zero")
    s = tl.where(tl.arange(0, LONG)[None, :] < seq, s, float("-inf"))
    e = tl.exp(s - tl.max(s, axis=1, keep_dims=True))
    tl.store(p_rows, (e / tl.sum(e, axis=1, keep_dims=True)).to(probs.dtype.element_ty), boundary_check=(0, 1))


@triton.jit
def combine(probs, v, out, heads, seq, v0, v1, v2, o0, o1, o2, dim: tl.constexpr, TILE: tl.constexpr, DIM: tl.constexpr):
    i = tl.program_id(0).to(tl.int64)
    b = i // heads
    h = i % heads
    m0 = tl.program_id(1) * TILE
    p_tile = tl.make_block_ptr(probs + i * seq * seq, (seq, seq), (seq, 1), (m0, 0), (TILE, TILE), (1, 0))
    v_tile = tl.make_block_ptr(v + b * v0 + h * v1, (seq, dim), (v2, 1), (0, 0), (TILE, DIM), (1, 0))
    o_tile = tl.make_block_ptr(out + b * o0 + h * o1, (seq, dim), (o2, 1), (m0, 0), (TILE, DIM), (1, 0))
    total = tl.zeros((TILE, DIM), tl.float32)
    for _ in range(0, seq, TILE):
        p = tl.load(p_tile, boundary_check=(0, 1), padding_option="zero")
        x = tl.load(v_tile, boundary_check=(0, 1), padding_option="zero")
        total += tl.dot(p, x, input_precision="ieee")
        p_tile = tl.advance(p_tile, (0, TILE))
        v_tile = tl.advance(v_tile, (TILE, 0))
    tl.store(o_tile, total.to(out.dtype.element_ty), boundary_check=(0, 1))


def naive_attention(q, k, v, causal=False):
    """Probabilities are kept in the dtype of v."""
    batch, heads, seq, dim = q.shape
    out = torch.empty((batch, heads, seq, dim), dtype=q.dtype, device=q.device)
    scores = torch.empty((batch, heads, seq, seq), dtype=torch.float32, device=q.device)
    probs = torch.empty((batch, heads, seq, seq), dtype=v.dtype, device=q.device)
    TILE, DIM = 32, max(16, triton.next_power_of_2(dim))
    tiles = triton.cdiv(seq, TILE)
    compute_scores[(batch * heads, tiles)](
        q, k, scores, heads, seq, *q.stride()[:3], *k.stride()[:3], dim=dim, causal=causal, TILE=TILE, DIM=DIM
    )
    rows = batch * heads * seq
    normalise_rows[(triton.cdiv(rows, 4),)](scores, probs, rows, seq, GROUP=4, LONG=max(16, triton.next_power_of_2(seq)))
    combine[(batch * heads, tiles)](
        probs, v, out, heads, seq, *v.stride()[:3], *out.stride()[:3], dim=dim, TILE=TILE, DIM=DIM
    )
    return out
