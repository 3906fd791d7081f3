"""12 Residual and RMS normalisation, fused: a sum that two consumers need is made once and never read back."""

import torch
import triton
import triton.language as tl


@triton.jit
def fused_residual_rmsnorm_kernel(
    x_ptr, residual_ptr, weight_ptr,
    out_ptr, h_ptr,
    n_cols,
    stride_xm, stride_xn,
    stride_rm, stride_rn,
    stride_om, stride_on,
    stride_hm, stride_hn,
    eps,
    BLOCK_N: tl.constexpr,
):  # fmt: skip
    """h = x + residual; out[row, :] = h / sqrt(mean(h²) + eps) * weight; one program per row, which fits in one tile."""
    row = tl.program_id(axis=0).to(tl.int64)
    offs_n = tl.arange(0, BLOCK_N)
    mask_n = offs_n < n_cols

    # Phase 1: the sum of both rows is in registers as float32.
    x_ptrs = x_ptr + row * stride_xm + offs_n * stride_xn
    x = tl.load(x_ptrs, mask=mask_n, other=0.0).to(tl.float32)
    residual_ptrs = residual_ptr + row * stride_rm + offs_n * stride_rn
    residual = tl.load(residual_ptrs, mask=mask_n, other=0.0).to(tl.float32)
    h = x + residual

    # Phase 2: memory has its copy of the sum.
    # The store rounds what it writes, not h: the registers still hold all digits, and nothing has to be read back.
    h_ptrs = h_ptr + row * stride_hm + offs_n * stride_hn
    tl.store(h_ptrs, h, mask=mask_n)

    # Phase 3: the other output is the normalised sum, rounded once, by the store.
    mean_square = tl.sum(h * h, axis=0) / n_cols
    rrms = tl.rsqrt(mean_square + eps)
    weight = tl.load(weight_ptr + offs_n, mask=mask_n, other=0.0).to(tl.float32)
    out_ptrs = out_ptr + row * stride_om + offs_n * stride_on
    tl.store(out_ptrs, h * rrms * weight, mask=mask_n)


def fused_residual_rmsnorm(
    x: torch.Tensor, residual: torch.Tensor, weight: torch.Tensor, eps: float = 1e-6
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return (rms_norm(x + residual), x + residual) for inputs of shape (n_rows, n_cols), any strides, n_cols <= 65,536."""
    output = torch.empty_like(x)
    residual_out = torch.empty_like(x)
    n_rows, n_cols = x.shape
    BLOCK_N = triton.next_power_of_2(n_cols)
    grid = (n_rows,)
    fused_residual_rmsnorm_kernel[grid](
        x, residual, weight,
        output, residual_out,
        n_cols,
        x.stride(0), x.stride(1),
        residual.stride(0), residual.stride(1),
        output.stride(0), output.stride(1),
        residual_out.stride(0), residual_out.stride(1),
        eps,
        BLOCK_N=BLOCK_N,
        num_warps=min(max(BLOCK_N // 1024, 1), 16),  # 32 elements for each thread, until threads run out
    )  # fmt: skip
    return output, residual_out
