"""The two plain forms in two kernels each; the fused one in one, but no two lanes of its tiles are neighbours in memory.

erf and tanh pass through memory as float32: 12 bytes for each half-precision element where 4 are enough. Where lanes are
n_programs elements apart, every access of 2 bytes moves a sector of 32 between the caches and the processors.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def erf_kernel(x_ptr, erf_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    """erf[i] = erf(x[i] / sqrt(2)), in float32."""
    offs = tl.program_id(axis=0).to(tl.int64) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offs < n_elements
    x = tl.load(x_ptr + offs, mask=mask, other=0.0).to(tl.float32)
    tl.store(erf_ptr + offs, tl.erf(x * 0.7071067811865476), mask=mask)


@triton.jit
def tanh_kernel(x_ptr, tanh_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    """tanh[i] = tanh(sqrt(2 / pi) * (x[i] + 0.044715 * x[i]**3)), in float32."""
    offs = tl.program_id(axis=0).to(tl.int64) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offs < n_elements
    x = tl.load(x_ptr + offs, mask=mask, other=0.0).to(tl.float32)
    z = 0.7978845608028654 * (x + 0.044715 * x * x * x)
    tl.store(tanh_ptr + offs, 2.0 * tl.sigmoid(2.0 * z) - 1.0, mask=mask)


@triton.jit
def weigh_kernel(x_ptr, factor_ptr, out_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    """out[i] = x[i] / 2 * (1 + factor[i])."""
    offs = tl.program_id(axis=0).to(tl.int64) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offs < n_elements
    x = tl.load(x_ptr + offs, mask=mask, other=0.0).to(tl.float32)
    factor = tl.load(factor_ptr + offs, mask=mask, other=0.0)
    tl.store(out_ptr + offs, 0.5 * x * (1.0 + factor), mask=mask)


def gelu_exact(x):
    out = torch.empty_like(x)
    erf = torch.empty(x.shape, dtype=torch.float32, device=x.device)
    n_elements = x.numel()
    grid = (triton.cdiv(n_elements, 1024),)
    erf_kernel[grid](x, erf, n_elements, BLOCK_SIZE=1024)
    weigh_kernel[grid](x, erf, out, n_elements, BLOCK_SIZE=1024)
    return out


def gelu_approx(x):
    out = torch.empty_like(x)
    tanh = torch.empty(x.shape, dtype=torch.float32, device=x.device)
    n_elements = x.numel()
    grid = (triton.cdiv(n_elements, 1024),)
    tanh_kernel[grid](x, tanh, n_elements, BLOCK_SIZE=1024)
    weigh_kernel[grid](x, tanh, out, n_elements, BLOCK_SIZE=1024)
    return out


@triton.jit
def fused_kernel(x_ptr, residual_ptr, bias_ptr, out_ptr, n_elements, n_cols, n_programs, BLOCK_SIZE: tl.constexpr):
    """out[i] = residual[i] + gelu_tanh(x[i] + bias[i % n_cols]), for i = pid, pid + n_programs and so on."""
    pid = tl.program_id(axis=0).to(tl.int64)
    offs = pid + tl.arange(0, BLOCK_SIZE).to(tl.int64) * n_programs
    mask = offs < n_elements
    x = tl.load(x_ptr + offs, mask=mask, other=0.0).to(tl.float32)
    residual = tl.load(residual_ptr + offs, mask=mask, other=0.0).to(tl.float32)
    x += tl.load(bias_ptr + offs % n_cols, mask=mask, other=0.0).to(tl.float32)
    z = 0.7978845608028654 * (x + 0.044715 * x * x * x)
    tl.store(out_ptr + offs, residual + x * tl.sigmoid(2.0 * z), mask=mask)


def fused_residual_bias_gelu(x, residual, bias):
    out = torch.empty_like(x)
    n_elements = x.numel()
    n_programs = triton.cdiv(n_elements, 1024)
    fused_kernel[(n_programs,)](x, residual, bias, out, n_elements, x.shape[-1], n_programs, BLOCK_SIZE=1024)
    return out


@torch.library.custom_op("course::gelu_approx", mutates_args=())
def gelu_approx_operator(x: torch.Tensor) -> torch.Tensor:
    return gelu_approx(x)


@gelu_approx_operator.register_fake
def gelu_approx_fake(x: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(x)
