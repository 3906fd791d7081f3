"""Residual and RMS normalisation of pairs of rows, each in two tiles: its left half and what is right of that."""

import torch
import triton
import triton.language as tl


@triton.jit
def take(ptr, r, c, sr, sc, ok):
    return tl.load(ptr + r * sr + c * sc, mask=ok, other=0.0).to(tl.float32)


@triton.jit
def put(ptr, r, c, sr, sc, value, ok):
    tl.store(ptr + r * sr + c * sc, value, mask=ok)


@triton.jit
def two_halves(
    new_ptr, old_ptr, gain_ptr, normed_ptr, stream_ptr, height, width,
    new_r, new_c, old_r, old_c, normed_r, normed_c, stream_r, stream_c, eps,
    PAIR: tl.constexpr, HALF: tl.constexpr,
):  # fmt: skip
    r = tl.program_id(0).to(tl.int64) * PAIR + tl.arange(0, PAIR)[:, None]
    left = tl.arange(0, HALF)[None, :]
    right = HALF + left
    left_ok = (r < height) & (left < width)
    right_ok = (r < height) & (right < width)

    left_new = take(new_ptr, r, left, new_r, new_c, left_ok)
    right_new = take(new_ptr, r, right, new_r, new_c, right_ok)
    left_sum = left_new + take(old_ptr, r, left, old_r, old_c, left_ok)
    right_sum = right_new + take(old_ptr, r, right, old_r, old_c, right_ok)
    power = tl.sum(left_sum * left_sum + right_sum * right_sum, axis=1)
    shrink = (1.0 / tl.sqrt(power / width + eps))[:, None]

    put(stream_ptr, r, left, stream_r, stream_c, left_sum, left_ok)
    put(stream_ptr, r, right, stream_r, stream_c, right_sum, right_ok)
    left_sum *= tl.load(gain_ptr + left, mask=left < width, other=0.0).to(tl.float32) * shrink
    right_sum *= tl.load(gain_ptr + right, mask=right < width, other=0.0).to(tl.float32) * shrink
    put(normed_ptr, r, left, normed_r, normed_c, left_sum, left_ok)
    put(normed_ptr, r, right, normed_r, normed_c, right_sum, right_ok)


def fused_residual_rmsnorm(x, residual, weight, eps=1e-6):
    height, width = x.shape
    normed, stream = (torch.empty((height, width), dtype=x.dtype, device=x.device) for _ in range(2))
    HALF = max(1, triton.next_power_of_2(width) // 2)
    PAIR = 2 if HALF <= 2048 else 1
    two_halves[(triton.cdiv(height, PAIR),)](
        x, residual, weight, normed, stream, height, width,
        *x.stride(), *residual.stride(), *normed.stride(), *stream.stride(), eps, PAIR=PAIR, HALF=HALF, num_warps=8,
    )  # fmt: skip
    return normed, stream
