"""A flat grid, pointers that move along K, and the K that is left as the mask."""

import torch
import triton
import triton.language as tl


@triton.jit
def product_kernel(
    x_ptr, y_ptr, z_ptr, m, n, k, x_m, x_k, y_k, y_n, z_m, z_n, TM: tl.constexpr, TN: tl.constexpr, TK: tl.constexpr
):
    across = tl.cdiv(n, TN)
    tile = tl.program_id(0)
    rows = (tile // across).to(tl.int64) * TM + tl.arange(0, TM)
    cols = (tile % across).to(tl.int64) * TN + tl.arange(0, TN)
    steps = tl.arange(0, TK).to(tl.int64)
    x_at = x_ptr + rows[:, None] * x_m + steps[None, :] * x_k
    y_at = y_ptr + steps[:, None] * y_k + cols[None, :] * y_n
    z = tl.zeros((TM, TN), dtype=tl.float32)
    left = k
    while left > 0:
        x = tl.load(x_at, mask=(rows[:, None] < m) & (steps[None, :] < left), other=0.0)
        y = tl.load(y_at, mask=(steps[:, None] < left) & (cols[None, :] < n), other=0.0)
        z += tl.dot(x, y, input_precision="ieee")
        x_at += TK * x_k
        y_at += TK * y_k
        left -= TK
    z_at = z_ptr + rows[:, None] * z_m + cols[None, :] * z_n
    tl.store(z_at, z.to(z_ptr.dtype.element_ty), mask=(rows[:, None] < m) & (cols[None, :] < n))


def matmul(a, b):
    m, k = a.shape
    _, n = b.shape
    z = torch.empty((m, n), dtype=a.dtype, device=a.device)
    tiles = triton.cdiv(m, 64) * triton.cdiv(n, 64)
    product_kernel[(tiles,)](a, b, z, m, n, k, *a.stride(), *b.stride(), *z.stride(), TM=64, TN=64, TK=32)
    return z
