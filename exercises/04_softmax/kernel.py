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
    # TODO(1): load the row as float32; lanes past n_cols must take no part in its softmax.
    pass

    # Phase 2: the softmax of the tile is written where the row has columns.
    # TODO(2): write the softmax of x, with the function of the language, to the columns that exist.
    pass


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
    # TODO(3): as TODO(1).
    pass

    # Phase 2: the row's maximum, its exponentials relative to that, and their sum.
    # TODO(4): make row_max, numerator and row_sum; however large the values of x are, nothing may overflow.
    pass

    # Phase 3: the quotient is written where the row has columns.
    # TODO(5): write numerator / row_sum to the columns that exist.
    pass


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
