"""Attention whose second kernel finds only maximum and sum of each row; the third makes the probabilities from them."""

import math

import torch
import triton
import triton.language as tl


@triton.jit
def logits(
    q_ptr, k_ptr, l_ptr, n_heads, n, q_b, q_h, q_n, k_b, k_h, k_n, mult, dim,
    MASKED: tl.constexpr, EDGE: tl.constexpr, CHUNK: tl.constexpr,
):  # fmt: skip
    """EDGE x EDGE logits in powers of two; the dimensions are summed up CHUNK at a time."""
    bh = tl.program_id(0).to(tl.int64)
    q_ptr += bh // n_heads * q_b + bh % n_heads * q_h
    k_ptr += bh // n_heads * k_b + bh % n_heads * k_h
    rows = tl.program_id(1) * EDGE + tl.arange(0, EDGE).to(tl.int64)
    cols = tl.program_id(2) * EDGE + tl.arange(0, EDGE).to(tl.int64)
    dot = tl.zeros((EDGE, EDGE), tl.float32)
    for c in range(0, dim, CHUNK):
        ch = c + tl.arange(0, CHUNK)
        a = tl.load(q_ptr + rows[:, None] * q_n + ch[None, :], mask=(rows[:, None] < n) & (ch[None, :] < dim), other=0.0)
        b = tl.load(k_ptr + cols[None, :] * k_n + ch[:, None], mask=(cols[None, :] < n) & (ch[:, None] < dim), other=0.0)
        dot = tl.dot(a, b, dot, input_precision="ieee")
    dot *= mult
    if MASKED:
        dot += tl.where(cols[None, :] <= rows[:, None], 0.0, float("-inf"))
    tl.store(l_ptr + bh * n * n + rows[:, None] * n + cols[None, :], dot, mask=(rows[:, None] < n) & (cols[None, :] < n))


@triton.jit
def row_stats(l_ptr, max_ptr, sum_ptr, n, n_rows, EDGE: tl.constexpr, WIDTH: tl.constexpr):
    rows = tl.program_id(0).to(tl.int64) * EDGE + tl.arange(0, EDGE)
    cols = tl.arange(0, WIDTH)
    inside = (rows[:, None] < n_rows) & (cols[None, :] < n)
    x = tl.load(l_ptr + rows[:, None] * n + cols[None, :], mask=inside, other=float("-inf"))
    x = tl.where(rows[:, None] < n_rows, x, 0.0)
    highest = tl.max(x, axis=1)
    total = tl.sum(tl.exp2(x - highest[:, None]), axis=1)
    tl.store(max_ptr + rows, highest, mask=rows < n_rows)
    tl.store(sum_ptr + rows, total, mask=rows < n_rows)


@triton.jit
def mix(
    l_ptr, max_ptr, sum_ptr, v_ptr, y_ptr, n_heads, n, v_b, v_h, v_n, y_b, y_h, y_n, dim,
    EDGE: tl.constexpr, CHUNK: tl.constexpr,
):  # fmt: skip
    """EDGE rows and CHUNK dimensions of the result."""
    bh = tl.program_id(0).to(tl.int64)
    v_ptr += bh // n_heads * v_b + bh % n_heads * v_h
    y_ptr += bh // n_heads * y_b + bh % n_heads * y_h
    rows = tl.program_id(1) * EDGE + tl.arange(0, EDGE).to(tl.int64)
    ch = tl.program_id(2) * CHUNK + tl.arange(0, CHUNK)
    highest = tl.load(max_ptr + bh * n + rows, mask=rows < n, other=0.0)
    total = tl.load(sum_ptr + bh * n + rows, mask=rows < n, other=1.0)
    y = tl.zeros((EDGE, CHUNK), tl.float32)
    at = 0
    while at < n:
        cols = at + tl.arange(0, EDGE).to(tl.int64)
        inside = (rows[:, None] < n) & (cols[None, :] < n)
        x = tl.load(l_ptr + bh * n * n + rows[:, None] * n + cols[None, :], mask=inside, other=float("-inf"))
        p = tl.exp2(x - highest[:, None]) / total[:, None]
        v = tl.load(v_ptr + cols[:, None] * v_n + ch[None, :], mask=(cols[:, None] < n) & (ch[None, :] < dim), other=0.0)
        y = tl.dot(p.to(v.dtype), v, y, input_precision="ieee")
        at += EDGE
    tl.store(y_ptr + rows[:, None] * y_n + ch[None, :], y, mask=(rows[:, None] < n) & (ch[None, :] < dim))


def naive_attention(q, k, v, causal=False):
    batch, n_heads, n, dim = q.shape
    y = torch.empty((batch, n_heads, n, dim), dtype=q.dtype, device=q.device)
    table = torch.empty((batch * n_heads, n, n), dtype=torch.float32, device=q.device)
    highest = torch.empty((batch * n_heads, n), dtype=torch.float32, device=q.device)
    total = torch.empty_like(highest)
    EDGE, CHUNK = 64, 64
    blocks = triton.cdiv(n, EDGE)
    logits[(batch * n_heads, blocks, blocks)](
        q, k, table, n_heads, n, q.stride(0), q.stride(1), q.stride(2), k.stride(0), k.stride(1), k.stride(2),
        math.log2(math.e) / math.sqrt(dim), dim, MASKED=causal, EDGE=EDGE, CHUNK=CHUNK,
    )  # fmt: skip
    n_rows = batch * n_heads * n
    row_stats[(triton.cdiv(n_rows, 8),)](table, highest, total, n, n_rows, EDGE=8, WIDTH=triton.next_power_of_2(n))
    mix[(batch * n_heads, blocks, triton.cdiv(dim, CHUNK))](
        table, highest, total, v, y, n_heads, n,
        v.stride(0), v.stride(1), v.stride(2), y.stride(0), y.stride(1), y.stride(2),
        dim, EDGE=EDGE, CHUNK=CHUNK,
    )  # fmt: skip
    return y
