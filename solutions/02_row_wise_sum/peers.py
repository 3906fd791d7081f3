"""Peers of 02_row_wise_sum: what else computes it, for `grader bench`."""

import torch


def row_wise_sum_eager(x):
    """PyTorch's reduction, which adds up half precision in float32 too."""
    return x.sum(dim=1)


row_wise_sum_compile = torch.compile(row_wise_sum_eager, mode="max-autotune-no-cudagraphs", dynamic=False)
