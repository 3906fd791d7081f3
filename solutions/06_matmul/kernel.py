"""06 Matrix multiplication: one program owns a tile of the result and walks along K, one `tl.dot` per step."""

import torch
import triton
import triton.language as tl


@triton.jit
def matmul_kernel(
    a_ptr, b_ptr,
    out_ptr,
    M, N, K,
    stride_am, stride_ak,
    stride_bk, stride_bn,
    stride_om, stride_on,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """out[m, n] = sum over k of a[m, k] * b[k, n]; one program per tile of BLOCK_M rows and BLOCK_N columns of out."""
    pid_m = tl.program_id(axis=0).to(tl.int64)
    pid_n = tl.program_id(axis=1).to(tl.int64)

    # Phase 1: the rows and columns of out that this program owns, and which of them exist.
    offs_m = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    mask_m = offs_m < M
    mask_n = offs_n < N

    # Phase 2: after each step, acc is the product over all k seen so far, in float32 whatever the inputs are.
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start_k in range(0, K, BLOCK_K):
        offs_k = start_k + tl.arange(0, BLOCK_K).to(tl.int64)  # int64: k * stride_bk passes 2**31 in a large b
        mask_k = offs_k < K
        a_ptrs = a_ptr + offs_m[:, None] * stride_am + offs_k[None, :] * stride_ak  # (BLOCK_M, BLOCK_K)
        b_ptrs = b_ptr + offs_k[:, None] * stride_bk + offs_n[None, :] * stride_bn  # (BLOCK_K, BLOCK_N)
        # Past the end of K both tiles are 0: a 0 on one side alone would not silence a NaN on the other.
        a = tl.load(a_ptrs, mask=mask_m[:, None] & mask_k[None, :], other=0.0)
        b = tl.load(b_ptrs, mask=mask_k[:, None] & mask_n[None, :], other=0.0)
        # The operands stay in their own dtype, which is what tensor cores take; "ieee" matters for float32 alone.
        acc = tl.dot(a, b, acc, input_precision="ieee")

    # Phase 3: one cast to the dtype of out, at the store.
    out_ptrs = out_ptr + offs_m[:, None] * stride_om + offs_n[None, :] * stride_on  # (BLOCK_M, BLOCK_N)
    tl.store(out_ptrs, acc, mask=mask_m[:, None] & mask_n[None, :])


def matmul(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Return a @ b, for a of shape (M, K) and b of shape (K, N), of one dtype and any strides."""
    M, K = a.shape
    N = b.shape[1]
    out = torch.empty((M, N), dtype=a.dtype, device=a.device)
    BLOCK_M, BLOCK_N = 128, 128
    BLOCK_K = 128 // a.element_size()  # 128 bytes along K: 64 half-precision numbers or 32 float32
    grid = (triton.cdiv(M, BLOCK_M), triton.cdiv(N, BLOCK_N))  # rounded up: the last tiles may be ragged
    matmul_kernel[grid](
        a, b,
        out,
        M, N, K,
        a.stride(0), a.stride(1),
        b.stride(0), b.stride(1),
        out.stride(0), out.stride(1),
        BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, BLOCK_K=BLOCK_K,
        num_warps=8, num_stages=3,
    )  # fmt: skip
    return out
