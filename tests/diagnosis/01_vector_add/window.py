"""Block pointers, which check the end of the tensors by themselves."""

import torch
import triton
import triton.language as tl


@triton.jit
def window(ptr, total, start, LENGTH: tl.constexpr):
    return tl.make_block_ptr(ptr, shape=(total,), strides=(1,), offsets=(start,), block_shape=(LENGTH,), order=(0,))


@triton.jit
def window_kernel(first, second, result, total, LENGTH: tl.constexpr):
    start = tl.program_id(axis=0) * LENGTH
    a = tl.load(window(first, total, start, LENGTH), boundary_check=(0,), padding_option="zero")
    b = tl.load(window(second, total, start, LENGTH), boundary_check=(0,), padding_option="zero")
    tl.store(window(result, total, start, LENGTH), a + b, boundary_check=(0,))


def vector_add(x, y):
    result = torch.empty_like(x)
    total = x.numel()
    LENGTH = 512
    window_kernel[(triton.cdiv(total, LENGTH),)](x, y, result, total, LENGTH=LENGTH, num_warps=4)
    return result
