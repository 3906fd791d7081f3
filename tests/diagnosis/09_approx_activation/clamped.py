"""GELU by kernels that are given their function; tanh with a clamped exponent, and tiles as wide as rows if they fit."""

import torch
import triton
import triton.language as tl


@triton.jit
def gelu_erf(x):
    inside = 0.5 * (1.0 + tl.erf(x * 0.7071067811865476))
    return x * inside


@triton.jit
def gelu_tanh(x):
    z = 0.7978845608028654 * (x + 0.044715 * x * x * x)
    z = tl.minimum(tl.maximum(z, -15.0), 15.0)  # tanh is 1 there already, and exp is still small
    e = tl.exp(2.0 * z)
    tanh = (e - 1.0) / (e + 1.0)
    return 0.5 * x * (1.0 + tanh)


@triton.jit
def map_kernel(x_ptr, y_ptr, n, FUNCTION: tl.constexpr, TILE: tl.constexpr):
    """y = FUNCTION(x), one tile after the next one."""
    start = tl.program_id(0).to(tl.int64) * (2 * TILE)
    for half in tl.static_range(2):
        i = start + half * TILE + tl.arange(0, TILE)
        x = tl.load(x_ptr + i, mask=i < n, other=0.0).to(tl.float32)
        tl.store(y_ptr + i, FUNCTION(x), mask=i < n)


@triton.jit
def bias_residual_kernel(
    x_ptr, res_ptr, bias_ptr, y_ptr, n_rows, n_cols, FUNCTION: tl.constexpr, HIGH: tl.constexpr, WIDE: tl.constexpr
):
    """y = residual + FUNCTION(x + bias), HIGH rows and WIDE columns."""
    row = tl.program_id(0).to(tl.int64) * HIGH + tl.arange(0, HIGH)[:, None]
    col = tl.program_id(1) * WIDE + tl.arange(0, WIDE)[None, :]
    inside = (row < n_rows) & (col < n_cols)
    at = row * n_cols + col
    bias = tl.load(bias_ptr + col, mask=col < n_cols, other=0.0).to(tl.float32)
    x = tl.load(x_ptr + at, mask=inside, other=0.0).to(tl.float32)
    y = FUNCTION(x + bias)
    y += tl.load(res_ptr + at, mask=inside, other=0.0).to(tl.float32)
    tl.store(y_ptr + at, y, mask=inside)


def elementwise(function, x):
    y = torch.empty_like(x)
    if x.numel() > 0:
        map_kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), FUNCTION=function, TILE=512)
    return y


def gelu_exact(x: torch.Tensor) -> torch.Tensor:
    return elementwise(gelu_erf, x)


def gelu_approx(x: torch.Tensor) -> torch.Tensor:
    return elementwise(gelu_tanh, x)


def fused_residual_bias_gelu(x: torch.Tensor, residual: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    y = torch.empty_like(x)
    if x.numel() == 0:
        return y
    n_cols = bias.shape[0]
    n_rows = x.numel() // n_cols
    wide = min(triton.next_power_of_2(n_cols), 1024)
    high = max(1, 2048 // wide)
    grid = (triton.cdiv(n_rows, high), triton.cdiv(n_cols, wide))
    bias_residual_kernel[grid](x, residual, bias, y, n_rows, n_cols, FUNCTION=gelu_tanh, HIGH=high, WIDE=wide)
    return y


@torch.library.custom_op("course::gelu_approx", mutates_args=())
def gelu_operator(x: torch.Tensor) -> torch.Tensor:
    return gelu_approx(x)


@gelu_operator.register_fake
def gelu_operator_fake(x):
    return torch.empty_like(x)
