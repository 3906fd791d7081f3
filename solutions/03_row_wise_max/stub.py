"""03 Row-wise max: the same walk as a sum, but what does not exist must be neutral for a maximum."""

import torch
import triton
import triton.language as tl


@triton.jit
def row_wise_max_kernel(
    x_ptr,
    out_ptr,
    n_cols,
    stride_xm, stride_xn,
    BLOCK_N: tl.constexpr,
):  # fmt: skip
    """out[row] = maximum of x[row, :]; one program per row, BLOCK_N columns at a time."""
    row = tl.program_id(axis=0).to(tl.int64)  # int64: row * stride_xm may pass 2**31

    # Phase 1: after each tile, lane i of partial is the maximum of columns i, i + BLOCK_N, i + 2 * BLOCK_N and so on.
    # TODO(1): make partial, a float32 block of BLOCK_N lanes, what it must be before any column was seen.
    pass
    for start_n in range(0, n_cols, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N)
        # TODO(2): fold this tile of the row, as float32, into partial; columns past n_cols must not count.
        pass

    # Phase 2: the lanes meet. float32 holds every float16 and bfloat16 value, so nothing is rounded anywhere.
    # TODO(3): store the maximum of the row.
    pass


def row_wise_max(x: torch.Tensor) -> torch.Tensor:
    """Return x.amax(dim=1) for x of shape (n_rows, n_cols) and any strides."""
    n_rows, n_cols = x.shape
    out = torch.empty((n_rows,), dtype=x.dtype, device=x.device)
    grid = (n_rows,)
    row_wise_max_kernel[grid](
        x,
        out,
        n_cols,
        x.stride(0), x.stride(1),
        BLOCK_N=4096,
        num_warps=32,  # 1024 threads, the most there can be: each loads 4 neighbours, 16 bytes, of every tile
    )  # fmt: skip
    return out
