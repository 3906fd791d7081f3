"""A sum of outer products, one for each k and without `tl.dot`; the next column and row are loaded ahead, as in CUDA."""

import torch
import triton
import triton.language as tl


@triton.jit
def outer_kernel(a, b, c, m, n, k, a_m, a_k, b_k, b_n, c_m, c_n, TILE_M: tl.constexpr, TILE_N: tl.constexpr):
    """c += column of a times row of b, for every k."""
    i = tl.program_id(0).to(tl.int64) * TILE_M + tl.arange(0, TILE_M)
    j = tl.program_id(1).to(tl.int64) * TILE_N + tl.arange(0, TILE_N)
    col_ptr = a + i * a_m
    row_ptr = b + j * b_n
    col = tl.load(col_ptr, mask=i < m, other=0.0)
    row = tl.load(row_ptr, mask=j < n, other=0.0)

    acc = tl.zeros((TILE_M, TILE_N), tl.float32)
    for step in range(k):
        col_ptr += a_k
        row_ptr += b_k
        more = step + 1 < k
        next_col = tl.load(col_ptr, mask=(i < m) & more, other=0.0)
        next_row = tl.load(row_ptr, mask=(j < n) & more, other=0.0)
        acc += col.to(tl.float32)[:, None] * row.to(tl.float32)[None, :]
        col = next_col
        row = next_row

    c_ptr = c + i[:, None] * c_m + j[None, :] * c_n
    tl.store(c_ptr, acc.to(c.dtype.element_ty), mask=(i < m)[:, None] & (j < n)[None, :])


def matmul(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    m, k = a.shape
    n = b.shape[1]
    c = torch.empty((m, n), dtype=a.dtype, device=a.device)
    TILE_M, TILE_N = 32, 128
    outer_kernel[(triton.cdiv(m, TILE_M), triton.cdiv(n, TILE_N))](
        a, b, c, m, n, k, *a.stride(), *b.stride(), *c.stride(), TILE_M=TILE_M, TILE_N=TILE_N, num_warps=4
    )
    return c
