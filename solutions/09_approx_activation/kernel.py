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
    x = tl.load(x_ptr + offs, mask=mask, other=0.0).to(tl.float32)
    inv_sqrt2 = 0.7071067811865476  # more digits than float32 can hold, so that it is rounded once only
    gelu = 0.5 * x * (1.0 + tl.erf(x * inv_sqrt2))
    tl.store(out_ptr + offs, gelu, mask=mask)


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
    sqrt_2_over_pi = 0.7978845608028654
    z = sqrt_2_over_pi * (x + 0.044715 * x * x * x)
    # (1 + tanh(z)) / 2 is 1 / (1 + exp(-2 * z)). Where this exp overflows, 1 / inf is 0, which is right for very negative
    # x; a quotient with an exp both above and below the line would be inf / inf.
    return x * tl.sigmoid(2.0 * z)


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

    # As above; in float16, x**3 would overflow beyond x = 40.
    x = tl.load(x_ptr + offs, mask=mask, other=0.0).to(tl.float32)
    tl.store(out_ptr + offs, gelu_tanh(x), mask=mask)


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
    cols = offs % n_cols

    # Phase 2: bias goes in before the activation, residual after it; nothing in between goes to memory.
    x = tl.load(x_ptr + offs, mask=mask, other=0.0).to(tl.float32)
    residual = tl.load(residual_ptr + offs, mask=mask, other=0.0).to(tl.float32)
    bias = tl.load(bias_ptr + cols, mask=mask, other=0.0).to(tl.float32)
    tl.store(out_ptr + offs, residual + gelu_tanh(x + bias), mask=mask)


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


@torch.library.custom_op("course::gelu_approx", mutates_args=())
def gelu_approx_operator(x: torch.Tensor) -> torch.Tensor:
    """gelu_approx as an operator of PyTorch: torch.compile calls it, and does not look inside."""
    return gelu_approx(x)


@gelu_approx_operator.register_fake
def gelu_approx_fake(x: torch.Tensor) -> torch.Tensor:
    """Shape, strides and dtype of the result, for a compiler that has no values yet."""
    return torch.empty_like(x)
