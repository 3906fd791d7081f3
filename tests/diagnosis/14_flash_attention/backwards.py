"""Attention that walks from the last keys to the first."""

import torch
import triton
import triton.language as tl


@triton.jit
def backwards_kernel(
    q_ptr, k_ptr, v_ptr, out_ptr, n_jobs, per_head, n_heads, n_tokens, width, root,
    q_stride, k_stride, v_stride, out_stride,
    qb, qh, kb, kh, vb, vh, ob, oh,
    CAUSAL: tl.constexpr, MINE: tl.constexpr, THEIRS: tl.constexpr, WIDE: tl.constexpr,
):  # fmt: skip
    """A fixed number of programs take one job after the other; a job is MINE queries of one head."""
    job = tl.program_id(0).to(tl.int64)
    channel = tl.arange(0, WIDE)[None, :]
    while job < n_jobs:
        pair = job // per_head
        mine = job % per_head * MINE + tl.arange(0, MINE)
        m_ok = (mine[:, None] < n_tokens) & (channel < width)
        q = tl.load(
            q_ptr + pair // n_heads * qb + pair % n_heads * qh + mine[:, None] * q_stride + channel, mask=m_ok, other=0.0
        )
        peak = tl.full((MINE,), float("-inf"), tl.float32)
        den = tl.zeros((MINE,), tl.float32)
        num = tl.zeros((MINE, WIDE), tl.float32)
        limit = n_tokens
        if CAUSAL:
            limit = tl.minimum(limit, job % per_head * MINE + MINE)
        tile = tl.cdiv(limit, THEIRS) - 1
        while tile >= 0:
            theirs = tile * THEIRS + tl.arange(0, THEIRS).to(tl.int64)
            t_ok = (theirs[:, None] < n_tokens) & (channel < width)
            k = tl.load(
                k_ptr + pair // n_heads * kb + pair % n_heads * kh + theirs[:, None] * k_stride + channel,
                mask=t_ok,
                other=0.0,
            )
            v = tl.load(
                v_ptr + pair // n_heads * vb + pair % n_heads * vh + theirs[:, None] * v_stride + channel,
                mask=t_ok,
                other=0.0,
            )
            score = tl.dot(q, tl.trans(k), input_precision="ieee") / root
            score = tl.where(theirs[None, :] < n_tokens, score, float("-inf"))
            if CAUSAL:
                score = tl.where(theirs[None, :] > mine[:, None], float("-inf"), score)
            new_peak = tl.maximum(peak, tl.max(score, 1))
            safe = tl.where(new_peak == float("-inf"), 0.0, new_peak)
            e = tl.exp(score - safe[:, None])
            repair = tl.exp(peak - safe)
            den = den * repair + tl.sum(e, 1)
            num = tl.dot(e.to(v.dtype), v, num * repair[:, None], input_precision="ieee")
            peak = new_peak
            tile -= 1
        tl.store(
            out_ptr + pair // n_heads * ob + pair % n_heads * oh + mine[:, None] * out_stride + channel,
            num / den[:, None],
            mask=m_ok,
        )
        job += tl.num_programs(0)


def flash_attention(q, k, v, causal=False):
    batch, n_heads, n_tokens, width = q.shape
    out = torch.empty((batch, n_heads, n_tokens, width), dtype=q.dtype, device=q.device)
    WIDE = max(16, triton.next_power_of_2(width))
    MINE, THEIRS = (64, 64) if WIDE <= 64 else (32, 32)
    per_head = triton.cdiv(n_tokens, MINE)
    n_jobs = batch * n_heads * per_head
    backwards_kernel[(min(n_jobs, 264),)](
        q, k, v, out, n_jobs, per_head, n_heads, n_tokens, width, width**0.5,
        q.stride(2), k.stride(2), v.stride(2), out.stride(2),
        q.stride(0), q.stride(1), k.stride(0), k.stride(1), v.stride(0), v.stride(1), out.stride(0), out.stride(1),
        CAUSAL=causal, MINE=MINE, THEIRS=THEIRS, WIDE=WIDE,
    )  # fmt: skip
    return out
