"""outside memory: a kernel stores far outside any memory"""

import torch
import triton
import triton.language as tl


@triton.jit
def wild_kernel(out_ptr, BLOCK_SIZE: tl.constexpr):
    tl.store(out_ptr + (1 << 45) + tl.arange(0, BLOCK_SIZE), 1.0)


def double(x):
    out = torch.empty_like(x)
    wild_kernel[(1,)](out, BLOCK_SIZE=64)
    return out
