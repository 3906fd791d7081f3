"""Attention without a matrix of scores: natural exponentials, tiles of 64 by 64, one loop over the keys."""

import math

import torch
import triton
import triton.language as tl


@triton.jit
def _attend(
    Q, K, V, Out, sm_scale,
    qb, qh, qs, kb, kh, ks, vb, vh, vs, ob, oh, os,
    H, S, D: tl.constexpr, CAUSAL: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BD: tl.constexpr,
):  # fmt: skip
    bh = tl.program_id(0).to(tl.int64)
    b = bh // H
    h = bh % H
    m = tl.program_id(1) * BM + tl.arange(0, BM)
    d = tl.arange(0, BD)
    md = d < D
    q = tl.load(
        Q + b * qb + h * qh + m[:, None].to(tl.int64) * qs + d[None, :], mask=(m < S)[:, None] & md[None, :], other=0.0
    )

    m_i = tl.full([BM], float("-inf"), tl.float32)
    l_i = tl.zeros([BM], tl.float32)
    o = tl.zeros([BM, BD], tl.float32)

    stop = S
    if CAUSAL:
        stop = tl.minimum(S, tl.program_id(1) * BM + BM)
    lo = 0
    while lo < stop:
        n = lo + tl.arange(0, BN)
        ok = n < S
        k = tl.load(
            K + b * kb + h * kh + n[:, None].to(tl.int64) * ks + d[None, :], mask=ok[:, None] & md[None, :], other=0.0
        )
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * sm_scale
        seen = ok[None, :]
        if CAUSAL:
            seen = seen & (m[:, None] >= n[None, :])
        s = tl.where(seen, s, float("-inf"))
        m_new = tl.maximum(m_i, tl.max(s, 1))
        p = tl.exp(s - m_new[:, None])
        alpha = tl.exp(m_i - m_new)
        l_i = l_i * alpha + tl.sum(p, 1)
        o = o * alpha[:, None]
        v = tl.load(
            V + b * vb + h * vh + n[:, None].to(tl.int64) * vs + d[None, :], mask=ok[:, None] & md[None, :], other=0.0
        )
        o += tl.dot(p.to(v.dtype), v, input_precision="ieee")
        m_i = m_new
        lo += BN

    o = o / l_i[:, None]
    tl.store(
        Out + b * ob + h * oh + m[:, None].to(tl.int64) * os + d[None, :],
        o.to(Out.dtype.element_ty),
        mask=(m < S)[:, None] & md[None, :],
    )


def flash_attention(q, k, v, causal=False):
    B, H, S, D = q.shape
    o = torch.empty((B, H, S, D), dtype=q.dtype, device=q.device)
    BD = max(16, triton.next_power_of_2(D))
    BM = 64 if BD <= 128 else 32
    BN = 64 if BD <= 64 else 32
    grid = (B * H, triton.cdiv(S, BM))
    _attend[grid](
        q, k, v, o, 1.0 / math.sqrt(D),
        *q.stride()[:3], *k.stride()[:3], *v.stride()[:3], *o.stride()[:3],
        H, S, D=D, CAUSAL=causal, BM=BM, BN=BN, BD=BD,
    )  # fmt: skip
    return o
