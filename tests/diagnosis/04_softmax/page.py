"""Runs of neighbouring rows for `softmax`; in `stable_softmax` a row lies in lines of 128, like text on a page."""

import torch
import triton
import triton.language as tl


@triton.jit
def run_kernel(x, y, n_rows, n_cols, per_run, x_down, x_right, y_down, y_right, LENGTH: tl.constexpr):
    col = tl.arange(0, LENGTH)
    row = tl.program_id(0).to(tl.int64) * per_run
    stop = tl.minimum(row + per_run, n_rows)
    while row < stop:
        text = tl.load(x + row * x_down + col * x_right, mask=col < n_cols, other=float("-inf"))
        tl.store(y + row * y_down + col * y_right, tl.softmax(text.to(tl.float32)), mask=col < n_cols)
        row += 1


def softmax(x: torch.Tensor) -> torch.Tensor:
    n_rows, n_cols = x.shape
    y = torch.empty_like(x)
    per_run = triton.cdiv(n_rows, 256)
    runs = triton.cdiv(n_rows, per_run)
    length = triton.next_power_of_2(n_cols)
    run_kernel[(runs,)](x, y, n_rows, n_cols, per_run, *x.stride(), *y.stride(), LENGTH=length, num_warps=8)
    return y


@triton.jit
def page_kernel(x, y, n_cols, x_down, x_right, y_down, y_right, LINES: tl.constexpr, SIGNS: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, LINES)[:, None] * SIGNS + tl.arange(0, SIGNS)[None, :]
    page = tl.load(x + row * x_down + at * x_right, mask=at < n_cols, other=float("-inf")).to(tl.float32)
    highest_of_lines = tl.max(page, axis=1)
    highest = tl.max(highest_of_lines, axis=0)
    page = tl.exp(page - highest)
    weight_of_lines = tl.sum(page, axis=1)
    weight = tl.sum(weight_of_lines, axis=0)
    tl.store(y + row * y_down + at * y_right, page / weight, mask=at < n_cols)


def stable_softmax(x: torch.Tensor) -> torch.Tensor:
    n_rows, n_cols = x.shape
    y = torch.empty_like(x)
    lines = triton.next_power_of_2(triton.cdiv(n_cols, 128))
    page_kernel[(n_rows,)](x, y, n_cols, *x.stride(), *y.stride(), LINES=lines, SIGNS=128, num_warps=8)
    return y
