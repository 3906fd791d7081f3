"""GELU as x times a cdf, written out in each kernel; the fused form on a grid of rows and blocks of columns."""

import torch
import triton
import triton.language as tl


@triton.jit
def tanh(x):
    # Triton has no tanh: a scaled sigmoid
    return 2.0 * tl.sigmoid(2.0 * x) - 1.0


@triton.jit
def gelu_erf_kernel(in_ptr, out_ptr, numel, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < numel
    x = tl.load(in_ptr + offsets, mask=mask).to(tl.float32)
    cdf = 0.5 * (1.0 + tl.erf(x * 0.7071067811865476))
    tl.store(out_ptr + offsets, x * cdf, mask=mask)


@triton.jit
def gelu_tanh_kernel(in_ptr, out_ptr, numel, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < numel
    x = tl.load(in_ptr + offsets, mask=mask).to(tl.float32)
    inner = 0.7978845608028654 * x * (1.0 + 0.044715 * x * x)
    cdf = 0.5 * (1.0 + tanh(inner))
    tl.store(out_ptr + offsets, x * cdf, mask=mask)


@triton.jit
def bias_gelu_residual_kernel(in_ptr, residual_ptr, bias_ptr, out_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = cols < n_cols
    offsets = row * n_cols + cols
    x = tl.load(in_ptr + offsets, mask=mask).to(tl.float32)
    bias = tl.load(bias_ptr + cols, mask=mask).to(tl.float32)
    residual = tl.load(residual_ptr + offsets, mask=mask).to(tl.float32)
    h = x + bias
    inner = 0.7978845608028654 * h * (1.0 + 0.044715 * h * h)
    cdf = 0.5 * (1.0 + tanh(inner))
    tl.store(out_ptr + offsets, h * cdf + residual, mask=mask)


def gelu_exact(x: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    numel = x.numel()
    gelu_erf_kernel[(triton.cdiv(numel, 1024),)](x, out, numel, BLOCK=1024)
    return out


def gelu_approx(x: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    numel = x.numel()
    gelu_tanh_kernel[(triton.cdiv(numel, 1024),)](x, out, numel, BLOCK=1024)
    return out


def fused_residual_bias_gelu(x: torch.Tensor, residual: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    n_cols = x.shape[-1]
    if x.numel() == 0:
        return out
    grid = (x.numel() // n_cols, triton.cdiv(n_cols, 1024))
    bias_gelu_residual_kernel[grid](x, residual, bias, out, n_cols, BLOCK=1024)
    return out


@torch.library.custom_op("course::gelu_approx", mutates_args=())
def gelu_approx_custom(x: torch.Tensor) -> torch.Tensor:
    return gelu_approx(x)


@gelu_approx_custom.register_fake
def _(x: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(x)
