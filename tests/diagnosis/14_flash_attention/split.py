"""Attention for wide heads: lower and upper half of the dimensions lie in tiles of their own, also in the result."""

import math

import torch
import triton
import triton.language as tl


@triton.jit
def load_part(rows, dims, n_dims, real):
    """Some dimensions of some tokens; `rows` are pointers to where the tokens begin."""
    return tl.load(rows[:, None] + dims[None, :], mask=real[:, None] & (dims < n_dims)[None, :], other=0.0)


@triton.jit
def split_attention(
    q, k, v, y, n_heads, n_tokens, n_dims, sharpness,
    q_b, q_h, q_t, k_b, k_h, k_t, v_b, v_h, v_t, y_b, y_h, y_t,
    CAUSAL: tl.constexpr, BQ: tl.constexpr, BK: tl.constexpr, HALF: tl.constexpr,
):  # fmt: skip
    head = tl.program_id(0).to(tl.int64)
    b = head // n_heads
    h = head % n_heads
    first = tl.program_id(1) * BQ
    query = (first + tl.arange(0, BQ)).to(tl.int64)
    lower = tl.arange(0, HALF)
    upper = HALF + lower
    q_rows = q + b * q_b + h * q_h + query * q_t
    q_lower = load_part(q_rows, lower, n_dims, query < n_tokens)
    q_upper = load_part(q_rows, upper, n_dims, query < n_tokens)

    n_keys = n_tokens
    if CAUSAL:
        n_keys = tl.minimum(n_tokens, first + BQ)
    n_steps = tl.cdiv(n_keys, BK)
    key = tl.arange(0, BK).to(tl.int64)
    k_rows = k + b * k_b + h * k_h + key * k_t
    v_rows = v + b * v_b + h * v_h + key * v_t
    best = tl.full((BQ,), float("-inf"), tl.float32)  # of the scores as they are, not scaled
    weight = tl.zeros((BQ,), tl.float32)
    y_lower = tl.zeros((BQ, HALF), tl.float32)
    y_upper = tl.zeros((BQ, HALF), tl.float32)
    for _ in range(n_steps):
        k_lower = load_part(k_rows, lower, n_dims, key < n_tokens)
        k_upper = load_part(k_rows, upper, n_dims, key < n_tokens)
        s = tl.dot(q_lower, tl.trans(k_lower), input_precision="ieee")
        s = tl.dot(q_upper, tl.trans(k_upper), s, input_precision="ieee")
        if CAUSAL:
            s = tl.where((key[None, :] <= query[:, None]) & (key < n_tokens)[None, :], s, float("-inf"))
        else:
            s = tl.where((key < n_tokens)[None, :], s, float("-inf"))

        new_best = tl.maximum(best, tl.max(s, axis=1))
        faded = tl.exp2((best - new_best) * sharpness)
        p = tl.exp2((s - new_best[:, None]) * sharpness)
        v_lower = load_part(v_rows, lower, n_dims, key < n_tokens)
        v_upper = load_part(v_rows, upper, n_dims, key < n_tokens)
        p_cast = p.to(v_lower.dtype)
        y_lower = tl.dot(p_cast, v_lower, y_lower * faded[:, None], input_precision="ieee")
        y_upper = tl.dot(p_cast, v_upper, y_upper * faded[:, None], input_precision="ieee")
        weight = weight * faded + tl.sum(p, axis=1)
        best = new_best
        key += BK
        k_rows += BK * k_t
        v_rows += BK * v_t

    y_rows = (y + b * y_b + h * y_h + query * y_t)[:, None]
    real = (query < n_tokens)[:, None]
    tl.store(y_rows + lower[None, :], y_lower / weight[:, None], mask=real & (lower < n_dims)[None, :])
    tl.store(y_rows + upper[None, :], y_upper / weight[:, None], mask=real & (upper < n_dims)[None, :])


def flash_attention(q, k, v, causal=False):
    batch, n_heads, n_tokens, n_dims = q.shape
    y = torch.empty((batch, n_heads, n_tokens, n_dims), dtype=q.dtype, device=q.device)
    HALF = max(16, triton.next_power_of_2(n_dims) // 2)
    BQ, BK = (128, 64) if HALF <= 32 else (32, 32)
    split_attention[(batch * n_heads, triton.cdiv(n_tokens, BQ))](
        q, k, v, y, n_heads, n_tokens, n_dims, math.log2(math.e) / math.sqrt(n_dims),
        *q.stride()[:3], *k.stride()[:3], *v.stride()[:3], *y.stride()[:3],
        CAUSAL=causal, BQ=BQ, BK=BK, HALF=HALF, num_warps=8,
    )  # fmt: skip
    return y
