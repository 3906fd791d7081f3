"""GELU in two forms, and the second one fused; sigmoid by a single exponential, small tiles."""

import torch
import triton
import triton.language as tl


@triton.jit
def phi_tanh(t):
    """0.5 * (1 + tanh(u)), which is 1 / (1 + exp(-2u))."""
    u = 0.7978845608028654 * t * (1.0 + 0.044715 * t * t)
    return 1.0 / (1.0 + tl.exp(-2.0 * u))


@triton.jit
def exact_k(src, dst, count, B: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * B + tl.arange(0, B)
    t = tl.load(src + i, mask=i < count, other=0.0).to(tl.float32)
    half_erf = 0.5 * tl.erf(t * 0.70710678118654752440)
    tl.store(dst + i, t * (0.5 + half_erf), mask=i < count)


@triton.jit
def approx_k(src, dst, count, B: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * B + tl.arange(0, B)
    t = tl.load(src + i, mask=i < count, other=0.0).to(tl.float32)
    tl.store(dst + i, t * phi_tanh(t), mask=i < count)


@triton.jit
def fused_k(src, res, vec, dst, count, width, B: tl.constexpr):
    """A program owns four tiles, one after the other."""
    for j in tl.static_range(4):
        i = (tl.program_id(0).to(tl.int64) * 4 + j) * B + tl.arange(0, B)
        c = i % width
        ok = i < count
        t = tl.load(src + i, mask=ok, other=0.0).to(tl.float32)
        a = tl.load(res + i, mask=ok, other=0.0).to(tl.float32)
        b = tl.load(vec + c, mask=ok, other=0.0).to(tl.float32)
        t = t + b
        tl.store(dst + i, a + t * phi_tanh(t), mask=ok)


def gelu_exact(x):
    y = torch.empty_like(x)
    exact_k[(triton.cdiv(x.numel(), 512),)](x, y, x.numel(), B=512)
    return y


def gelu_approx(x):
    y = torch.empty_like(x)
    approx_k[(triton.cdiv(x.numel(), 512),)](x, y, x.numel(), B=512)
    return y


def fused_residual_bias_gelu(x, residual, bias):
    y = torch.empty_like(x)
    count = x.numel()
    fused_k[(triton.cdiv(count, 1024),)](x, residual, bias, y, count, x.shape[-1], B=256)
    return y


@torch.library.custom_op("course::gelu_approx", mutates_args=())
def approx_op(x: torch.Tensor) -> torch.Tensor:
    return gelu_approx(x)


@approx_op.register_fake
def _(x):
    return torch.empty_like(x)
