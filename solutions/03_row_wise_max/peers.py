"""Peers of 03_row_wise_max: what else computes it, for `grader bench`."""

import torch


def row_wise_max_eager(x):
    """PyTorch's reduction; amax, because max(dim=1) would also return the places."""
    return x.amax(dim=1)


row_wise_max_compile = torch.compile(row_wise_max_eager, mode="max-autotune-no-cudagraphs", dynamic=False)
