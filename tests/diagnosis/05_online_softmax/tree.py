"""The old sum is touched only where the maximum moves; split: pairs are merged two and two, launch after launch."""

import torch
import triton
import triton.language as tl


@triton.jit
def gauge_kernel(src, dst, n_cols, src_i, src_j, dst_i, dst_j, SPAN: tl.constexpr):
    i = tl.program_id(0).to(tl.int64)
    src += i * src_i
    dst += i * dst_i
    top = float("-inf")
    mass = 0.0
    at = 0
    while at < n_cols:
        j = at + tl.arange(0, SPAN)
        v = tl.load(src + j * src_j, mask=j < n_cols, other=float("-inf")).to(tl.float32)
        high = tl.max(v, axis=0)
        if high > top:
            mass *= tl.exp(top - high)
            top = high
        if high > float("-inf"):
            mass += tl.sum(tl.exp(v - top), axis=0)
        at += SPAN
    # Back to the front: what was read last may still be in the cache.
    while at > 0:
        at -= SPAN
        j = at + tl.arange(0, SPAN)
        v = tl.load(src + j * src_j, mask=j < n_cols, other=float("-inf")).to(tl.float32)
        tl.store(dst + j * dst_j, tl.exp(v - top) / mass, mask=j < n_cols)


def online_softmax(x: torch.Tensor) -> torch.Tensor:
    n_rows, n_cols = x.shape
    y = torch.empty_like(x)
    gauge_kernel[(n_rows,)](x, y, n_cols, *x.stride(), *y.stride(), SPAN=2048, num_warps=8)
    return y


@triton.jit
def leaf_kernel(src, tops, masses, n_cols, src_i, src_j, SPAN: tl.constexpr):
    leaf = tl.program_id(0)
    i = tl.program_id(1).to(tl.int64)
    j = leaf * SPAN + tl.arange(0, SPAN)
    v = tl.load(src + i * src_i + j * src_j, mask=j < n_cols, other=float("-inf")).to(tl.float32)
    top = tl.max(v, axis=0)
    mass = 0.0
    if top > float("-inf"):
        mass = tl.sum(tl.exp(v - top), axis=0)
    tl.store(tops + i * tl.num_programs(0) + leaf, top)
    tl.store(masses + i * tl.num_programs(0) + leaf, mass)


@triton.jit
def join_kernel(tops, masses, new_tops, new_masses, count):
    k = tl.program_id(0)
    i = tl.program_id(1)
    left = i * count + 2 * k
    paired = 2 * k + 1 < count
    left_top = tl.load(tops + left)
    left_mass = tl.load(masses + left)
    right_top = tl.load(tops + left + 1, mask=paired, other=float("-inf"))
    right_mass = tl.load(masses + left + 1, mask=paired, other=0.0)
    top = tl.maximum(left_top, right_top)
    zero = tl.where(top > float("-inf"), top, 0.0)
    mass = left_mass * tl.exp(left_top - zero) + right_mass * tl.exp(right_top - zero)
    tl.store(new_tops + i * tl.num_programs(0) + k, top)
    tl.store(new_masses + i * tl.num_programs(0) + k, mass)


@triton.jit
def leaf_out_kernel(src, tops, masses, dst, n_cols, src_i, src_j, dst_i, dst_j, SPAN: tl.constexpr):
    i = tl.program_id(1).to(tl.int64)
    j = tl.program_id(0) * SPAN + tl.arange(0, SPAN)
    v = tl.load(src + i * src_i + j * src_j, mask=j < n_cols, other=0.0).to(tl.float32)
    shares = tl.exp(v - tl.load(tops + i)) / tl.load(masses + i)
    tl.store(dst + i * dst_i + j * dst_j, shares, mask=j < n_cols)


def split_online_softmax(x: torch.Tensor) -> torch.Tensor:
    n_rows, n_cols = x.shape
    y = torch.empty_like(x)
    SPAN = 4096
    leaves = triton.cdiv(n_cols, SPAN)
    tops = torch.empty((n_rows, leaves), dtype=torch.float32, device=x.device)
    masses = torch.empty((n_rows, leaves), dtype=torch.float32, device=x.device)
    leaf_kernel[(leaves, n_rows)](x, tops, masses, n_cols, *x.stride(), SPAN=SPAN)
    count = leaves
    while count > 1:
        half = triton.cdiv(count, 2)
        new_tops = torch.empty((n_rows, half), dtype=torch.float32, device=x.device)
        new_masses = torch.empty((n_rows, half), dtype=torch.float32, device=x.device)
        join_kernel[(half, n_rows)](tops, masses, new_tops, new_masses, count)
        tops, masses, count = new_tops, new_masses, half
    leaf_out_kernel[(leaves, n_rows)](x, tops, masses, y, n_cols, *x.stride(), *y.stride(), SPAN=SPAN)
    return y
