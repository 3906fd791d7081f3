"""Peers of 11_rmsnorm: what else computes it, for `grader bench`."""

import torch
import torch.nn.functional as F


def rmsnorm_eager(x, weight, eps=1e-6):
    """The formula, as models write it: one kernel for each step, in float32."""
    x32 = x.float()
    rrms = torch.rsqrt(x32.square().mean(dim=1, keepdim=True) + eps)
    return (x32 * rrms * weight).to(x.dtype)


def rmsnorm_torch(x, weight, eps=1e-6):
    """PyTorch's own operator."""
    return F.rms_norm(x, weight.shape, weight, eps)


def rmsnorm_liger(x, weight, eps=1e-6):
    """Liger's Triton kernel, in its "gemma" mode: the weight, too, is multiplied in float32."""
    from liger_kernel.transformers.functional import liger_rms_norm

    return liger_rms_norm(x, weight, eps, casting_mode="gemma")


rmsnorm_compile = torch.compile(rmsnorm_eager, mode="max-autotune-no-cudagraphs", dynamic=False)
