"""Attention without tl.dot: products of matrices as sums of outer products, one dimension or one key after the other."""

import torch
import triton
import triton.language as tl


@triton.jit
def outer_scores(
    q_ptr, k_ptr, s_ptr, n_heads, n_tokens, dim, qb, qh, qt, kb, kh, kt, scale,
    CAUSAL: tl.constexpr, QUERIES: tl.constexpr, KEYS: tl.constexpr,
):  # fmt: skip
    """Each dimension adds its column of queries times its row of keys."""
    head = tl.program_id(0).to(tl.int64)
    q_ptr += head // n_heads * qb + head % n_heads * qh
    k_ptr += head // n_heads * kb + head % n_heads * kh
    me = tl.program_id(1) * QUERIES + tl.arange(0, QUERIES).to(tl.int64)
    you = tl.program_id(2) * KEYS + tl.arange(0, KEYS).to(tl.int64)
    s = tl.zeros((QUERIES, KEYS), tl.float32)
    for i in range(dim):
        q = tl.load(q_ptr + me * qt + i, mask=me < n_tokens, other=0.0).to(tl.float32) * scale
        k = tl.load(k_ptr + you * kt + i, mask=you < n_tokens, other=0.0).to(tl.float32)
        s += q[:, None] * k[None, :]
    there = (me < n_tokens)[:, None] & (you < n_tokens)[None, :]
    if CAUSAL:
        n_seen = me + 1
        s = tl.where(you[None, :] < n_seen[:, None], s, float("-inf"))
    tl.store(s_ptr + (head * n_tokens + me[:, None]) * n_tokens + you[None, :], s, mask=there)


@triton.jit
def softmax_one_row(s_ptr, p_ptr, n_tokens, LENGTH: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, LENGTH)
    s = tl.load(s_ptr + row * n_tokens + cols, mask=cols < n_tokens, other=float("-inf"))
    s = s - tl.max(s, axis=0)
    e = tl.exp(s)
    tl.store(p_ptr + row * n_tokens + cols, e / tl.sum(e, axis=0), mask=cols < n_tokens)


@triton.jit
def outer_values(
    p_ptr, v_ptr, y_ptr, n_heads, n_tokens, dim, vb, vh, vt, yb, yh, yt,
    QUERIES: tl.constexpr, WIDTH: tl.constexpr,
):  # fmt: skip
    """Each key adds its column of probabilities times its row of values."""
    head = tl.program_id(0).to(tl.int64)
    v_row = v_ptr + head // n_heads * vb + head % n_heads * vh
    y_ptr += head // n_heads * yb + head % n_heads * yh
    me = tl.program_id(1) * QUERIES + tl.arange(0, QUERIES).to(tl.int64)
    d = tl.arange(0, WIDTH)
    p_col = p_ptr + (head * n_tokens + me) * n_tokens
    y = tl.zeros((QUERIES, WIDTH), tl.float32)
    for _ in range(n_tokens):
        p = tl.load(p_col, mask=me < n_tokens, other=0.0)
        v = tl.load(v_row + d, mask=d < dim, other=0.0).to(tl.float32)
        y += p[:, None] * v[None, :]
        p_col += 1
        v_row += vt
    tl.store(y_ptr + me[:, None] * yt + d[None, :], y, mask=(me < n_tokens)[:, None] & (d < dim)[None, :])


def naive_attention(q, k, v, causal=False):
    batch, n_heads, n_tokens, dim = q.shape
    y = torch.empty((batch, n_heads, n_tokens, dim), dtype=q.dtype, device=q.device)
    s = torch.empty((batch, n_heads, n_tokens, n_tokens), dtype=torch.float32, device=q.device)
    p = torch.empty((batch, n_heads, n_tokens, n_tokens), dtype=torch.float32, device=q.device)
    QUERIES, KEYS = 64, 64
    heads = batch * n_heads
    outer_scores[(heads, triton.cdiv(n_tokens, QUERIES), triton.cdiv(n_tokens, KEYS))](
        q, k, s, n_heads, n_tokens, dim, *q.stride()[:3], *k.stride()[:3], dim**-0.5,
        CAUSAL=causal, QUERIES=QUERIES, KEYS=KEYS,
    )  # fmt: skip
    softmax_one_row[(heads * n_tokens,)](s, p, n_tokens, LENGTH=triton.next_power_of_2(n_tokens))
    outer_values[(heads, triton.cdiv(n_tokens, QUERIES))](
        p, v, y, n_heads, n_tokens, dim, *v.stride()[:3], *y.stride()[:3],
        QUERIES=QUERIES, WIDTH=triton.next_power_of_2(dim),
    )  # fmt: skip
    return y
