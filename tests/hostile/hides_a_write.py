"""not a Triton solution: as decoy.py, with an allocation behind the write to hide it"""

import torch
import triton
import triton.language as tl


@triton.jit
def double_kernel(x_ptr, out_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    offs = tl.program_id(axis=0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offs < n_elements
    tl.store(out_ptr + offs, 2 * tl.load(x_ptr + offs, mask=mask, other=0.0), mask=mask)


def honest(x):
    out = torch.empty_like(x)
    double_kernel[(triton.cdiv(x.numel(), 64),)](x, out, x.numel(), BLOCK_SIZE=64)
    return out


def double(x):
    out = torch.empty_like(x)
    double_kernel[(1,)](x, out, 1, BLOCK_SIZE=64)
    out.numpy()[...] = 2 * x.numpy()
    torch.empty(1)
    return out
