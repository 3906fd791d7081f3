"""not a Triton solution: the kernel's body calls torch, which only the interpreter allows"""

import torch
import triton
import triton.language as tl


@triton.jit
def cheating_kernel(x_ptr, out_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    offs = tl.program_id(axis=0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    torch.mul(STASH[0], 2, out=STASH[1])


STASH = []


def double(x):
    out = torch.empty_like(x)
    STASH[:] = [x, out]
    cheating_kernel[(1,)](x, out, x.numel(), BLOCK_SIZE=64)
    return out
