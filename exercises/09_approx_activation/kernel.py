"""09 GELU, exact and approximate: one function in two forms that differ, and a formula that no large value breaks."""

import torch
import triton
import triton.language as tl


@triton.jit
def gelu_exact_kernel(
    x_ptr,
    out_ptr,
    n_elements,
    BLOCK_SIZE: tl.constexpr,
):  # fmt: skip
    """out[i] = x[i] / 2 * (1 + erf(x[i] / sqrt(2))); each program computes one tile of BLOCK_SIZE elements."""
    pid = tl.program_id(axis=0).to(tl.int64)
    offs = pid * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offs < n_elements

    # float32 from the load to the store, which casts once.
    # TODO(1): write the exact GELU of this tile.
    pass


def gelu_exact(x: torch.Tensor) -> torch.Tensor:
    """Return the exact GELU of x, for a contiguous tensor of any shape."""
    out = torch.empty_like(x)
    n_elements = x.numel()
    BLOCK_SIZE = 1024
    grid = (triton.cdiv(n_elements, BLOCK_SIZE),)
    gelu_exact_kernel[grid](
        x,
        out,
        n_elements,
        BLOCK_SIZE=BLOCK_SIZE,
    )  # fmt: skip
    return out


@triton.jit
def gelu_tanh(x):
    """x / 2 * (1 + tanh(z)) with z = sqrt(2 / pi) * (x + 0.044715 * x**3), for a float32 tile; kernels call it."""
    # TODO(2): return the tanh form of GELU of x; it must be finite for every finite x.
    pass


@triton.jit
def gelu_approx_kernel(
    x_ptr,
    out_ptr,
    n_elements,
    BLOCK_SIZE: tl.constexpr,
):  # fmt: skip
    """out[i] = gelu_tanh(x[i]); each program computes one tile of BLOCK_SIZE elements."""
    pid = tl.program_id(axis=0).to(tl.int64)
    offs = pid * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offs < n_elements

    # TODO(3): write the tanh form of GELU of this tile.
    pass


def gelu_approx(x: torch.Tensor) -> torch.Tensor:
    """Return the tanh form of GELU of x, for a contiguous tensor of any shape."""
    out = torch.empty_like(x)
    n_elements = x.numel()
    BLOCK_SIZE = 1024
    grid = (triton.cdiv(n_elements, BLOCK_SIZE),)
    gelu_approx_kernel[grid](
        x,
        out,
        n_elements,
        BLOCK_SIZE=BLOCK_SIZE,
    )  # fmt: skip
    return out


@triton.jit
def fused_residual_bias_gelu_kernel(
    x_ptr, residual_ptr, bias_ptr,
    out_ptr,
    n_elements, n_cols,
    BLOCK_SIZE: tl.constexpr,
):  # fmt: skip
    """out[i] = residual[i] + gelu_tanh(x[i] + bias[i % n_cols]); each program computes one tile of BLOCK_SIZE elements."""
    pid = tl.program_id(axis=0).to(tl.int64)
    offs = pid * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offs < n_elements

    # Phase 1: rows lie one after another, so the column of an element repeats every n_cols elements.
    # Phase 2: bias goes in before the activation, residual after it; nothing in between goes to memory.
    # TODO(4): write residual + gelu_tanh(x + bias) for this tile; each element has a column of its own.
    pass


def fused_residual_bias_gelu(x: torch.Tensor, residual: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Return residual + gelu_approx(x + bias), for contiguous x and residual of one shape (..., n_cols), bias (n_cols,)."""
    out = torch.empty_like(x)
    n_elements = x.numel()
    n_cols = x.shape[-1]
    BLOCK_SIZE = 1024
    grid = (triton.cdiv(n_elements, BLOCK_SIZE),)
    fused_residual_bias_gelu_kernel[grid](
        x, residual, bias,
        out,
        n_elements, n_cols,
        BLOCK_SIZE=BLOCK_SIZE,
    )  # fmt: skip
    return out


# TODO(5): register gelu_approx as the operator course::gelu_approx, with a fake that makes a result without values.
pass
