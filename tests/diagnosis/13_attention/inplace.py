"""Attention in three kernels; the softmax works in place, in two walks along each row."""

import torch
import triton
import triton.language as tl


@triton.jit
def qk_kernel(
    Q, K, S, qb, qh, qt, kb, kh, kt, H, T, scale,
    D: tl.constexpr, CAUSAL: tl.constexpr, BQ: tl.constexpr, BK: tl.constexpr, BD: tl.constexpr,
):  # fmt: skip
    """Scores of BQ queries and BK keys."""
    nk = tl.cdiv(T, BK)
    nq = tl.cdiv(T, BQ)
    pid = tl.program_id(0).to(tl.int64)
    z = pid // (nq * nk)
    iq = pid // nk % nq * BQ + tl.arange(0, BQ)
    ik = pid % nk * BK + tl.arange(0, BK)
    d = tl.arange(0, BD)
    q = tl.load(
        Q + z // H * qb + z % H * qh + iq[:, None] * qt + d[None, :], mask=(iq < T)[:, None] & (d < D)[None, :], other=0.0
    )
    k = tl.load(
        K + z // H * kb + z % H * kh + ik[:, None] * kt + d[None, :], mask=(ik < T)[:, None] & (d < D)[None, :], other=0.0
    )
    s = tl.dot(q, tl.trans(k), input_precision="ieee")
    s = s * scale
    if CAUSAL:
        future = ik[None, :] > iq[:, None]
        s = tl.where(future, float("-inf"), s)
    tl.store(S + z * T * T + iq[:, None] * T + ik[None, :], s, mask=(iq < T)[:, None] & (ik < T)[None, :])


@triton.jit
def row_softmax(S, T, R, ROWS: tl.constexpr):
    """Softmax of ROWS rows of length T, 128 columns at a time."""
    r = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    lanes = tl.arange(0, 128)
    top = tl.full((ROWS,), float("-inf"), tl.float32)
    den = tl.zeros((ROWS,), tl.float32)
    for c0 in range(0, T, 128):
        c = c0 + lanes
        ok = (r < R)[:, None] & (c < T)[None, :]
        s = tl.load(S + r[:, None] * T + c[None, :], mask=ok, other=0.0)
        s = tl.where((c < T)[None, :], s, float("-inf"))
        new = tl.maximum(top, tl.max(s, 1))
        den = den * tl.exp(top - new) + tl.sum(tl.exp(s - new[:, None]), 1)
        top = new
    for c0 in range(0, T, 128):
        c = c0 + lanes
        ok = (r < R)[:, None] & (c < T)[None, :]
        s = tl.load(S + r[:, None] * T + c[None, :], mask=ok, other=0.0)
        tl.store(S + r[:, None] * T + c[None, :], tl.exp(s - top[:, None]) / den[:, None], mask=ok)


@triton.jit
def pv_kernel(
    P, V, O_ptr, vb, vh, vt, ob, oh, ot, H, T,
    D: tl.constexpr, BQ: tl.constexpr, BK: tl.constexpr, BD: tl.constexpr,
):  # fmt: skip
    nq = tl.cdiv(T, BQ)
    z = tl.program_id(0).to(tl.int64) // nq
    iq = tl.program_id(0).to(tl.int64) % nq * BQ + tl.arange(0, BQ)
    d = tl.arange(0, BD)
    o = tl.zeros((BQ, BD), tl.float32)
    for k0 in range(0, T, BK):
        ik = k0 + tl.arange(0, BK).to(tl.int64)
        p = tl.load(P + z * T * T + iq[:, None] * T + ik[None, :], mask=(iq < T)[:, None] & (ik < T)[None, :], other=0.0)
        v = tl.load(
            V + z // H * vb + z % H * vh + ik[:, None] * vt + d[None, :],
            mask=(ik < T)[:, None] & (d < D)[None, :],
            other=0.0,
        )
        o += tl.dot(p.to(v.dtype), v, input_precision="ieee")
    tl.store(O_ptr + z // H * ob + z % H * oh + iq[:, None] * ot + d[None, :], o, mask=(iq < T)[:, None] & (d < D)[None, :])


def naive_attention(q, k, v, causal=False):
    B, H, T, D = q.shape
    out = torch.empty((B, H, T, D), dtype=q.dtype, device=q.device)
    work = torch.empty((B, H, T, T), dtype=torch.float32, device=q.device)
    BD = max(16, triton.next_power_of_2(D))
    BQ, BK = (64, 32) if BD <= 128 else (32, 32)
    n = triton.cdiv(T, BQ)
    qk_kernel[(B * H * n * triton.cdiv(T, BK),)](
        q, k, work, *q.stride()[:3], *k.stride()[:3], H, T, D**-0.5, D=D, CAUSAL=causal, BQ=BQ, BK=BK, BD=BD
    )
    R = B * H * T
    row_softmax[(triton.cdiv(R, 16),)](work, T, R, ROWS=16)
    pv_kernel[(B * H * n,)](work, v, out, *v.stride()[:3], *out.stride()[:3], H, T, D=D, BQ=BQ, BK=BK, BD=BD)
    return out
