"""Residual and RMS normalisation of the columns of transposed matrices: the host turns everything round."""

import torch
import triton
import triton.language as tl


@triton.jit
def norm_columns(
    x_ptr, res_ptr, w_ptr, y_ptr, added_ptr,
    length, n_vectors, n_groups, eps,
    x_along, x_next, res_along, res_next, y_along, y_next, added_along, added_next,
    LONG: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    """Each column is a vector of `length`; a program takes GROUP neighbours at a time."""
    along = tl.arange(0, LONG)[:, None]
    w = tl.load(w_ptr + along, mask=along < length, other=0.0).to(tl.float32)
    for group in range(tl.program_id(0), n_groups, tl.num_programs(0)):
        vector = (group * GROUP + tl.arange(0, GROUP))[None, :].to(tl.int64)
        inside = (along < length) & (vector < n_vectors)
        x = tl.load(x_ptr + along * x_along + vector * x_next, mask=inside, other=0.0)
        res = tl.load(res_ptr + along * res_along + vector * res_next, mask=inside, other=0.0)
        added = x.to(tl.float32) + res.to(tl.float32)
        mean_square = tl.sum(added * added, axis=0) / length
        rms = tl.sqrt(mean_square + eps)
        y = w * (added / rms[None, :])
        tl.store(y_ptr + along * y_along + vector * y_next, y, mask=inside)
        tl.store(added_ptr + along * added_along + vector * added_next, added, mask=inside)


def fused_residual_rmsnorm(x, residual, weight, eps=1e-6):
    y, added = (torch.empty(x.shape, dtype=x.dtype, device=x.device) for _ in range(2))
    length, n_vectors = x.t().shape
    LONG = triton.next_power_of_2(length)
    GROUP = 4 if LONG <= 1024 else 1
    n_groups = triton.cdiv(n_vectors, GROUP)
    norm_columns[(min(n_groups, 1024),)](
        x, residual, weight, y, added,
        length, n_vectors, n_groups, eps,
        *x.t().stride(), *residual.t().stride(), *y.t().stride(), *added.t().stride(),
        LONG=LONG, GROUP=GROUP, num_warps=8,
    )  # fmt: skip
    return y, added
