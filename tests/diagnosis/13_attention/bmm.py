"""Attention as one would write it in PyTorch: a batched matrix product, a masked softmax, and the same product again."""

import torch
import triton
import triton.language as tl


@triton.jit
def bmm_kernel(
    a_ptr, b_ptr, c_ptr,
    H, M, N, K, alpha,
    sab, sah, sam, sak,
    sbb, sbh, sbk, sbn,
    scb, sch, scm, scn,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """c = alpha * a @ b, for every head of every batch."""
    pid_z = tl.program_id(0).to(tl.int64)
    off_b = pid_z // H
    off_h = pid_z % H
    a_ptr += off_b * sab + off_h * sah
    b_ptr += off_b * sbb + off_h * sbh
    c_ptr += off_b * scb + off_h * sch

    num_n = tl.cdiv(N, BLOCK_N)
    rm = (tl.program_id(1) // num_n * BLOCK_M + tl.arange(0, BLOCK_M)).to(tl.int64)
    rn = (tl.program_id(1) % num_n * BLOCK_N + tl.arange(0, BLOCK_N)).to(tl.int64)
    rk = tl.arange(0, BLOCK_K).to(tl.int64)
    a_ptrs = a_ptr + rm[:, None] * sam + rk[None, :] * sak
    b_ptrs = b_ptr + rk[:, None] * sbk + rn[None, :] * sbn
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BLOCK_K)):
        left = K - k * BLOCK_K
        a = tl.load(a_ptrs, mask=(rm[:, None] < M) & (rk[None, :] < left), other=0.0)
        b = tl.load(b_ptrs, mask=(rk[:, None] < left) & (rn[None, :] < N), other=0.0)
        acc += tl.dot(a.to(b.dtype), b, input_precision="ieee")
        a_ptrs += BLOCK_K * sak
        b_ptrs += BLOCK_K * sbk
    c = (acc * alpha).to(c_ptr.dtype.element_ty)
    tl.store(c_ptr + rm[:, None] * scm + rn[None, :] * scn, c, mask=(rm[:, None] < M) & (rn[None, :] < N))


@triton.jit
def masked_softmax_kernel(s_ptr, L, CAUSAL: tl.constexpr, BLOCK: tl.constexpr):
    """In place, one row in each program."""
    row = tl.program_id(0).to(tl.int64)
    col = tl.arange(0, BLOCK)
    s = tl.load(s_ptr + row * L + col, mask=col < L, other=-float("inf"))
    if CAUSAL:
        s = tl.where(row % L >= col, s, -float("inf"))
    e = tl.exp(s - tl.max(s, axis=0))
    p = e / tl.sum(e, axis=0)
    tl.store(s_ptr + row * L + col, p, mask=col < L)


def bmm(a, b, c, alpha):
    """a, b and c have four dimensions."""
    B, H, M, K = a.shape
    N = b.shape[-1]
    BLOCK_M, BLOCK_N, BLOCK_K = 64, 64, 32
    grid = (B * H, triton.cdiv(M, BLOCK_M) * triton.cdiv(N, BLOCK_N))
    bmm_kernel[grid](
        a, b, c, H, M, N, K, alpha, *a.stride(), *b.stride(), *c.stride(),
        BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, BLOCK_K=BLOCK_K,
    )  # fmt: skip


def naive_attention(q, k, v, causal=False):
    B, H, L, D = q.shape
    scores = torch.empty((B, H, L, L), dtype=torch.float32, device=q.device)
    out = torch.empty((B, H, L, D), dtype=q.dtype, device=q.device)
    bmm(q, k.transpose(-2, -1), scores, D**-0.5)
    masked_softmax_kernel[(B * H * L,)](scores, L, CAUSAL=causal, BLOCK=triton.next_power_of_2(L))
    bmm(scores, v, out, 1.0)
    return out
