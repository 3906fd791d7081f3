"""Several rows per program in a two-dimensional tile, powers of two; the split form has two kernels."""

import torch
import triton
import triton.language as tl

LOG2E = tl.constexpr(1.4426950408889634)


@triton.jit
def rows_kernel(src, dst, n_rows, n_cols, src_r, src_c, dst_r, dst_c, R: tl.constexpr, C: tl.constexpr):
    r = tl.program_id(0).to(tl.int64) * R + tl.arange(0, R)
    live = r < n_rows
    m = tl.full((R,), float("-inf"), tl.float32)
    s = tl.zeros((R,), tl.float32)
    begin = 0
    while begin < n_cols:
        c = begin + tl.arange(0, C)
        keep = live[:, None] & (c[None, :] < n_cols)
        t = tl.load(src + r[:, None] * src_r + c[None, :] * src_c, mask=keep, other=float("-inf"))
        t = t.to(tl.float32) * LOG2E
        top = tl.maximum(m, tl.max(t, axis=1))
        ref = tl.where(top == float("-inf"), 0.0, top)
        s = s * tl.exp2(m - ref) + tl.sum(tl.exp2(t - ref[:, None]), axis=1)
        m = top
        begin += C
    inverse = 1.0 / s
    begin = 0
    while begin < n_cols:
        c = begin + tl.arange(0, C)
        keep = live[:, None] & (c[None, :] < n_cols)
        t = tl.load(src + r[:, None] * src_r + c[None, :] * src_c, mask=keep, other=0.0)
        p = tl.exp2(t.to(tl.float32) * LOG2E - m[:, None]) * inverse[:, None]
        tl.store(dst + r[:, None] * dst_r + c[None, :] * dst_c, p, mask=keep)
        begin += C


def online_softmax(x):
    n_rows, n_cols = x.shape
    y = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    rows_kernel[(triton.cdiv(n_rows, 4),)](x, y, n_rows, n_cols, *x.stride(), *y.stride(), R=4, C=1024)
    return y


@triton.jit
def stats_kernel(src, stats, n_rows, n_cols, n_parts, src_r, src_c, C: tl.constexpr):
    part = tl.program_id(0)
    r = tl.program_id(1).to(tl.int64)
    c = part * C + tl.arange(0, C)
    t = tl.load(src + r * src_r + c * src_c, mask=c < n_cols, other=float("-inf")).to(tl.float32) * LOG2E
    m = tl.max(t, axis=0)
    ref = tl.where(m == float("-inf"), 0.0, m)
    where = stats + r * n_parts + part
    tl.store(where, m)
    tl.store(where + n_rows * n_parts, tl.sum(tl.exp2(t - ref), axis=0))


@triton.jit
def finish_kernel(src, stats, dst, n_rows, n_cols, n_parts, src_r, src_c, dst_r, dst_c, C: tl.constexpr, P: tl.constexpr):
    part = tl.program_id(0)
    r = tl.program_id(1).to(tl.int64)
    k = tl.arange(0, P)
    maxima = tl.load(stats + r * n_parts + k, mask=k < n_parts, other=float("-inf"))
    sums = tl.load(stats + (n_rows + r) * n_parts + k, mask=k < n_parts, other=0.0)
    m = tl.max(maxima, axis=0)
    ref = tl.where(m == float("-inf"), 0.0, m)
    s = tl.sum(sums * tl.exp2(maxima - ref), axis=0)
    c = part * C + tl.arange(0, C)
    t = tl.load(src + r * src_r + c * src_c, mask=c < n_cols, other=0.0).to(tl.float32) * LOG2E
    tl.store(dst + r * dst_r + c * dst_c, tl.exp2(t - m) / s, mask=c < n_cols)


def split_online_softmax(x):
    n_rows, n_cols = x.shape
    n_parts = triton.cdiv(n_cols, 2048)
    stats = torch.empty((2, n_rows, n_parts), dtype=torch.float32, device=x.device)
    y = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    grid = (n_parts, n_rows)
    stats_kernel[grid](x, stats, n_rows, n_cols, n_parts, *x.stride(), C=2048)
    finish_kernel[grid](
        x, stats, y, n_rows, n_cols, n_parts, *x.stride(), *y.stride(), C=2048, P=triton.next_power_of_2(n_parts)
    )
    return y
