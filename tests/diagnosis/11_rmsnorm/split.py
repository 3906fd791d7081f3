"""RMS normalisation in two kernels: sums of squares of pieces of rows, then the rows piece by piece."""

import torch
import triton
import triton.language as tl


@triton.jit
def load_piece(x_ptr, row, cols, n_cols, sm, sn):
    return tl.load(x_ptr + row * sm + cols * sn, mask=cols < n_cols, other=0.0).to(tl.float32)


@triton.jit
def energies(x_ptr, part_ptr, n_cols, n_parts, sm, sn, PIECE: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    part = tl.program_id(1)
    cols = part * PIECE + tl.arange(0, PIECE)
    x = load_piece(x_ptr, row, cols, n_cols, sm, sn)
    tl.store(part_ptr + row * n_parts + part, tl.sum(x * x, axis=0))


@triton.jit
def rescale(x_ptr, w_ptr, part_ptr, out_ptr, n_cols, n_parts, sm, sn, om, on, eps, PIECE: tl.constexpr, PARTS: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.program_id(1) * PIECE + tl.arange(0, PIECE)
    parts = tl.arange(0, PARTS)
    energy = tl.sum(tl.load(part_ptr + row * n_parts + parts, mask=parts < n_parts, other=0.0), axis=0)
    energy = energy / n_cols
    x = load_piece(x_ptr, row, cols, n_cols, sm, sn)
    w = tl.load(w_ptr + cols, mask=cols < n_cols, other=0.0).to(tl.float32)
    y = x * w / tl.sqrt(energy + eps)
    tl.store(out_ptr + row * om + cols * on, y, mask=cols < n_cols)


def rmsnorm(x, weight, eps=1e-6):
    n_rows, n_cols = x.shape
    out = torch.empty((n_rows, n_cols), dtype=x.dtype, device=x.device)
    PIECE = 1024
    n_parts = triton.cdiv(n_cols, PIECE)
    part = torch.empty((n_rows, n_parts), dtype=torch.float32, device=x.device)
    grid = (n_rows, n_parts)
    energies[grid](x, part, n_cols, n_parts, x.stride(0), x.stride(1), PIECE=PIECE)
    rescale[grid](
        x, weight, part, out, n_cols, n_parts, *x.stride(), *out.stride(), eps,
        PIECE=PIECE, PARTS=triton.next_power_of_2(n_parts),
    )  # fmt: skip
    return out
