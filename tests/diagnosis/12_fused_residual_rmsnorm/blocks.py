"""Residual and RMS normalisation through block pointers."""

import torch
import triton
import triton.language as tl


@triton.jit
def block_of(base, rows, cols, s0, s1, at, L: tl.constexpr):
    """Row `at` of a matrix."""
    return tl.make_block_ptr(base, (rows, cols), (s0, s1), (at, 0), (1, L), (1, 0))


@triton.jit
def residual_norm(x, res, w, out, res_out, rows, cols, x0, x1, r0, r1, o0, o1, q0, q1, eps, L: tl.constexpr):
    at = tl.program_id(0)
    h = tl.load(block_of(x, rows, cols, x0, x1, at, L), boundary_check=(0, 1), padding_option="zero").to(tl.float32)
    old = tl.load(block_of(res, rows, cols, r0, r1, at, L), boundary_check=(0, 1), padding_option="zero").to(tl.float32)
    h = h + old
    kind = out.dtype.element_ty
    tl.store(block_of(res_out, rows, cols, q0, q1, at, L), h.to(kind), boundary_check=(0, 1))
    square = tl.sum(h * h, axis=1)
    h = h / tl.sqrt(square / cols + eps)[:, None]
    w_block = tl.make_block_ptr(w, (1, cols), (cols, 1), (0, 0), (1, L), (1, 0))
    h *= tl.load(w_block, boundary_check=(0, 1), padding_option="zero").to(tl.float32)
    tl.store(block_of(out, rows, cols, o0, o1, at, L), h.to(kind), boundary_check=(0, 1))


def fused_residual_rmsnorm(x, residual, weight, eps=1e-6):
    rows, cols = x.shape
    both = [torch.empty((rows, cols), dtype=x.dtype, device=x.device) for _ in range(2)]
    residual_norm[(rows,)](
        x, residual, weight, *both, rows, cols, *x.stride(), *residual.stride(), *both[0].stride(), *both[1].stride(),
        eps, L=max(16, triton.next_power_of_2(cols)),
    )  # fmt: skip
    return both[0], both[1]
