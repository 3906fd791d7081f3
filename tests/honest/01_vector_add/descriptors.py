"""Reads through tensor descriptors, which check bounds by themselves; plain masks where a descriptor may not begin."""

import torch
import triton
import triton.language as tl


@triton.jit
def descriptor_kernel(x_ptr, y_ptr, out_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    start = tl.program_id(axis=0) * BLOCK_SIZE
    x_desc = tl.make_tensor_descriptor(x_ptr, shape=[n_elements], strides=[1], block_shape=[BLOCK_SIZE])
    y_desc = tl.make_tensor_descriptor(y_ptr, shape=[n_elements], strides=[1], block_shape=[BLOCK_SIZE])
    out_desc = tl.make_tensor_descriptor(out_ptr, shape=[n_elements], strides=[1], block_shape=[BLOCK_SIZE])
    out_desc.store([start], x_desc.load([start]) + y_desc.load([start]))


@triton.jit
def masked_kernel(x_ptr, y_ptr, out_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    offs = tl.program_id(axis=0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offs < n_elements
    tl.store(out_ptr + offs, tl.load(x_ptr + offs, mask=mask) + tl.load(y_ptr + offs, mask=mask), mask=mask)


def vector_add(x, y):
    triton.set_allocator(lambda size, alignment, stream: torch.empty(size, dtype=torch.int8, device=x.device))
    out = torch.empty_like(x)
    # A descriptor begins at 16 bytes, and a GPU with TMA stores through it in pieces of 16 bytes, also past the end.
    in_pieces = all(number % 16 == 0 for number in (x.data_ptr(), y.data_ptr(), x.numel() * x.element_size()))
    kernel = descriptor_kernel if in_pieces else masked_kernel
    kernel[(triton.cdiv(x.numel(), 512),)](x, y, out, x.numel(), BLOCK_SIZE=512)
    return out
