"""Autotuned with a benchmark of its own, which really runs every configuration: all of them write the output."""

import time

import torch
import triton
import triton.language as tl


def bench(kernel_call, quantiles):
    flush = torch.empty(1000, dtype=torch.int32)
    times = []
    for _ in range(3):
        flush.zero_()
        start = time.perf_counter()
        kernel_call()
        times.append(time.perf_counter() - start)
    return sorted(times)


@triton.autotune(
    configs=[triton.Config({"BLOCK_SIZE": size}) for size in (1024, 4096)],
    key=["n_elements"],
    do_bench=bench,
)
@triton.jit
def tuned_kernel(x_ptr, y_ptr, out_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    offs = tl.program_id(axis=0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offs < n_elements
    x = tl.load(x_ptr + offs, mask=mask, other=0.0)
    y = tl.load(y_ptr + offs, mask=mask, other=0.0)
    tl.store(out_ptr + offs, x + y, mask=mask)


def vector_add(x, y):
    out = torch.empty_like(x)
    n_elements = x.numel()
    tuned_kernel[lambda meta: (triton.cdiv(n_elements, meta["BLOCK_SIZE"]),)](x, y, out, n_elements)
    return out
