"""04 Softmax: a whole row in one tile, two reductions over it, and no overflow on the way."""

import torch
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(
    x_ptr,
    out_ptr,
    n_cols,
    stride_xm, stride_xn,
    stride_om, stride_on,
    BLOCK_N: tl.constexpr,
):  # fmt: skip
    """out[row, :] = softmax(x[row, :]), by the function of the language; one program per row, BLOCK_N >= n_cols."""
    row = tl.program_id(axis=0).to(tl.int64)  # int64: row * stride_xm may pass 2**31

    # Phase 1: the whole row is in the tile x.
    offs_n = tl.arange(0, BLOCK_N)
    mask_n = offs_n < n_cols
    # Lanes past the row's end hold -inf: never the maximum, and 0 after exp.
    x_ptrs = x_ptr + row * stride_xm + offs_n * stride_xn
    x = tl.load(x_ptrs, mask=mask_n, other=-float("inf")).to(tl.float32)

    # Phase 2: the softmax of the tile is written where the row has columns.
    out_ptrs = out_ptr + row * stride_om + offs_n * stride_on
    tl.store(out_ptrs, tl.softmax(x), mask=mask_n)


def softmax(x: torch.Tensor) -> torch.Tensor:
    """Return softmax(x, dim=1) for x of shape (n_rows, n_cols) and any strides, with up to 65,536 columns."""
    out = torch.empty_like(x)
    n_rows, n_cols = x.shape
    grid = (n_rows,)
    BLOCK_N = triton.next_power_of_2(n_cols)  # a tile's length is a power of two; the row may be shorter
    softmax_kernel[grid](
        x,
        out,
        n_cols,
        x.stride(0), x.stride(1),
        out.stride(0), out.stride(1),
        BLOCK_N=BLOCK_N,
        num_warps=min(max(BLOCK_N // 512, 1), 32),  # 16 elements per thread, while there are threads enough
    )  # fmt: skip
    return out


@triton.jit
def stable_softmax_kernel(
    x_ptr,
    out_ptr,
    n_cols,
    stride_xm, stride_xn,
    stride_om, stride_on,
    BLOCK_N: tl.constexpr,
):  # fmt: skip
    """out[row, :] = exp(x[row, :] - max) / sum, written by hand; one program per row, BLOCK_N >= n_cols."""
    row = tl.program_id(axis=0).to(tl.int64)

    # Phase 1: the whole row is in the tile x, as before.
    offs_n = tl.arange(0, BLOCK_N)
    mask_n = offs_n < n_cols
    # Lanes past the row's end hold -inf: never the maximum, and 0 after exp.
    x_ptrs = x_ptr + row * stride_xm + offs_n * stride_xn
    x = tl.load(x_ptrs, mask=mask_n, other=-float("inf")).to(tl.float32)

    # Phase 2: the row's maximum, its exponentials relative to that, and their sum.
    # No exponential is above 1, so none overflows; one of them is 1, so the sum is never 0.
    row_max = tl.max(x, axis=0)
    numerator = tl.exp(x - row_max)
    row_sum = tl.sum(numerator, axis=0)

    # Phase 3: the quotient is written where the row has columns.
    out_ptrs = out_ptr + row * stride_om + offs_n * stride_on
    tl.store(out_ptrs, numerator / row_sum, mask=mask_n)


def stable_softmax(x: torch.Tensor) -> torch.Tensor:
    """Return softmax(x, dim=1) for x of shape (n_rows, n_cols) and any strides, with up to 65,536 columns."""
    out = torch.empty_like(x)
    n_rows, n_cols = x.shape
    grid = (n_rows,)
    BLOCK_N = triton.next_power_of_2(n_cols)
    stable_softmax_kernel[grid](
        x,
        out,
        n_cols,
        x.stride(0), x.stride(1),
        out.stride(0), out.stride(1),
        BLOCK_N=BLOCK_N,
        num_warps=min(max(BLOCK_N // 512, 1), 32),
    )  # fmt: skip
    return out
