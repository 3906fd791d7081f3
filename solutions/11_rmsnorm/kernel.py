"""11 RMS normalisation: one reduction, and every step from the squares to the weight in float32, whatever the dtype."""

import torch
import triton
import triton.language as tl


@triton.jit
def rmsnorm_kernel(
    x_ptr, weight_ptr,
    out_ptr,
    n_cols,
    stride_xm, stride_xn,
    stride_om, stride_on,
    eps,
    BLOCK_N: tl.constexpr,
):  # fmt: skip
    """out[row, :] = x[row, :] / sqrt(mean(x[row, :]²) + eps) * weight; one program per row, which fits in one tile."""
    row = tl.program_id(axis=0).to(tl.int64)
    offs_n = tl.arange(0, BLOCK_N)
    mask_n = offs_n < n_cols

    # Phase 1: the row is in registers as float32.
    x_ptrs = x_ptr + row * stride_xm + offs_n * stride_xn
    x = tl.load(x_ptrs, mask=mask_n, other=0.0).to(tl.float32)

    # Phase 2: one factor for the whole row is known.
    # float16 ends at 65,504, so the square of 256 is no float16; it is a float32. Padding adds 0 to the sum.
    mean_square = tl.sum(x * x, axis=0) / n_cols
    rrms = tl.rsqrt(mean_square + eps)  # eps inside the root: a row of zeros gives zeros, not NaN

    # Phase 3: the row leaves its registers, scaled in float32, and is rounded once, by the store.
    weight = tl.load(weight_ptr + offs_n, mask=mask_n, other=0.0).to(tl.float32)
    out_ptrs = out_ptr + row * stride_om + offs_n * stride_on
    tl.store(out_ptrs, x * rrms * weight, mask=mask_n)


def rmsnorm(x: torch.Tensor, weight: torch.Tensor, eps: float = 1e-6) -> torch.Tensor:
    """Return rms_norm(x) over dim 1, for x of shape (n_rows, n_cols) and any strides, n_cols at most 65,536."""
    out = torch.empty_like(x)
    n_rows, n_cols = x.shape
    BLOCK_N = triton.next_power_of_2(n_cols)
    grid = (n_rows,)
    rmsnorm_kernel[grid](
        x, weight,
        out,
        n_cols,
        x.stride(0), x.stride(1),
        out.stride(0), out.stride(1),
        eps,
        BLOCK_N=BLOCK_N,
        num_warps=min(max(BLOCK_N // 512, 1), 16),  # 16 elements for each thread, until threads run out
    )  # fmt: skip
    return out
