"""Flash attention that calculates in float32 from the loads on, with pointers that move along the keys."""

import torch
import triton
import triton.language as tl


@triton.jit
def fwd_kernel(
    Q, K, V, O_ptr, H, N_CTX, D, qk_scale,
    stride_qz, stride_qh, stride_qm,
    stride_kz, stride_kh, stride_kn,
    stride_vz, stride_vh, stride_vn,
    stride_oz, stride_oh, stride_om,
    CAUSAL: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_DMODEL: tl.constexpr,
):  # fmt: skip
    off_hz = tl.program_id(0).to(tl.int64)
    start_m = tl.program_id(1)
    off_z = off_hz // H
    off_h = off_hz % H

    offs_m = start_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.arange(0, BLOCK_N)
    offs_d = tl.arange(0, BLOCK_DMODEL)
    d_ok = offs_d < D
    q_ptrs = Q + off_z * stride_qz + off_h * stride_qh + offs_m.to(tl.int64)[:, None] * stride_qm + offs_d[None, :]
    k_ptrs = K + off_z * stride_kz + off_h * stride_kh + offs_n.to(tl.int64)[None, :] * stride_kn + offs_d[:, None]
    v_ptrs = V + off_z * stride_vz + off_h * stride_vh + offs_n.to(tl.int64)[:, None] * stride_vn + offs_d[None, :]
    o_ptrs = O_ptr + off_z * stride_oz + off_h * stride_oh + offs_m.to(tl.int64)[:, None] * stride_om + offs_d[None, :]

    m_i = tl.zeros((BLOCK_M,), dtype=tl.float32) - float("inf")
    l_i = tl.zeros((BLOCK_M,), dtype=tl.float32) + 1.0  # the first alpha is 0 and takes the 1 out again
    acc = tl.zeros((BLOCK_M, BLOCK_DMODEL), dtype=tl.float32)

    # the queries are float32 now, so they can carry the scale
    q = tl.load(q_ptrs, mask=(offs_m < N_CTX)[:, None] & d_ok[None, :], other=0.0).to(tl.float32)
    q = q * qk_scale

    hi = N_CTX
    if CAUSAL:
        hi = tl.minimum((start_m + 1) * BLOCK_M, N_CTX)
    for start_n in range(0, hi, BLOCK_N):
        cols = start_n + offs_n
        n_ok = cols < N_CTX
        k = tl.load(k_ptrs, mask=d_ok[:, None] & n_ok[None, :], other=0.0).to(tl.float32)
        qk = tl.dot(q, k, input_precision="ieee")
        if CAUSAL:
            qk = tl.where((offs_m[:, None] >= cols[None, :]) & n_ok[None, :], qk, float("-inf"))
        else:
            qk = tl.where(n_ok[None, :], qk, float("-inf"))
        m_ij = tl.maximum(m_i, tl.max(qk, 1))
        p = tl.math.exp2(qk - m_ij[:, None])
        l_ij = tl.sum(p, 1)
        alpha = tl.math.exp2(m_i - m_ij)
        l_i = l_i * alpha + l_ij
        acc = acc * alpha[:, None]
        v = tl.load(v_ptrs, mask=n_ok[:, None] & d_ok[None, :], other=0.0).to(tl.float32)
        acc += tl.dot(p, v, input_precision="ieee")
        m_i = m_ij
        k_ptrs += BLOCK_N * stride_kn
        v_ptrs += BLOCK_N * stride_vn

    acc = acc / l_i[:, None]
    tl.store(o_ptrs, acc.to(O_ptr.dtype.element_ty), mask=(offs_m < N_CTX)[:, None] & d_ok[None, :])


def flash_attention(q, k, v, causal=False):
    Z, H, N_CTX, D = q.shape
    o = torch.empty((Z, H, N_CTX, D), dtype=q.dtype, device=q.device)
    BLOCK_DMODEL = max(16, triton.next_power_of_2(D))
    BLOCK_M = 128 if BLOCK_DMODEL <= 32 else 32
    BLOCK_N = 32 if BLOCK_DMODEL <= 128 else 16
    sm_scale = D**-0.5
    fwd_kernel[(Z * H, triton.cdiv(N_CTX, BLOCK_M))](
        q, k, v, o, H, N_CTX, D, sm_scale * 1.44269504,
        q.stride(0), q.stride(1), q.stride(2),
        k.stride(0), k.stride(1), k.stride(2),
        v.stride(0), v.stride(1), v.stride(2),
        o.stride(0), o.stride(1), o.stride(2),
        CAUSAL=causal, BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, BLOCK_DMODEL=BLOCK_DMODEL,
        num_warps=4, num_stages=1,
    )  # fmt: skip
    return o
