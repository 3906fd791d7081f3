"""GELU as x minus what is lost of it; the fused form by programs that own a stripe of columns and walk down the rows."""

import torch
import triton
import triton.language as tl


@triton.jit
def lost_share(t):
    """(1 - tanh(z)) / 2: the part of t that GELU takes away."""
    twice_z = 1.5957691216057308 * t + 0.07135481627159854 * t * t * t
    return 1.0 / (1.0 + tl.exp(twice_z))


@triton.jit
def erf_form(t):
    return 0.5 * (t + t * tl.erf(t * 0.7071067811865475))


@triton.jit
def pointwise(src_ptr, dst_ptr, size, EXACT: tl.constexpr, CHUNK: tl.constexpr, CHUNKS: tl.constexpr):
    """CHUNKS rows of CHUNK elements for each program."""
    base = tl.program_id(0).to(tl.int64) * (CHUNK * CHUNKS)
    at = base + tl.arange(0, CHUNKS)[:, None] * CHUNK + tl.arange(0, CHUNK)[None, :]
    t = tl.load(src_ptr + at, mask=at < size, other=0.0).to(tl.float32)
    if EXACT:
        tl.store(dst_ptr + at, erf_form(t), mask=at < size)
    else:
        tl.store(dst_ptr + at, t - t * lost_share(t), mask=at < size)


@triton.jit
def stripe(src_ptr, skip_ptr, bias_ptr, dst_ptr, n_rows, n_cols, W: tl.constexpr):
    """The bias of the stripe is loaded once; row after row is added to it."""
    col = tl.program_id(1) * W + tl.arange(0, W)
    real = col < n_cols
    bias = tl.load(bias_ptr + col, mask=real, other=0.0).to(tl.float32)
    row = tl.program_id(0).to(tl.int64)
    while row < n_rows:
        at = row * n_cols + col
        t = tl.load(src_ptr + at, mask=real, other=0.0).to(tl.float32)
        skip = tl.load(skip_ptr + at, mask=real, other=0.0).to(tl.float32)
        t += bias
        lost = lost_share(t)
        tl.store(dst_ptr + at, skip + (t - t * lost), mask=real)
        row += tl.num_programs(0)


def run_pointwise(x, exact):
    y = torch.empty_like(x)
    if x.numel():
        pointwise[(triton.cdiv(x.numel(), 2048),)](x, y, x.numel(), EXACT=exact, CHUNK=256, CHUNKS=8)
    return y


def gelu_exact(x):
    return run_pointwise(x, True)


def gelu_approx(x):
    return run_pointwise(x, False)


def fused_residual_bias_gelu(x, residual, bias):
    y = torch.empty_like(x)
    if x.numel():
        n_cols = x.shape[-1]
        n_rows = x.numel() // n_cols
        W = min(512, triton.next_power_of_2(n_cols))
        stripe[(min(n_rows, 256), triton.cdiv(n_cols, W))](x, residual, bias, y, n_rows, n_cols, W=W)
    return y


@torch.library.custom_op("course::gelu_approx", mutates_args=())
def gelu_approx_node(x: torch.Tensor) -> torch.Tensor:
    return gelu_approx(x)


@gelu_approx_node.register_fake
def _(x):
    return x.new_empty(x.shape)
