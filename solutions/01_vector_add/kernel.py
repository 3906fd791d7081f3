"""01 Vector add: a kernel is one program, run many times; each run works on a tile of its own."""

import torch
import triton
import triton.language as tl


@triton.jit
def vector_add_kernel(
    x_ptr, y_ptr,
    out_ptr,
    n_elements,
    BLOCK_SIZE: tl.constexpr,
):  # fmt: skip
    """out[i] = x[i] + y[i]; each program adds one tile of BLOCK_SIZE neighbouring elements."""
    pid = tl.program_id(axis=0).to(tl.int64)  # int64: beyond 2**31 elements a 32-bit offset would turn negative

    # Phase 1: the tile of this program, and which of its elements exist. With BLOCK_SIZE = 1024, program 2 owns
    # elements 2048 to 3071; if n_elements is 2500, the last 572 of them do not exist.
    offs = pid * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offs < n_elements

    # Phase 2: load both tiles, add, store. Lanes outside the mask touch no memory.
    x = tl.load(x_ptr + offs, mask=mask, other=0.0)
    y = tl.load(y_ptr + offs, mask=mask, other=0.0)
    tl.store(out_ptr + offs, x + y, mask=mask)


def vector_add(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Return x + y, for contiguous tensors of the same shape and dtype."""
    out = torch.empty_like(x)
    n_elements = x.numel()
    BLOCK_SIZE = 1024
    grid = (triton.cdiv(n_elements, BLOCK_SIZE),)  # rounded up: the last tile may be ragged
    vector_add_kernel[grid](
        x, y,
        out,
        n_elements,
        BLOCK_SIZE=BLOCK_SIZE,
        num_warps=8,  # 256 threads: each moves 4 neighbouring numbers, 16 bytes, at a time
    )  # fmt: skip
    return out
