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

    # TODO(1): name the elements of this program's tile, and mark which of them exist.
    # TODO(2): load both tiles, add them, store the sum; lanes that do not exist must touch no memory.
    pass


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
