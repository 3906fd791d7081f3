"""Attention in one kernel that walks along the keys twice: for maximum and sum of each row, and then for the values.

In the second walk maximum and sum are final, so nothing that was added up has to be repaired.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def score_tile(q, k_head, n, m, seq, k_tok, d, factor, dim: tl.constexpr, causal: tl.constexpr):
    """Scores of all queries of the tile and the keys n, in powers of two; -inf for those that do not count."""
    k = tl.load(k_head + n[:, None] * k_tok + d[None, :], mask=(n[:, None] < seq) & (d[None, :] < dim), other=0.0)
    s = tl.dot(q, k.T, input_precision="ieee") * factor
    s = tl.where(n[None, :] < seq, s, float("-inf"))
    if causal:
        s = tl.where(n[None, :] <= m[:, None], s, float("-inf"))
    return s


@triton.jit
def attend_twice(
    q_ptr, k_ptr, v_ptr, o_ptr, pairs, heads, seq,
    q_bat, q_head, q_tok, k_bat, k_head, k_tok, v_bat, v_head, v_tok, o_bat, o_head, o_tok, factor,
    dim: tl.constexpr, causal: tl.constexpr, NQ: tl.constexpr, NK: tl.constexpr, ND: tl.constexpr,
):  # fmt: skip
    """Neighbouring programs belong to different heads; a program has NQ queries."""
    pair = tl.program_id(0).to(tl.int64) % pairs
    tile = tl.program_id(0) // pairs
    bat = pair // heads
    head = pair % heads
    k_ptr += bat * k_bat + head * k_head
    v_ptr += bat * v_bat + head * v_head
    m = (tile * NQ + tl.arange(0, NQ)).to(tl.int64)
    d = tl.arange(0, ND)
    real = (m[:, None] < seq) & (d[None, :] < dim)
    q = tl.load(q_ptr + bat * q_bat + head * q_head + m[:, None] * q_tok + d[None, :], mask=real, other=0.0)

    n_end = seq
    if causal:
        n_end = tl.minimum(seq, tile * NQ + NQ)

    # first walk: statistics of the rows
    largest = tl.full((NQ,), float("-inf"), tl.float32)
    total = tl.zeros((NQ,), tl.float32)
    for n0 in range(0, n_end, NK):
        n = (n0 + tl.arange(0, NK)).to(tl.int64)
        s = score_tile(q, k_ptr, n, m, seq, k_tok, d, factor, dim, causal)
        before = largest
        largest = tl.maximum(before, tl.max(s, axis=1))
        total = total * tl.exp2(before - largest) + tl.sum(tl.exp2(s - largest[:, None]), axis=1)

    # second walk: probabilities times values
    o = tl.zeros((NQ, ND), tl.float32)
    for n0 in range(0, n_end, NK):
        n = (n0 + tl.arange(0, NK)).to(tl.int64)
        s = score_tile(q, k_ptr, n, m, seq, k_tok, d, factor, dim, causal)
        p = tl.exp2(s - largest[:, None]) / total[:, None]
        v = tl.load(v_ptr + n[:, None] * v_tok + d[None, :], mask=(n[:, None] < seq) & (d[None, :] < dim), other=0.0)
        o = tl.dot(p.to(v.dtype), v, o, input_precision="ieee")
    tl.store(o_ptr + bat * o_bat + head * o_head + m[:, None] * o_tok + d[None, :], o, mask=real)


def flash_attention(q, k, v, causal=False):
    batch, heads, seq, dim = q.shape
    o = torch.empty((batch, heads, seq, dim), dtype=q.dtype, device=q.device)
    ND = max(16, triton.next_power_of_2(dim))
    NQ, NK = (128, 32) if ND <= 64 else (32, 16)
    pairs = batch * heads
    log2e = 1.4426950408889634
    attend_twice[(pairs * triton.cdiv(seq, NQ),)](
        q, k, v, o, pairs, heads, seq, *q.stride()[:3], *k.stride()[:3], *v.stride()[:3], *o.stride()[:3],
        dim**-0.5 * log2e, dim=dim, causal=causal, NQ=NQ, NK=NK, ND=ND, num_warps=8, num_stages=2,
    )  # fmt: skip
    return o
