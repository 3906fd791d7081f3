"""03 Row-wise max, written for speed.

One word more than the reference solution: each load says that its values are not worth keeping. Nobody reads them again, and
a cache that may forget them first has less to do. On an H200 that is worth 1 to 2 %, which is all that was left.
"""

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
    # The maximum of no columns is -inf: max(-inf, v) is v for every v, as 0 + v is v in a sum.
    partial = tl.full((BLOCK_N,), -float("inf"), dtype=tl.float32)
    for start_n in range(0, n_cols, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N)
        x_ptrs = x_ptr + row * stride_xm + offs_n * stride_xn
        x = tl.load(x_ptrs, mask=offs_n < n_cols, other=-float("inf"), eviction_policy="evict_first")
        partial = tl.maximum(partial, x.to(tl.float32))

    # Phase 2: the lanes meet. float32 holds every float16 and bfloat16 value, so nothing is rounded anywhere.
    row_max = tl.max(partial, axis=0)
    tl.store(out_ptr + row, row_max)


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
