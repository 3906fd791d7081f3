"""One kernel for all three functions: compile-time switches choose the form and the extra tensors."""

import torch
import triton
import triton.language as tl


@triton.jit
def tanh(z):
    """tanh by an exponential that never overflows."""
    e = tl.exp(-2.0 * tl.abs(z))
    t = (1.0 - e) / (1.0 + e)
    return tl.where(z < 0, -t, t)


@triton.jit
def gelu_kernel(
    x_ptr, y_ptr, residual_ptr, bias_ptr, n, n_cols,
    EXACT: tl.constexpr, FUSED: tl.constexpr, TILE: tl.constexpr,
):  # fmt: skip
    start = tl.program_id(0).to(tl.int64) * TILE
    while start < n:
        idx = start + tl.arange(0, TILE)
        live = idx < n
        x = tl.load(x_ptr + idx, mask=live, other=0.0).to(tl.float32)
        if FUSED:
            col = idx - idx // n_cols * n_cols
            x += tl.load(bias_ptr + col, mask=live, other=0.0).to(tl.float32)
        if EXACT:
            y = 0.5 * x * (1.0 + tl.math.erf(0.7071067811865476 * x))
        else:
            cubic = x + 0.044715 * (x * x * x)
            y = 0.5 * x + 0.5 * x * tanh(0.7978845608028654 * cubic)
        if FUSED:
            y += tl.load(residual_ptr + idx, mask=live, other=0.0).to(tl.float32)
        tl.store(y_ptr + idx, y, mask=live)
        start += tl.num_programs(0) * TILE


def launch(x, residual, bias, exact, fused):
    """Start at most 48 programs."""
    y = torch.empty_like(x)
    n = x.numel()
    n_cols = x.shape[-1] if fused else 1
    grid = (min(triton.cdiv(n, 2048), 48),)
    gelu_kernel[grid](x, y, residual, bias, n, n_cols, EXACT=exact, FUSED=fused, TILE=2048, num_warps=8)
    return y


def gelu_exact(x):
    return launch(x, x, x, True, False)


def gelu_approx(x):
    return launch(x, x, x, False, False)


def fused_residual_bias_gelu(x, residual, bias):
    return launch(x, residual, bias, False, True)


@torch.library.custom_op("course::gelu_approx", mutates_args=())
def gelu_approx_op(x: torch.Tensor) -> torch.Tensor:
    return gelu_approx(x)


@gelu_approx_op.register_fake
def gelu_approx_shape(x: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(x)
