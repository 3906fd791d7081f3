"""05 Online softmax: one pass finds the maximum and the sum together, so a row may be longer than any tile."""

import torch
import triton
import triton.language as tl


@triton.jit
def online_softmax_kernel(
    x_ptr,
    out_ptr,
    n_cols,
    stride_xm, stride_xn,
    stride_om, stride_on,
    BLOCK_N: tl.constexpr,
):  # fmt: skip
    """out[row, :] = softmax(x[row, :]); one program per row, BLOCK_N columns at a time."""
    row = tl.program_id(axis=0).to(tl.int64)

    # Phase 1: after each tile, row_sum is the sum of exp(x - row_max) over all columns seen so far.
    row_max = -float("inf")
    row_sum = 0.0
    for start_n in range(0, n_cols, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N)
        # TODO(1): fold this tile of the row, as float32, into row_max and row_sum; columns past n_cols must not count.
        pass

    # Phase 2: read the row again and write exp(x - row_max) / row_sum.
    for start_n in range(0, n_cols, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N)
        # TODO(2): write exp(x - row_max) / row_sum for the columns that exist.
        pass


def online_softmax(x: torch.Tensor) -> torch.Tensor:
    """Return softmax(x, dim=1) for x of shape (n_rows, n_cols) and any strides."""
    out = torch.empty_like(x)
    n_rows, n_cols = x.shape
    grid = (n_rows,)
    online_softmax_kernel[grid](
        x,
        out,
        n_cols,
        x.stride(0), x.stride(1),
        out.stride(0), out.stride(1),
        BLOCK_N=4096,
    )  # fmt: skip
    return out


@triton.jit
def partial_kernel(
    x_ptr,
    chunk_max_ptr, chunk_sum_ptr,
    n_cols, n_chunks,
    stride_xm, stride_xn,
    BLOCK_N: tl.constexpr,
):  # fmt: skip
    """chunk_max, chunk_sum[row, chunk] = max x, sum exp(x - max); one program per row and chunk of BLOCK_N columns."""
    row = tl.program_id(axis=0).to(tl.int64)
    chunk = tl.program_id(axis=1)

    offs_n = chunk * BLOCK_N + tl.arange(0, BLOCK_N)
    # TODO(3): store the maximum of this chunk, and its sum of exponentials relative to that maximum.
    pass


@triton.jit
def reduce_kernel(
    chunk_max_ptr, chunk_sum_ptr,
    row_max_ptr, row_sum_ptr,
    n_chunks,
    BLOCK_C: tl.constexpr,
):  # fmt: skip
    """row_max, row_sum[row] = the pairs of all chunks of the row, brought to one maximum; one program per row."""
    row = tl.program_id(axis=0).to(tl.int64)

    offs_c = tl.arange(0, BLOCK_C)
    mask_c = offs_c < n_chunks
    chunk_max = tl.load(chunk_max_ptr + row * n_chunks + offs_c, mask=mask_c, other=-float("inf"))
    chunk_sum = tl.load(chunk_sum_ptr + row * n_chunks + offs_c, mask=mask_c, other=0.0)

    # TODO(4): bring all sums of the row to one maximum, add them, store the row's pair.
    pass


@triton.jit
def write_kernel(
    x_ptr, row_max_ptr, row_sum_ptr,
    out_ptr,
    n_cols,
    stride_xm, stride_xn,
    stride_om, stride_on,
    BLOCK_N: tl.constexpr,
):  # fmt: skip
    """out[row, :] = exp(x[row, :] - row_max[row]) / row_sum[row]; one program per row and chunk of BLOCK_N columns."""
    row = tl.program_id(axis=0).to(tl.int64)
    chunk = tl.program_id(axis=1)

    row_max = tl.load(row_max_ptr + row)
    row_sum = tl.load(row_sum_ptr + row)
    offs_n = chunk * BLOCK_N + tl.arange(0, BLOCK_N)
    # TODO(5): as TODO(2), for the columns of one chunk.
    pass


def split_online_softmax(x: torch.Tensor) -> torch.Tensor:
    """Return softmax(x, dim=1) for x of shape (n_rows, n_cols) and any strides; made for few, very long rows."""
    out = torch.empty_like(x)
    n_rows, n_cols = x.shape
    BLOCK_N = 4096
    n_chunks = triton.cdiv(n_cols, BLOCK_N)
    chunk_max = torch.empty((n_rows, n_chunks), dtype=torch.float32, device=x.device)
    chunk_sum = torch.empty_like(chunk_max)
    row_max = torch.empty((n_rows,), dtype=torch.float32, device=x.device)
    row_sum = torch.empty_like(row_max)
    partial_kernel[(n_rows, n_chunks)](
        x,
        chunk_max, chunk_sum,
        n_cols, n_chunks,
        x.stride(0), x.stride(1),
        BLOCK_N=BLOCK_N,
    )  # fmt: skip
    reduce_kernel[(n_rows,)](
        chunk_max, chunk_sum,
        row_max, row_sum,
        n_chunks,
        BLOCK_C=triton.next_power_of_2(n_chunks),
    )  # fmt: skip
    write_kernel[(n_rows, n_chunks)](
        x, row_max, row_sum,
        out,
        n_cols,
        x.stride(0), x.stride(1),
        out.stride(0), out.stride(1),
        BLOCK_N=BLOCK_N,
    )  # fmt: skip
    return out
