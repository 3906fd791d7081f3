"""Attention with the scores turned over: keys run down, queries across, and each column is one query's softmax."""

import torch
import triton
import triton.language as tl


@triton.jit
def rows_of(base, i, heads, s0, s1, s2, first, length, dim, ROWS: tl.constexpr, WIDE: tl.constexpr):
    """ROWS tokens of head i, from token `first` on; 0 where there is none."""
    r = first + tl.arange(0, ROWS).to(tl.int64)
    d = tl.arange(0, WIDE)
    ptrs = base + i // heads * s0 + i % heads * s1 + r[:, None] * s2 + d[None, :]
    return tl.load(ptrs, mask=(r < length)[:, None] & (d < dim)[None, :], other=0.0)


@triton.jit
def turned_scores(
    q, k, table, heads, length, dim, q0, q1, q2, k0, k1, k2, temper,
    CAUSAL: tl.constexpr, DOWN: tl.constexpr, ACROSS: tl.constexpr, WIDE: tl.constexpr,
):  # fmt: skip
    i = tl.program_id(0).to(tl.int64)
    first_key, first_query = tl.program_id(1) * DOWN, tl.program_id(2) * ACROSS
    keys = rows_of(k, i, heads, k0, k1, k2, first_key, length, dim, DOWN, WIDE)
    queries = rows_of(q, i, heads, q0, q1, q2, first_query, length, dim, ACROSS, WIDE)
    s = tl.dot(keys, tl.trans(queries), input_precision="ieee") * temper
    n = (first_key + tl.arange(0, DOWN).to(tl.int64))[:, None]
    m = (first_query + tl.arange(0, ACROSS))[None, :]
    if CAUSAL:
        s = tl.where(m >= n, s, float("-inf"))
    tl.store(table + i * length * length + n * length + m, s, mask=(n < length) & (m < length))


@triton.jit
def weigh(table, totals, length, LONG: tl.constexpr, ACROSS: tl.constexpr):
    """Scores become weights, not yet divided by their total."""
    i = tl.program_id(0).to(tl.int64)
    n = tl.arange(0, LONG).to(tl.int64)[:, None]
    m = tl.program_id(1) * ACROSS + tl.arange(0, ACROSS)
    real = (n < length) & (m < length)[None, :]
    ptrs = table + i * length * length + n * length + m[None, :]
    s = tl.load(ptrs, mask=real, other=float("-inf")).to(tl.float32)
    s = tl.where((m < length)[None, :], s, 0.0)
    w = tl.exp(s - tl.max(s, axis=0)[None, :])
    tl.store(totals + i * length + m, tl.sum(w, axis=0), mask=m < length)
    tl.store(ptrs, w, mask=real)


@triton.jit
def gather(
    table, totals, v, out, heads, length, dim, v0, v1, v2, o0, o1, o2,
    DOWN: tl.constexpr, ACROSS: tl.constexpr, WIDE: tl.constexpr,
):  # fmt: skip
    i = tl.program_id(0).to(tl.int64)
    m = tl.program_id(1) * ACROSS + tl.arange(0, ACROSS).to(tl.int64)
    d = tl.arange(0, WIDE)
    y = tl.zeros((ACROSS, WIDE), tl.float32)
    for first in range(0, length, DOWN):
        n = (first + tl.arange(0, DOWN).to(tl.int64))[:, None]
        real = (n < length) & (m < length)[None, :]
        w = tl.load(table + i * length * length + n * length + m[None, :], mask=real, other=0.0)
        values = rows_of(v, i, heads, v0, v1, v2, first, length, dim, DOWN, WIDE)
        y += tl.dot(tl.trans(w.to(values.dtype)), values, input_precision="ieee")
    y /= tl.load(totals + i * length + m, mask=m < length, other=1.0)[:, None]
    ptrs = out + i // heads * o0 + i % heads * o1 + m[:, None] * o2 + d[None, :]
    tl.store(ptrs, y, mask=(m < length)[:, None] & (d < dim)[None, :])


def naive_attention(q, k, v, causal=False):
    batch, heads, length, dim = q.shape
    out = torch.empty((batch, heads, length, dim), dtype=q.dtype, device=q.device)
    table = torch.empty((batch, heads, length, length), dtype=torch.float32, device=q.device)
    totals = torch.empty((batch, heads, length), dtype=torch.float32, device=q.device)
    WIDE = max(16, triton.next_power_of_2(dim))
    DOWN, ACROSS = 32, 32
    down, across = triton.cdiv(length, DOWN), triton.cdiv(length, ACROSS)
    turned_scores[(batch * heads, down, across)](
        q, k, table, heads, length, dim, *q.stride()[:3], *k.stride()[:3], dim**-0.5,
        CAUSAL=causal, DOWN=DOWN, ACROSS=ACROSS, WIDE=WIDE,
    )  # fmt: skip
    LONG = triton.next_power_of_2(length)
    weigh[(batch * heads, triton.cdiv(length, 8))](table, totals, length, LONG=LONG, ACROSS=8)
    gather[(batch * heads, across)](
        table, totals, v, out, heads, length, dim, *v.stride()[:3], *out.stride()[:3], DOWN=DOWN, ACROSS=ACROSS, WIDE=WIDE
    )
    return out
