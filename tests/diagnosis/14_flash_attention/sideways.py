"""Attention in one kernel, everything turned over: queries lie side by side, keys and channels run down the tiles."""

import torch
import triton
import triton.language as tl


@triton.jit
def token_rows(base, token, stride, length, dims, n_dims):
    """(tokens, channels), 0 where there is none."""
    return tl.load(
        base + token[:, None] * stride + dims[None, :], mask=(token < length)[:, None] & (dims < n_dims)[None, :], other=0.0
    )


@triton.jit
def sideways_kernel(
    q, k, v, out, heads, length, n_dims, sm_scale,
    q0, q1, q2, k0, k1, k2, v0, v1, v2, o0, o1, o2,
    CAUSAL: tl.constexpr, QUERIES: tl.constexpr, KEYS: tl.constexpr, DIMS: tl.constexpr,
):  # fmt: skip
    pair = tl.program_id(0).to(tl.int64)
    z, h = pair // heads, pair % heads
    first_query = tl.program_id(1) * QUERIES
    query = first_query + tl.arange(0, QUERIES).to(tl.int64)
    dims = tl.arange(0, DIMS)
    qt = tl.trans(token_rows(q + z * q0 + h * q1, query, q2, length, dims, n_dims))  # (DIMS, QUERIES)

    n_tiles = tl.cdiv(length, KEYS)
    if CAUSAL:
        n_tiles = tl.minimum(n_tiles, tl.cdiv(first_query + QUERIES, KEYS))
    rate = sm_scale * 1.4426950408889634
    top = tl.full((QUERIES,), float("-inf"), tl.float32)
    weight_sum = tl.zeros((QUERIES,), tl.float32)
    mix = tl.zeros((DIMS, QUERIES), tl.float32)
    for tile in range(n_tiles):
        key = tile * KEYS + tl.arange(0, KEYS).to(tl.int64)
        kr = token_rows(k + z * k0 + h * k1, key, k2, length, dims, n_dims)
        vr = token_rows(v + z * v0 + h * v1, key, v2, length, dims, n_dims)
        s = tl.dot(kr, qt, input_precision="ieee") * rate  # (KEYS, QUERIES)
        hidden = key[:, None] >= length
        if CAUSAL:
            hidden = hidden | (key[:, None] > query[None, :])
        s = tl.where(hidden, float("-inf"), s)
        new_top = tl.maximum(top, tl.max(s, axis=0))
        w = tl.exp2(s - new_top[None, :])
        fix = tl.exp2(top - new_top)
        weight_sum = weight_sum * fix + tl.sum(w, axis=0)
        mix = mix * fix[None, :]
        mix += tl.dot(tl.trans(vr), w.to(vr.dtype), input_precision="ieee")
        top = new_top

    result = tl.trans(mix / weight_sum[None, :])
    tl.store(
        out + z * o0 + h * o1 + query[:, None] * o2 + dims[None, :],
        result.to(out.dtype.element_ty),
        mask=(query < length)[:, None] & (dims < n_dims)[None, :],
    )


def flash_attention(q, k, v, causal=False):
    batch, heads, length, n_dims = q.shape
    out = torch.empty((batch, heads, length, n_dims), dtype=q.dtype, device=q.device)
    DIMS = max(16, triton.next_power_of_2(n_dims))
    QUERIES, KEYS = (64, 32) if DIMS <= 128 else (32, 16)
    sideways_kernel[(batch * heads, triton.cdiv(length, QUERIES))](
        q, k, v, out, heads, length, n_dims, n_dims**-0.5,
        *q.stride()[:3], *k.stride()[:3], *v.stride()[:3], *out.stride()[:3],
        CAUSAL=causal, QUERIES=QUERIES, KEYS=KEYS, DIMS=DIMS,
    )  # fmt: skip
    return out
