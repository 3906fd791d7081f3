"""not a Triton solution: computes in a thread, where nobody watches, and copies by a kernel"""

import threading

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


@triton.jit
def copy_kernel(x_ptr, out_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    offs = tl.program_id(axis=0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offs < n_elements
    tl.store(out_ptr + offs, tl.load(x_ptr + offs, mask=mask, other=0.0), mask=mask)


def double(x):
    results = []
    worker = threading.Thread(target=lambda: results.append(x * 2))
    worker.start()
    worker.join()
    out = torch.empty_like(x)
    copy_kernel[(triton.cdiv(x.numel(), 64),)](results[0], out, x.numel(), BLOCK_SIZE=64)
    return out
