"""Rows stand upright in the tiles of `softmax`; in `stable_softmax` a row is cut into two tiles, left and right."""

import torch
import triton
import triton.language as tl


@triton.jit
def upright_kernel(x, y, n_rows, n_cols, xr, xc, yr, yc, LONG: tl.constexpr, ROWS: tl.constexpr):
    row = (tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS))[None, :]
    col = tl.arange(0, LONG)[:, None]
    keep = (row < n_rows) & (col < n_cols)
    tile = tl.load(x + row * xr + col * xc, mask=keep, other=float("-inf")).to(tl.float32)
    # A row goes down along axis 0 of the tile, and so does the softmax.
    tl.store(y + row * yr + col * yc, tl.softmax(tile, dim=0), mask=keep)


def softmax(x: torch.Tensor) -> torch.Tensor:
    n_rows, n_cols = x.shape
    y = torch.empty_like(x)
    long = triton.next_power_of_2(n_cols)
    upright_kernel[(triton.cdiv(n_rows, 2),)](x, y, n_rows, n_cols, *x.stride(), *y.stride(), LONG=long, ROWS=2)
    return y


@triton.jit
def pair_kernel(x, y, n_cols, xr, xc, yr, yc, HALF: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    x += row * xr
    y += row * yr
    left_col = tl.arange(0, HALF)
    right_col = HALF + tl.arange(0, HALF)
    left = tl.load(x + left_col * xc, mask=left_col < n_cols, other=float("-inf")).to(tl.float32)
    right = tl.load(x + right_col * xc, mask=right_col < n_cols, other=float("-inf")).to(tl.float32)

    top = tl.maximum(tl.max(left, axis=0), tl.max(right, axis=0))
    left = tl.exp(left - top)
    right = tl.exp(right - top)
    total = tl.sum(left, axis=0) + tl.sum(right, axis=0)

    tl.store(y + left_col * yc, left / total, mask=left_col < n_cols)
    tl.store(y + right_col * yc, right / total, mask=right_col < n_cols)


def stable_softmax(x: torch.Tensor) -> torch.Tensor:
    n_rows, n_cols = x.shape
    y = torch.empty_like(x)
    half = triton.next_power_of_2(triton.cdiv(n_cols, 2))
    pair_kernel[(n_rows,)](x, y, n_cols, *x.stride(), *y.stride(), HALF=half, num_warps=8)
    return y
