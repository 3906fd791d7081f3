"""Attention whose first kernel only multiplies: scale and causal mask come in the softmax of single queries."""

import torch
import triton
import triton.language as tl


@triton.jit
def token_tile(base, token, stride, n_tokens, channel, width):
    """Rows of q or v: (tokens, channels)."""
    ok = (token[:, None] < n_tokens) & (channel[None, :] < width)
    return tl.load(base + token[:, None] * stride + channel[None, :], mask=ok, other=0.0)


@triton.jit
def multiply(
    q, k, raw, n_heads, n_tokens, width, q_b, q_h, q_t, k_b, k_h, k_t,
    NQ: tl.constexpr, NK: tl.constexpr, W: tl.constexpr,
):  # fmt: skip
    """Keeps a tile of keys, and takes all queries past it."""
    head = tl.program_id(0).to(tl.int64)
    q_head = q + head // n_heads * q_b + head % n_heads * q_h
    k_head = k + head // n_heads * k_b + head % n_heads * k_h
    channel = tl.arange(0, W)
    key = tl.program_id(1) * NK + tl.arange(0, NK).to(tl.int64)
    kt_ptrs = k_head + channel[:, None] + key[None, :] * k_t
    kt = tl.load(kt_ptrs, mask=(channel[:, None] < width) & (key[None, :] < n_tokens), other=0.0)
    for start in range(0, n_tokens, NQ):
        query = start + tl.arange(0, NQ).to(tl.int64)
        queries = token_tile(q_head, query, q_t, n_tokens, channel, width)
        product = tl.dot(queries, kt, input_precision="ieee")
        place = (head * n_tokens + query[:, None]) * n_tokens + key[None, :]
        tl.store(raw + place, product, mask=(query[:, None] < n_tokens) & (key[None, :] < n_tokens))


@triton.jit
def soften(raw, probs, n_tokens, scale, CAUSAL: tl.constexpr, ALL: tl.constexpr):
    """The probabilities of one query."""
    head = tl.program_id(0).to(tl.int64)
    query = tl.program_id(1)
    key = tl.arange(0, ALL)
    place = (head * n_tokens + query) * n_tokens + key
    s = tl.load(raw + place, mask=key < n_tokens, other=float("-inf")) * scale
    if CAUSAL:
        s = tl.where(key > query, float("-inf"), s)
    s -= tl.max(s, axis=0)
    p = tl.exp(s)
    p *= 1.0 / tl.sum(p, axis=0)
    tl.store(probs + place, p, mask=key < n_tokens)


@triton.jit
def average(
    probs, v, out, n_heads, n_tokens, width, v_b, v_h, v_t, o_b, o_h, o_t,
    NQ: tl.constexpr, NK: tl.constexpr, W: tl.constexpr,
):  # fmt: skip
    head = tl.program_id(0).to(tl.int64)
    v_head = v + head // n_heads * v_b + head % n_heads * v_h
    o_head = out + head // n_heads * o_b + head % n_heads * o_h
    channel = tl.arange(0, W)
    query = tl.program_id(1) * NQ + tl.arange(0, NQ).to(tl.int64)
    mixed = tl.zeros((NQ, W), tl.float32)
    for start in range(0, n_tokens, NK):
        key = start + tl.arange(0, NK).to(tl.int64)
        values = token_tile(v_head, key, v_t, n_tokens, channel, width)
        place = (head * n_tokens + query[:, None]) * n_tokens + key[None, :]
        p = tl.load(probs + place, mask=(query[:, None] < n_tokens) & (key[None, :] < n_tokens), other=0.0)
        mixed += tl.dot(p.to(values.dtype), values, input_precision="ieee")
    ok = (query[:, None] < n_tokens) & (channel[None, :] < width)
    tl.store(o_head + query[:, None] * o_t + channel[None, :], mixed.to(out.dtype.element_ty), mask=ok)


def naive_attention(q, k, v, causal=False):
    batch, n_heads, n_tokens, width = q.shape
    out = torch.empty((batch, n_heads, n_tokens, width), dtype=q.dtype, device=q.device)
    raw = torch.empty((batch, n_heads, n_tokens, n_tokens), dtype=torch.float32, device=q.device)
    probs = torch.empty((batch, n_heads, n_tokens, n_tokens), dtype=torch.float32, device=q.device)
    W = max(16, triton.next_power_of_2(width))
    NQ, NK = 16, 64
    all_heads = batch * n_heads
    multiply[(all_heads, triton.cdiv(n_tokens, NK))](
        q, k, raw, n_heads, n_tokens, width, *q.stride()[:3], *k.stride()[:3], NQ=NQ, NK=NK, W=W
    )
    ALL = triton.next_power_of_2(n_tokens)
    soften[(all_heads, n_tokens)](raw, probs, n_tokens, width**-0.5, CAUSAL=causal, ALL=ALL)
    average[(all_heads, triton.cdiv(n_tokens, NQ))](
        probs, v, out, n_heads, n_tokens, width, *v.stride()[:3], *out.stride()[:3], NQ=NQ, NK=NK, W=W
    )
    return out
