"""05 Online softmax, written for speed.

The one-kernel form keeps a maximum and a sum for every lane of the tile, and brings them together once a row, not once a
tile. Of the two exponentials in the recurrence one is always exp(0) = 1, so it takes one for each element, and exp2 with
log2(e) folded in, which is a single instruction. Its second pass walks backwards and so begins with what the first pass read
last, which the cache still holds; what it has read and written for the last time is marked as not worth keeping. The split
form also writes backwards, and finds the last rows and chunks in the cache.
"""

import torch
import triton
import triton.language as tl

LOWEST = tl.constexpr(-3.4028234663852886e38)  # the lowest float32: a maximum of nothing that can still be subtracted
LOG2_E = tl.constexpr(1.4426950408889634)  # exp(x) is exp2(x * log2(e))


@triton.jit
def fold(old_max, old_sum, x, weight):
    """For each lane, the pair (maximum, sum of weight · exp(x - maximum)) with one more x and its weight."""
    # The old sum shrinks by exp(old_max - new_max), the new term by exp(x - new_max). Whichever of the two is the maximum
    # has the factor exp(0) = 1, and the other's factor is exp(-|x - old_max|).
    distance = x - old_max
    shrink = tl.exp2(tl.abs(distance) * -LOG2_E)
    new_sum = tl.where(distance > 0, old_sum * shrink + weight, old_sum + weight * shrink)
    return tl.maximum(old_max, x), new_sum


@triton.jit
def online_softmax_kernel(
    x_ptr,
    out_ptr,
    n_cols,
    stride_xm, stride_xn,
    stride_om, stride_on,
    BLOCK_READ: tl.constexpr,
    BLOCK_WRITE: tl.constexpr,
):  # fmt: skip
    """out[row, :] = softmax(x[row, :]); one program per row, BLOCK_READ columns at a time, then BLOCK_WRITE."""
    row = tl.program_id(axis=0).to(tl.int64)

    # Phase 1: each lane has its own maximum and its own sum of exp(x - lane_max) over the columns that it has seen.
    # A lane begins at the lowest number and not at -inf: x - lane_max is then no NaN, and -inf adds exp(-inf) = 0.
    lane_max = tl.full((BLOCK_READ,), LOWEST, dtype=tl.float32)
    lane_sum = tl.zeros((BLOCK_READ,), dtype=tl.float32)
    for start_n in range(0, n_cols, BLOCK_READ):
        offs_n = start_n + tl.arange(0, BLOCK_READ)
        x_ptrs = x_ptr + row * stride_xm + offs_n * stride_xn
        x = tl.load(x_ptrs, mask=offs_n < n_cols, other=-float("inf")).to(tl.float32)
        lane_max, lane_sum = fold(lane_max, lane_sum, x, 1.0)

    # Phase 2: the pair of the row. In a row of nothing but -inf every sum is 0, and the factor inf.
    row_max = tl.max(lane_max, axis=0)
    factor = 1.0 / tl.sum(lane_sum * tl.exp2((lane_max - row_max) * LOG2_E), axis=0)

    # Phase 3: read the row again, last tile first, and write exp(x - row_max) · factor. 0 · inf is NaN, as it should be.
    n_tiles = tl.cdiv(n_cols, BLOCK_WRITE)
    for tile in range(0, n_tiles):
        offs_n = (n_tiles - 1 - tile) * BLOCK_WRITE + tl.arange(0, BLOCK_WRITE)
        mask_n = offs_n < n_cols
        x_ptrs = x_ptr + row * stride_xm + offs_n * stride_xn
        x = tl.load(x_ptrs, mask=mask_n, other=-float("inf"), eviction_policy="evict_first").to(tl.float32)
        out_ptrs = out_ptr + row * stride_om + offs_n * stride_on
        tl.store(out_ptrs, tl.exp2((x - row_max) * LOG2_E) * factor, mask=mask_n, cache_modifier=".cs")


def online_softmax(x: torch.Tensor) -> torch.Tensor:
    """Return softmax(x, dim=1) for x of shape (n_rows, n_cols) and any strides."""
    out = torch.empty_like(x)
    n_rows, n_cols = x.shape
    whole_row = max(128, triton.next_power_of_2(n_cols))
    BLOCK_READ = min(8192, whole_row)
    BLOCK_WRITE = min(16384, whole_row)
    grid = (n_rows,)
    online_softmax_kernel[grid](
        x,
        out,
        n_cols,
        x.stride(0), x.stride(1),
        out.stride(0), out.stride(1),
        BLOCK_READ=BLOCK_READ,
        BLOCK_WRITE=BLOCK_WRITE,
        num_warps=max(1, BLOCK_READ // 256),  # 8 elements for each thread: a wide load of half precision
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
    pid = tl.program_id(axis=0)  # counts the chunks of all rows: another axis of a grid could not hold more than 65,535
    row = (pid // n_chunks).to(tl.int64)
    chunk = pid % n_chunks

    offs_n = chunk * BLOCK_N + tl.arange(0, BLOCK_N)
    x_ptrs = x_ptr + row * stride_xm + offs_n * stride_xn
    x = tl.load(x_ptrs, mask=offs_n < n_cols, other=-float("inf")).to(tl.float32)

    # The pair of this chunk alone; a chunk of nothing but -inf has the lowest number as its maximum, and the sum 0.
    chunk_max = tl.maximum(tl.max(x, axis=0), LOWEST)
    chunk_sum = tl.sum(tl.exp2((x - chunk_max) * LOG2_E), axis=0)
    tl.store(chunk_max_ptr + row * n_chunks + chunk, chunk_max)
    tl.store(chunk_sum_ptr + row * n_chunks + chunk, chunk_sum)


@triton.jit
def reduce_kernel(
    chunk_max_ptr, chunk_sum_ptr,
    row_max_ptr, row_sum_ptr,
    n_chunks,
    BLOCK_C: tl.constexpr,
):  # fmt: skip
    """row_max, row_sum[row] = the pairs of all chunks of the row, brought to one maximum; one program per row."""
    row = tl.program_id(axis=0).to(tl.int64)

    # Phase 1: the pairs of each lane. A chunk is folded in like an element that counts chunk_sum times.
    lane_max = tl.full((BLOCK_C,), LOWEST, dtype=tl.float32)
    lane_sum = tl.zeros((BLOCK_C,), dtype=tl.float32)
    for start_c in range(0, n_chunks, BLOCK_C):
        offs_c = start_c + tl.arange(0, BLOCK_C)
        mask_c = offs_c < n_chunks
        chunk_max = tl.load(chunk_max_ptr + row * n_chunks + offs_c, mask=mask_c, other=LOWEST)
        chunk_sum = tl.load(chunk_sum_ptr + row * n_chunks + offs_c, mask=mask_c, other=0.0)
        lane_max, lane_sum = fold(lane_max, lane_sum, chunk_max, chunk_sum)

    # Phase 2: the pair of the row.
    row_max = tl.max(lane_max, axis=0)
    row_sum = tl.sum(lane_sum * tl.exp2((lane_max - row_max) * LOG2_E), axis=0)
    tl.store(row_max_ptr + row, row_max)
    tl.store(row_sum_ptr + row, row_sum)


@triton.jit
def write_kernel(
    x_ptr, row_max_ptr, row_sum_ptr,
    out_ptr,
    n_cols, n_chunks,
    stride_xm, stride_xn,
    stride_om, stride_on,
    BLOCK_N: tl.constexpr,
):  # fmt: skip
    """out[row, :] = exp(x[row, :] - row_max[row]) / row_sum[row]; one program per row and chunk of BLOCK_N columns."""
    # The last chunk first: partial_kernel has read it last.
    pid = tl.num_programs(axis=0) - 1 - tl.program_id(axis=0)
    row = (pid // n_chunks).to(tl.int64)
    chunk = pid % n_chunks

    row_max = tl.load(row_max_ptr + row)
    factor = 1.0 / tl.load(row_sum_ptr + row)
    offs_n = chunk * BLOCK_N + tl.arange(0, BLOCK_N)
    mask_n = offs_n < n_cols
    x_ptrs = x_ptr + row * stride_xm + offs_n * stride_xn
    x = tl.load(x_ptrs, mask=mask_n, other=-float("inf")).to(tl.float32)
    out_ptrs = out_ptr + row * stride_om + offs_n * stride_on
    tl.store(out_ptrs, tl.exp2((x - row_max) * LOG2_E) * factor, mask=mask_n)


def split_online_softmax(x: torch.Tensor) -> torch.Tensor:
    """Return softmax(x, dim=1) for x of shape (n_rows, n_cols) and any strides; made for few, very long rows."""
    out = torch.empty_like(x)
    n_rows, n_cols = x.shape
    whole_row = max(128, triton.next_power_of_2(n_cols))
    BLOCK_READ = min(4096, whole_row)
    BLOCK_WRITE = min(2048, whole_row)
    n_chunks = triton.cdiv(n_cols, BLOCK_READ)
    n_written = triton.cdiv(n_cols, BLOCK_WRITE)
    chunk_max = torch.empty((n_rows, n_chunks), dtype=torch.float32, device=x.device)
    chunk_sum = torch.empty_like(chunk_max)
    row_max = torch.empty((n_rows,), dtype=torch.float32, device=x.device)
    row_sum = torch.empty_like(row_max)
    partial_kernel[(n_rows * n_chunks,)](
        x,
        chunk_max, chunk_sum,
        n_cols, n_chunks,
        x.stride(0), x.stride(1),
        BLOCK_N=BLOCK_READ,
        num_warps=4,
    )  # fmt: skip
    reduce_kernel[(n_rows,)](
        chunk_max, chunk_sum,
        row_max, row_sum,
        n_chunks,
        BLOCK_C=min(2048, triton.next_power_of_2(n_chunks)),
        num_warps=8,
    )  # fmt: skip
    write_kernel[(n_rows * n_written,)](
        x, row_max, row_sum,
        out,
        n_cols, n_written,
        x.stride(0), x.stride(1),
        out.stride(0), out.stride(1),
        BLOCK_N=BLOCK_WRITE,
        num_warps=4,
    )  # fmt: skip
    return out
