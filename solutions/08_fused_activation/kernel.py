"""08 Fused activation: three operations in one kernel, so that nothing between them travels through memory."""

import torch
import triton
import triton.language as tl


@triton.jit
def fused_activation_kernel(
    x_ptr, gate_ptr, residual_ptr,
    out_ptr,
    n_elements,
    BLOCK_SIZE: tl.constexpr,
):  # fmt: skip
    """out[i] = silu(x[i]) * gate[i] + residual[i]; each program computes one tile of BLOCK_SIZE elements."""
    pid = tl.program_id(axis=0).to(tl.int64)
    offs = pid * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offs < n_elements

    # Phase 1: the three tiles are in registers, as float32. This is all that the kernel ever reads.
    x = tl.load(x_ptr + offs, mask=mask, other=0.0).to(tl.float32)
    gate = tl.load(gate_ptr + offs, mask=mask, other=0.0).to(tl.float32)
    residual = tl.load(residual_ptr + offs, mask=mask, other=0.0).to(tl.float32)

    # Phase 2: the three operations follow each other in registers, without a rounding to half precision in between.
    silu = x * tl.sigmoid(x)
    out = silu * gate + residual

    # Phase 3: the one write; the store casts to the output's dtype.
    tl.store(out_ptr + offs, out, mask=mask)


def fused_activation(x: torch.Tensor, gate: torch.Tensor, residual: torch.Tensor) -> torch.Tensor:
    """Return silu(x) * gate + residual, for contiguous tensors of the same shape and dtype."""
    out = torch.empty_like(x)
    n_elements = x.numel()
    BLOCK_SIZE = 1024
    grid = (triton.cdiv(n_elements, BLOCK_SIZE),)
    fused_activation_kernel[grid](
        x, gate, residual,
        out,
        n_elements,
        BLOCK_SIZE=BLOCK_SIZE,
        num_warps=8,
    )  # fmt: skip
    return out
