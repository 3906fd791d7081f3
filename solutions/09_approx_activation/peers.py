"""Peers of 09_approx_activation: what else computes it, for `grader bench`."""

import torch
import torch.nn.functional as F


def gelu_exact_eager(x):
    """PyTorch's own fused kernel."""
    return F.gelu(x)


def gelu_approx_eager(x):
    """PyTorch's own fused kernel."""
    return F.gelu(x, approximate="tanh")


def fused_residual_bias_gelu_eager(x, residual, bias):
    """Three kernels, and a rounding to the dtype of x after each of them."""
    return residual + F.gelu(x + bias, approximate="tanh")


gelu_exact_compile = torch.compile(gelu_exact_eager, mode="max-autotune-no-cudagraphs", dynamic=False)
gelu_approx_compile = torch.compile(gelu_approx_eager, mode="max-autotune-no-cudagraphs", dynamic=False)
fused_residual_bias_gelu_compile = torch.compile(
    fused_residual_bias_gelu_eager, mode="max-autotune-no-cudagraphs", dynamic=False
)
