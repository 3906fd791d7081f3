"""Flash attention with block pointers that are advanced from tile to tile."""

import torch
import triton
import triton.language as tl


@triton.jit
def attn_fwd(
    q_ptr, k_ptr, v_ptr, y_ptr,
    n_heads, ctx,
    sqz, sqh, sqm, skz, skh, skn, svz, svh, svn, syz, syh, sym,
    qk_scale,
    hdim: tl.constexpr, causal: tl.constexpr,
    TILE_Q: tl.constexpr, TILE_K: tl.constexpr, TILE_D: tl.constexpr,
):  # fmt: skip
    z = tl.program_id(0).to(tl.int64) // n_heads
    head = tl.program_id(0).to(tl.int64) % n_heads
    first_q = tl.program_id(1) * TILE_Q
    q_block = tl.make_block_ptr(q_ptr + z * sqz + head * sqh, (ctx, hdim), (sqm, 1), (first_q, 0), (TILE_Q, TILE_D), (1, 0))
    k_block = tl.make_block_ptr(k_ptr + z * skz + head * skh, (hdim, ctx), (1, skn), (0, 0), (TILE_D, TILE_K), (0, 1))
    v_block = tl.make_block_ptr(v_ptr + z * svz + head * svh, (ctx, hdim), (svn, 1), (0, 0), (TILE_K, TILE_D), (1, 0))
    y_block = tl.make_block_ptr(y_ptr + z * syz + head * syh, (ctx, hdim), (sym, 1), (first_q, 0), (TILE_Q, TILE_D), (1, 0))

    q = tl.load(q_block, boundary_check=(0, 1), padding_option="zero")
    iq = first_q + tl.arange(0, TILE_Q)
    biggest = tl.zeros((TILE_Q,), tl.float32) - float("inf")
    norm = tl.zeros((TILE_Q,), tl.float32)
    y = tl.zeros((TILE_Q, TILE_D), tl.float32)
    last_k = ctx
    if causal:
        last_k = tl.minimum(ctx, first_q + TILE_Q)
    for first_k in range(0, last_k, TILE_K):
        ik = first_k + tl.arange(0, TILE_K)
        k = tl.load(k_block, boundary_check=(0, 1), padding_option="zero")
        qk = tl.dot(q, k, input_precision="ieee") * qk_scale
        qk += tl.where(ik < ctx, 0.0, -float("inf"))[None, :]
        if causal:
            qk += tl.where(iq[:, None] >= ik[None, :], 0.0, -float("inf"))
        bigger = tl.maximum(biggest, tl.max(qk, 1))
        old = tl.math.exp2(biggest - bigger) * norm
        p = tl.math.exp2(qk - bigger[:, None])
        norm = old + tl.sum(p, 1)
        v = tl.load(v_block, boundary_check=(0, 1), padding_option="zero")
        y = y * (old / norm)[:, None]
        share = tl.dot(p.to(v.dtype), v, input_precision="ieee")
        y = y + share / norm[:, None]
        biggest = bigger
        k_block = tl.advance(k_block, (0, TILE_K))
        v_block = tl.advance(v_block, (TILE_K, 0))
    tl.store(y_block, y.to(y_ptr.dtype.element_ty), boundary_check=(0, 1))


def flash_attention(q, k, v, causal=False):
    z, n_heads, ctx, hdim = q.shape
    y = torch.empty((z, n_heads, ctx, hdim), dtype=q.dtype, device=q.device)
    TILE_D = max(16, triton.next_power_of_2(hdim))
    TILE = 64 if TILE_D <= 64 else 32
    attn_fwd[(z * n_heads, triton.cdiv(ctx, TILE))](
        q, k, v, y,
        n_heads, ctx,
        *q.stride()[:3], *k.stride()[:3], *v.stride()[:3], *y.stride()[:3],
        hdim**-0.5 * 1.4426950408889634,
        hdim=hdim, causal=causal, TILE_Q=TILE, TILE_K=TILE, TILE_D=TILE_D,
    )  # fmt: skip
    return y
