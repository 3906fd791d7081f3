"""Each program adds four pieces of 1024 elements, one after the other."""

import torch
import triton
import triton.language as tl


@triton.jit
def pieces_kernel(a, b, c, size, PIECE: tl.constexpr, PIECES: tl.constexpr):
    begin = tl.program_id(0).to(tl.int64) * PIECE * PIECES
    for piece in tl.static_range(PIECES):
        i = begin + piece * PIECE + tl.arange(0, PIECE)
        left = tl.load(a + i, mask=i < size, other=0.0)
        right = tl.load(b + i, mask=i < size, other=0.0)
        tl.store(c + i, left + right, mask=i < size)


def vector_add(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    size = x.numel()
    c = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    per_program = 4 * 1024
    pieces_kernel[(triton.cdiv(size, per_program),)](x, y, c, size, PIECE=1024, PIECES=4)
    return c
