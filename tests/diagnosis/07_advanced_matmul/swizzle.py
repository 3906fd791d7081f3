"""The order of tiles from `tl.swizzle2d`, pointers that move along K, and two configurations."""

import torch
import triton
import triton.language as tl


def config(tm, tn, tk, warps):
    return triton.Config({"TM": tm, "TN": tn, "TK": tk}, num_warps=warps, num_stages=3)


@triton.autotune(configs=[config(64, 64, 32, 4), config(128, 128, 32, 8)], key=["m", "n", "k"])
@triton.jit
def tuned_kernel(
    x_ptr,
    y_ptr,
    add_ptr,
    z_ptr,
    m,
    n,
    k,
    x_m,
    x_k,
    y_k,
    y_n,
    add_n,
    z_m,
    z_n,
    WITH_ADD: tl.constexpr,
    TM: tl.constexpr,
    TN: tl.constexpr,
    TK: tl.constexpr,
):
    down = tl.cdiv(m, TM)
    across = tl.cdiv(n, TN)
    tile = tl.program_id(0)
    i, j = tl.swizzle2d(tile // across, tile % across, down, across, 4)
    rows = i.to(tl.int64) * TM + tl.arange(0, TM)
    cols = j.to(tl.int64) * TN + tl.arange(0, TN)
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
    if WITH_ADD:
        extra = tl.load(add_ptr + cols * add_n, mask=cols < n, other=0.0)
        z += extra.to(tl.float32)[None, :]
    z_at = z_ptr + rows[:, None] * z_m + cols[None, :] * z_n
    there = (rows[:, None] < m) & (cols[None, :] < n)
    tl.store(z_at, z.to(z_ptr.dtype.element_ty), mask=there)


def advanced_matmul(a, b, bias=None):
    m, k = a.shape
    _, n = b.shape
    z = torch.empty((m, n), dtype=a.dtype, device=a.device)
    add = a if bias is None else bias
    tuned_kernel[lambda meta: (triton.cdiv(m, meta["TM"]) * triton.cdiv(n, meta["TN"]),)](
        a, b, add, z, m, n, k, *a.stride(), *b.stride(), add.stride(0), *z.stride(), WITH_ADD=bias is not None
    )
    return z
