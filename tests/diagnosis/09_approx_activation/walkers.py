"""GELU with tanh written as 2 * sigmoid - 1; block pointers, and in the fused form a program that walks along each row."""

import math

import torch
import triton
import triton.language as tl

LINEAR = tl.constexpr(math.sqrt(2 / math.pi))
CUBIC = tl.constexpr(0.044715 * math.sqrt(2 / math.pi))
ROOT_HALF = tl.constexpr(math.sqrt(0.5))


@triton.jit
def tanh(z):
    return 2.0 / (1.0 + tl.exp(-2.0 * z)) - 1.0


@triton.jit
def bent(x):
    """The argument of the tanh, by Horner's rule."""
    return x * (x * x * CUBIC + LINEAR)


@triton.jit
def erf_kernel(x_ptr, y_ptr, n, TILE: tl.constexpr):
    start = tl.program_id(0) * TILE
    x_tile = tl.make_block_ptr(x_ptr, (n,), (1,), (start,), (TILE,), (0,))
    y_tile = tl.make_block_ptr(y_ptr, (n,), (1,), (start,), (TILE,), (0,))
    x = tl.load(x_tile, boundary_check=(0,), padding_option="zero").to(tl.float32)
    below = 0.5 + 0.5 * tl.erf(x * ROOT_HALF)
    tl.store(y_tile, (x * below).to(y_ptr.dtype.element_ty), boundary_check=(0,))


@triton.jit
def tanh_kernel(x_ptr, y_ptr, n, TILE: tl.constexpr):
    start = tl.program_id(0) * TILE
    x_tile = tl.make_block_ptr(x_ptr, (n,), (1,), (start,), (TILE,), (0,))
    y_tile = tl.make_block_ptr(y_ptr, (n,), (1,), (start,), (TILE,), (0,))
    x = tl.load(x_tile, boundary_check=(0,), padding_option="zero").to(tl.float32)
    z = bent(x)
    y = 0.5 * x * (1.0 + tanh(z))
    tl.store(y_tile, y.to(y_ptr.dtype.element_ty), boundary_check=(0,))


@triton.jit
def row_kernel(x_ptr, residual_ptr, bias_ptr, y_ptr, n_cols, STRIDE: tl.constexpr):
    """One row, STRIDE columns at a time."""
    above = tl.program_id(0).to(tl.int64) * n_cols
    lane = tl.arange(0, STRIDE)
    x_row = x_ptr + above
    residual_row = residual_ptr + above
    for first in range(0, n_cols, STRIDE):
        col = first + lane
        bias = tl.load(bias_ptr + col, mask=col < n_cols, other=0.0).to(tl.float32)
        x = tl.load(x_row + col, mask=col < n_cols, other=0.0).to(tl.float32) + bias
        y = 0.5 * x * (1.0 + tanh(bent(x)))
        y += tl.load(residual_row + col, mask=col < n_cols, other=0.0).to(tl.float32)
        tl.store(y_ptr + above + col, y, mask=col < n_cols)


def gelu_exact(x: torch.Tensor) -> torch.Tensor:
    y = torch.empty_like(x)
    if x.numel() > 0:
        erf_kernel[(triton.cdiv(x.numel(), 2048),)](x, y, x.numel(), TILE=2048, num_warps=8)
    return y


def gelu_approx(x: torch.Tensor) -> torch.Tensor:
    y = torch.empty_like(x)
    if x.numel() > 0:
        tanh_kernel[(triton.cdiv(x.numel(), 2048),)](x, y, x.numel(), TILE=2048, num_warps=8)
    return y


def fused_residual_bias_gelu(x: torch.Tensor, residual: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    y = torch.empty_like(x)
    if x.numel() > 0:
        n_cols = bias.numel()
        row_kernel[(x.numel() // n_cols,)](x, residual, bias, y, n_cols, STRIDE=256, num_warps=2)
    return y


@torch.library.custom_op("course::gelu_approx", mutates_args=())
def course_gelu(x: torch.Tensor) -> torch.Tensor:
    return gelu_approx(x)


@course_gelu.register_fake
def course_gelu_meta(x: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(x)
