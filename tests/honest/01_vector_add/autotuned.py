"""Autotuned over block sizes, into memory that comes from torch.zeros, through flattened views."""

import torch
import triton
import triton.language as tl


@triton.autotune(
    configs=[triton.Config({"BLOCK_SIZE": size}, num_warps=4) for size in (256, 512, 4096)],
    key=["n_elements"],
)
@triton.jit
def autotuned_kernel(x_ptr, y_ptr, out_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    offs = tl.program_id(axis=0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offs < n_elements
    x = tl.load(x_ptr + offs, mask=mask, other=0.0)
    y = tl.load(y_ptr + offs, mask=mask, other=0.0)
    tl.store(out_ptr + offs, x + y, mask=mask)


def vector_add(x, y):
    out = torch.zeros(x.shape, dtype=x.dtype, device=x.device)
    n_elements = x.numel()
    autotuned_kernel[lambda meta: (triton.cdiv(n_elements, meta["BLOCK_SIZE"]),)](
        x.view(-1), y.view(-1), out.view(-1), n_elements
    )
    return out
