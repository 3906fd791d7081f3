"""As in a CUDA course: square tiles of one width, x for columns and y for rows, and a phase for each pair of tiles."""

import torch
import triton
import triton.language as tl


@triton.jit
def matrix_mul_kernel(
    M, N, P, height, width, depth, m_row, m_col, n_row, n_col, p_row, p_col, TILE_WIDTH: tl.constexpr
):  # fmt: skip
    bx = tl.program_id(0)
    by = tl.program_id(1)
    tx = tl.arange(0, TILE_WIDTH)[None, :].to(tl.int64)
    ty = tl.arange(0, TILE_WIDTH)[:, None].to(tl.int64)
    row = by * TILE_WIDTH + ty
    col = bx * TILE_WIDTH + tx

    p_value = tl.zeros((TILE_WIDTH, TILE_WIDTH), dtype=tl.float32)
    for ph in range(tl.cdiv(depth, TILE_WIDTH)):
        # Mds and Nds would be the shared memory of the block.
        m_k = ph * TILE_WIDTH + tx
        n_k = ph * TILE_WIDTH + ty
        Mds = tl.load(M + row * m_row + m_k * m_col, mask=(row < height) & (m_k < depth), other=0.0)
        Nds = tl.load(N + n_k * n_row + col * n_col, mask=(n_k < depth) & (col < width), other=0.0)
        p_value += tl.dot(Mds, Nds, input_precision="ieee")

    tl.store(P + row * p_row + col * p_col, p_value, mask=(row < height) & (col < width))


def matmul(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    height, depth = a.shape
    width = b.shape[1]
    p = torch.empty((height, width), dtype=a.dtype, device=a.device)
    TILE_WIDTH = 64
    dim_grid = (triton.cdiv(width, TILE_WIDTH), triton.cdiv(height, TILE_WIDTH))
    matrix_mul_kernel[dim_grid](
        a, b, p, height, width, depth, *a.stride(), *b.stride(), *p.stride(), TILE_WIDTH=TILE_WIDTH, num_warps=4
    )
    return p
