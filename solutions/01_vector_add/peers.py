"""Peers of 01_vector_add: what else computes it, for `grader bench`."""

import torch


def vector_add_eager(x, y):
    """One kernel of PyTorch."""
    return x + y


vector_add_compile = torch.compile(vector_add_eager, mode="max-autotune-no-cudagraphs", dynamic=False)
