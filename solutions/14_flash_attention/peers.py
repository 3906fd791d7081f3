"""Peers of 14_flash_attention: what else computes it, for `grader bench`."""

import torch
import torch.nn.functional as F


def flash_attention_eager(q, k, v, causal=False):
    """The formula: a kernel for each step, with every score in memory."""
    scores = q @ k.mT * q.shape[-1] ** -0.5
    if causal:
        future = torch.ones(scores.shape[-2:], dtype=torch.bool, device=q.device).triu(1)
        scores = scores.masked_fill(future, -torch.inf)
    return torch.softmax(scores, dim=-1) @ v


def flash_attention_flash(q, k, v, causal=False):
    """FlashAttention 2, as PyTorch brings it."""
    from torch.nn.attention import SDPBackend, sdpa_kernel

    with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
        return F.scaled_dot_product_attention(q, k, v, is_causal=causal)


def flash_attention_cudnn(q, k, v, causal=False):
    """NVIDIA's cuDNN, through PyTorch."""
    from torch.nn.attention import SDPBackend, sdpa_kernel

    with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
        return F.scaled_dot_product_attention(q, k, v, is_causal=causal)


# The compiler knows some ways to write attention, and may put a flash kernel in the place of this one.
flash_attention_compile = torch.compile(flash_attention_eager, mode="max-autotune-no-cudagraphs", dynamic=False)
