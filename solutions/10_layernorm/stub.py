"""10 Layer normalisation: a row stays in registers while two reductions run over it, the second on the first's result."""

import torch
import triton
import triton.language as tl


@triton.jit
def layernorm_kernel(
    x_ptr, weight_ptr, bias_ptr,
    out_ptr,
    n_cols,
    stride_xm, stride_xn,
    stride_om, stride_on,
    eps,
    BLOCK_N: tl.constexpr,
):  # fmt: skip
    """out[row, :] = (x[row, :] - mean) / sqrt(var + eps) * weight + bias; one program per row, which fits in one tile."""
    row = tl.program_id(axis=0).to(tl.int64)
    offs_n = tl.arange(0, BLOCK_N)
    mask_n = offs_n < n_cols

    # Phase 1: the row is in registers as float32, and its mean is known.
    # TODO(1): have this program's row as float32, and its mean over the n_cols columns that exist.
    pass

    # Phase 2: the row is centred, and one over its standard deviation is known.
    # TODO(2): have x - mean, and from it 1 / sqrt(var + eps); columns past n_cols must not count here either.
    pass

    # Phase 3: the row leaves its registers, scaled and shifted in float32, and is rounded once, by the store.
    # TODO(3): write the normalised row, times weight, plus bias, for the columns that exist.
    pass


def layernorm(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, eps: float = 1e-5) -> torch.Tensor:
    """Return layer_norm(x) over dim 1, for x of shape (n_rows, n_cols) and any strides, n_cols at most 65,536."""
    out = torch.empty_like(x)
    n_rows, n_cols = x.shape
    BLOCK_N = triton.next_power_of_2(n_cols)
    grid = (n_rows,)
    layernorm_kernel[grid](
        x, weight, bias,
        out,
        n_cols,
        x.stride(0), x.stride(1),
        out.stride(0), out.stride(1),
        eps,
        BLOCK_N=BLOCK_N,
        num_warps=min(max(BLOCK_N // 1024, 1), 16),  # 32 elements for each thread, until threads run out
    )  # fmt: skip
    return out
