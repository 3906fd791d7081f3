"""Attention in two stages: first the tiles of keys that need no mask, then those on the edge; both call one step."""

import torch
import triton
import triton.language as tl

LOG2E = tl.constexpr(1.4426950408889634)


@triton.jit
def step(query, k_base, v_base, keys, length, row_k, row_v, dims, n_dims, top, total, mixed, factor, rows,
         EDGE: tl.constexpr, CAUSAL: tl.constexpr):  # fmt: skip
    """Add one tile of keys to (top, total, mixed)."""
    real = keys < length
    k = tl.load(k_base + keys[:, None] * row_k + dims[None, :], mask=real[:, None] & (dims < n_dims)[None, :], other=0.0)
    logits = tl.dot(query, k.T, input_precision="ieee") * factor
    if EDGE:
        hidden = (keys >= length)[None, :]
        if CAUSAL:
            hidden = hidden | (keys[None, :] > rows[:, None])
        logits = tl.where(hidden, -float("inf"), logits)
    higher = tl.maximum(top, tl.max(logits, axis=1))
    decay = tl.exp2(top - higher)
    weight = tl.exp2(logits - higher[:, None])
    v = tl.load(v_base + keys[:, None] * row_v + dims[None, :], mask=real[:, None] & (dims < n_dims)[None, :], other=0.0)
    mixed = mixed * decay[:, None] + tl.dot(weight.to(v.dtype), v, input_precision="ieee")
    total = total * decay + tl.sum(weight, axis=1)
    return higher, total, mixed


@triton.jit
def attention_in_stages(
    q, k, v, result, heads, length, tiles,
    q0, q1, q2, k0, k1, k2, v0, v1, v2, r0, r1, r2,
    factor, n_dims,
    CAUSAL: tl.constexpr, TQ: tl.constexpr, TK: tl.constexpr, TD: tl.constexpr,
):  # fmt: skip
    which = tl.program_id(0).to(tl.int64)
    tile = which % tiles
    batch = which // tiles // heads
    head = which // tiles % heads
    rows = tile * TQ + tl.arange(0, TQ)
    dims = tl.arange(0, TD)
    box = (rows < length)[:, None] & (dims < n_dims)[None, :]
    query = tl.load(q + batch * q0 + head * q1 + rows[:, None] * q2 + dims[None, :], mask=box, other=0.0)
    k_base = k + batch * k0 + head * k1
    v_base = v + batch * v0 + head * v1

    factor = factor * LOG2E
    top = tl.full((TQ,), -float("inf"), tl.float32)
    total = tl.zeros((TQ,), tl.float32)
    mixed = tl.zeros((TQ, TD), tl.float32)
    if CAUSAL:
        free = tile * TQ // TK * TK
        end = tl.minimum((tile + 1) * TQ, length)
    else:
        free = length // TK * TK
        end = length
    span = tl.arange(0, TK)
    for at in range(0, free, TK):
        top, total, mixed = step(query, k_base, v_base, at + span.to(tl.int64), length, k2, v2, dims, n_dims,
                                 top, total, mixed, factor, rows, False, CAUSAL)  # fmt: skip
    for at in range(free, end, TK):
        top, total, mixed = step(query, k_base, v_base, at + span.to(tl.int64), length, k2, v2, dims, n_dims,
                                 top, total, mixed, factor, rows, True, CAUSAL)  # fmt: skip
    mixed = mixed * (1.0 / total)[:, None]
    tl.store(result + batch * r0 + head * r1 + rows[:, None] * r2 + dims[None, :], mixed, mask=box)


def flash_attention(q, k, v, causal=False):
    batches, heads, length, n_dims = q.shape
    result = torch.empty((batches, heads, length, n_dims), dtype=q.dtype, device=q.device)
    TD = max(16, triton.next_power_of_2(n_dims))
    TQ, TK = (128, 32) if TD <= 64 else (64, 16)
    tiles = triton.cdiv(length, TQ)
    attention_in_stages[(batches * heads * tiles,)](
        q, k, v, result, heads, length, tiles,
        q.stride(0), q.stride(1), q.stride(2), k.stride(0), k.stride(1), k.stride(2),
        v.stride(0), v.stride(1), v.stride(2), result.stride(0), result.stride(1), result.stride(2),
        n_dims**-0.5, n_dims,
        CAUSAL=causal, TQ=TQ, TK=TK, TD=TD, num_warps=8,
    )  # fmt: skip
    return result
