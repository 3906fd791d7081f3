"""GELU with the powers of two of the hardware, and a fused form in tiles of rows and columns."""

import torch
import triton
import triton.language as tl

SQRT_HALF = tl.constexpr(0.7071067811865476)
C0 = tl.constexpr(1.5957691216057308)  # 2 * sqrt(2 / pi)
C1 = tl.constexpr(0.044715)
LOG2E = tl.constexpr(1.4426950408889634)


@triton.jit
def logistic(a):
    return 1.0 / (1.0 + tl.exp2(-a * LOG2E))


@triton.jit
def soft_step(u):
    """u times the share of a bell curve below u, nearly."""
    inner = C0 * (u + C1 * u * u * u)
    return u * logistic(inner)


@triton.jit
def elementwise(inp, outp, n, ERF: tl.constexpr, BLK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLK + tl.arange(0, BLK)
    u = tl.load(inp + offsets, mask=offsets < n, other=0.0).to(tl.float32)
    g = soft_step(u)
    if ERF:
        g = u * (tl.erf(u * SQRT_HALF) + 1.0) * 0.5
    tl.store(outp + offsets, g, mask=offsets < n)


@triton.jit
def add_gelu_add(inp, skip, bias, outp, m, n, BM: tl.constexpr, BN: tl.constexpr):
    tiles_n = tl.cdiv(n, BN)
    pid = tl.program_id(0).to(tl.int64)
    rm = pid // tiles_n * BM + tl.arange(0, BM)
    rn = pid % tiles_n * BN + tl.arange(0, BN)
    where = rm[:, None] * n + rn[None, :]
    valid = (rm < m)[:, None] & (rn < n)[None, :]
    u = tl.load(inp + where, mask=valid, other=0.0).to(tl.float32)
    s = tl.load(skip + where, mask=valid, other=0.0).to(tl.float32)
    b = tl.load(bias + rn, mask=rn < n, other=0.0).to(tl.float32)
    tl.store(outp + where, soft_step(u + b[None, :]) + s, mask=valid)


def gelu_exact(x):
    out = torch.empty_like(x)
    elementwise[(triton.cdiv(x.numel(), 1024),)](x, out, x.numel(), ERF=True, BLK=1024)
    return out


def gelu_approx(x):
    out = torch.empty_like(x)
    elementwise[(triton.cdiv(x.numel(), 1024),)](x, out, x.numel(), ERF=False, BLK=1024)
    return out


def fused_residual_bias_gelu(x, residual, bias):
    out = torch.empty_like(x)
    n = x.shape[-1]
    m = x.numel() // max(n, 1)
    BM, BN = 16, 128
    add_gelu_add[(triton.cdiv(m, BM) * triton.cdiv(n, BN),)](x, residual, bias, out, m, n, BM=BM, BN=BN)
    return out


@torch.library.custom_op("course::gelu_approx", mutates_args=())
def operator(x: torch.Tensor) -> torch.Tensor:
    return gelu_approx(x)


operator.register_fake(torch.empty_like)
