"""Each lane keeps a maximum and a sum of its own, and the lanes meet after the loop; split: pairs lie side by side."""

import torch
import triton
import triton.language as tl


@triton.jit
def harmless(top):
    """What may be subtracted: the maximum, or 0 where there is none yet."""
    return tl.where(top == float("-inf"), 0.0, top)


@triton.jit
def lanes_kernel(src, dst, width, src_i, src_j, dst_i, dst_j, N: tl.constexpr):
    i = tl.program_id(0).to(tl.int64)
    lane = tl.arange(0, N)
    tops = tl.full((N,), float("-inf"), tl.float32)
    sums = tl.zeros((N,), tl.float32)
    for at in range(0, width, N):
        j = at + lane
        v = tl.load(src + i * src_i + j * src_j, j < width, float("-inf")).to(tl.float32)
        higher = tl.maximum(tops, v)
        zero = harmless(higher)
        sums = sums * tl.exp(tops - zero) + tl.exp(v - zero)
        tops = higher
    top = tl.max(tops, axis=0)
    total = tl.sum(sums * tl.exp(tops - harmless(top)), axis=0)
    for at in range(0, width, N):
        j = at + lane
        v = tl.load(src + i * src_i + j * src_j, j < width, float("-inf")).to(tl.float32)
        e = tl.exp(v - top)
        tl.store(dst + i * dst_i + j * dst_j, e / total, j < width)


def online_softmax(x: torch.Tensor) -> torch.Tensor:
    y = torch.empty_like(x)
    lanes_kernel[(x.shape[0],)](x, y, x.shape[1], *x.stride(), *y.stride(), N=1024, num_warps=4)
    return y


@triton.jit
def measure_kernel(src, pairs, width, src_i, src_j, N: tl.constexpr):
    i, piece = tl.program_id(1).to(tl.int64), tl.program_id(0)
    j = piece * N + tl.arange(0, N)
    v = tl.load(src + i * src_i + j * src_j, j < width, float("-inf")).to(tl.float32)
    top = tl.max(v, axis=0)
    pair = pairs + (i * tl.num_programs(0) + piece) * 2
    tl.store(pair, top)
    tl.store(pair + 1, tl.sum(tl.exp(v - harmless(top)), axis=0))


@triton.jit
def agree_kernel(pairs, agreed, pieces):
    i = tl.program_id(0)
    top = float("-inf")
    for piece in range(pieces):
        top = tl.maximum(top, tl.load(pairs + (i * pieces + piece) * 2))
    total = 0.0
    for piece in range(pieces):
        pair = pairs + (i * pieces + piece) * 2
        total += tl.load(pair + 1) * tl.exp(tl.load(pair) - harmless(top))
    tl.store(agreed + i * 2, top)
    tl.store(agreed + i * 2 + 1, total)


@triton.jit
def share_kernel(src, agreed, dst, width, src_i, src_j, dst_i, dst_j, N: tl.constexpr):
    i = tl.program_id(1).to(tl.int64)
    j = tl.program_id(0) * N + tl.arange(0, N)
    v = tl.load(src + i * src_i + j * src_j, j < width, float("-inf")).to(tl.float32)
    e = tl.exp(v - tl.load(agreed + i * 2))
    tl.store(dst + i * dst_i + j * dst_j, e / tl.load(agreed + i * 2 + 1), j < width)


def split_online_softmax(x: torch.Tensor) -> torch.Tensor:
    height, width = x.shape
    pieces = triton.cdiv(width, 2048)
    pairs = torch.empty((height, pieces, 2), dtype=torch.float32, device=x.device)
    agreed = torch.empty((height, 2), dtype=torch.float32, device=x.device)
    y = torch.empty_like(x)
    measure_kernel[(pieces, height)](x, pairs, width, *x.stride(), N=2048)
    agree_kernel[(height,)](pairs, agreed, pieces)
    share_kernel[(pieces, height)](x, agreed, y, width, *x.stride(), *y.stride(), N=2048)
    return y
