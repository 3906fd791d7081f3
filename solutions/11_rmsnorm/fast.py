"""11 RMS normalisation, written for speed.

A program owns several rows and not one: more loads are on their way before the first sum needs them, and the weight is read
once for all of these rows. Rows of more than 4,096 columns fill a program's registers alone.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def rmsnorm_kernel(
    x_ptr, weight_ptr,
    out_ptr,
    n_rows, n_cols,
    stride_xm, stride_xn,
    stride_om, stride_on,
    eps,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):  # fmt: skip
    """out[row, :] = x[row, :] / sqrt(mean(x[row, :]²) + eps) * weight; one program for BLOCK_M rows."""
    offs_m = tl.program_id(axis=0).to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.arange(0, BLOCK_N)
    mask_n = offs_n < n_cols
    mask = (offs_m < n_rows)[:, None] & mask_n[None, :]

    # Phase 1: the rows are in registers as float32.
    x_ptrs = x_ptr + offs_m[:, None] * stride_xm + offs_n[None, :] * stride_xn
    x = tl.load(x_ptrs, mask=mask, other=0.0).to(tl.float32)  # (BLOCK_M, BLOCK_N)

    # Phase 2: one factor for each row is known. A row that does not exist has the factor of a row of zeros.
    mean_square = tl.sum(x * x, axis=1) / n_cols
    rrms = tl.rsqrt(mean_square + eps)  # (BLOCK_M,)

    # Phase 3: the rows leave their registers, scaled in float32, and are rounded once, by the store.
    weight = tl.load(weight_ptr + offs_n, mask=mask_n, other=0.0).to(tl.float32)
    out_ptrs = out_ptr + offs_m[:, None] * stride_om + offs_n[None, :] * stride_on
    tl.store(out_ptrs, x * rrms[:, None] * weight[None, :], mask=mask)


def rmsnorm(x: torch.Tensor, weight: torch.Tensor, eps: float = 1e-6) -> torch.Tensor:
    """Return rms_norm(x) over dim 1, for x of shape (n_rows, n_cols) and any strides, n_cols at most 65,536."""
    out = torch.empty_like(x)
    n_rows, n_cols = x.shape
    BLOCK_N = triton.next_power_of_2(n_cols)
    BLOCK_M = 4 if BLOCK_N <= 4096 else 1
    grid = (triton.cdiv(n_rows, BLOCK_M),)
    rmsnorm_kernel[grid](
        x, weight,
        out,
        n_rows, n_cols,
        x.stride(0), x.stride(1),
        out.stride(0), out.stride(1),
        eps,
        BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N,
        num_warps=min(max(BLOCK_M * BLOCK_N // 1024, 1), 16),  # 32 elements for each thread, until threads run out
    )  # fmt: skip
    return out
