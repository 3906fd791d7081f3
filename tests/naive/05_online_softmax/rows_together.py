"""32 rows to a program, few columns of each at a time; and a long row is not split at all.

`online_softmax` on 1024 rows has 32 programs, far fewer than there are processors, and each waits for its tile and then for
two reductions, with nothing else on its way. `split_online_softmax` on 16 rows has one program.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def online_softmax_kernel(
    x_ptr,
    out_ptr,
    n_rows, n_cols,
    stride_xm, stride_xn,
    stride_om, stride_on,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):  # fmt: skip
    offs_m = tl.program_id(axis=0).to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
    mask_m = offs_m[:, None] < n_rows

    row_max = tl.full((BLOCK_M,), -float("inf"), dtype=tl.float32)
    row_sum = tl.zeros((BLOCK_M,), dtype=tl.float32)
    for start_n in range(0, n_cols, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N)[None, :]
        x_ptrs = x_ptr + offs_m[:, None] * stride_xm + offs_n * stride_xn
        x = tl.load(x_ptrs, mask=mask_m & (offs_n < n_cols), other=-float("inf")).to(tl.float32)
        new_max = tl.maximum(row_max, tl.max(x, axis=1))
        shift = tl.where(new_max == -float("inf"), 0.0, new_max)
        row_sum = row_sum * tl.exp(row_max - shift) + tl.sum(tl.exp(x - shift[:, None]), axis=1)
        row_max = new_max

    for start_n in range(0, n_cols, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N)[None, :]
        mask = mask_m & (offs_n < n_cols)
        x_ptrs = x_ptr + offs_m[:, None] * stride_xm + offs_n * stride_xn
        x = tl.load(x_ptrs, mask=mask, other=-float("inf")).to(tl.float32)
        out_ptrs = out_ptr + offs_m[:, None] * stride_om + offs_n * stride_on
        tl.store(out_ptrs, tl.exp(x - row_max[:, None]) / row_sum[:, None], mask=mask)


def online_softmax(x):
    out = torch.empty_like(x)
    n_rows, n_cols = x.shape
    online_softmax_kernel[(triton.cdiv(n_rows, 32),)](
        x,
        out,
        n_rows, n_cols,
        x.stride(0), x.stride(1),
        out.stride(0), out.stride(1),
        BLOCK_M=32, BLOCK_N=512,
        num_warps=8,
    )  # fmt: skip
    return out


def split_online_softmax(x):
    return online_softmax(x)
