"""Residual and RMS normalisation: each program has its share of rows, and its pointers move down from row to row."""

import torch
import triton
import triton.language as tl


@triton.jit
def add_rms_norm_fwd(
    X, R, W, Y, S,
    x_row_stride, x_col_stride, r_row_stride, r_col_stride,
    y_row_stride, y_col_stride, s_row_stride, s_col_stride,
    n_rows, n_cols, inv_n, eps, rows_per_program,
    BLOCK_SIZE: tl.constexpr,
):  # fmt: skip
    row_start = tl.program_id(0).to(tl.int64) * rows_per_program
    row_end = tl.minimum(row_start + rows_per_program, n_rows)
    cols = tl.arange(0, BLOCK_SIZE)
    mask = cols < n_cols
    W_row = tl.load(W + cols, mask=mask, other=0.0).to(tl.float32)

    X += row_start * x_row_stride + cols * x_col_stride
    R += row_start * r_row_stride + cols * r_col_stride
    Y += row_start * y_row_stride + cols * y_col_stride
    S += row_start * s_row_stride + cols * s_col_stride
    for _ in range(row_start, row_end):
        X_row = tl.load(X, mask=mask, other=0.0)
        R_row = tl.load(R, mask=mask, other=0.0)
        S_row = X_row.to(tl.float32) + R_row.to(tl.float32)
        mean_square = tl.sum(S_row * S_row, axis=0) * inv_n
        rstd = tl.math.rsqrt(mean_square + eps)
        Y_row = S_row * W_row * rstd
        tl.store(Y, Y_row, mask=mask)
        tl.store(S, S_row, mask=mask)
        X += x_row_stride
        R += r_row_stride
        Y += y_row_stride
        S += s_row_stride


def fused_residual_rmsnorm(x, residual, weight, eps=1e-6):
    n_rows, n_cols = x.shape
    y = torch.empty_like(x)
    s = torch.empty_like(residual)
    rows_per_program = 4
    add_rms_norm_fwd[(triton.cdiv(n_rows, rows_per_program),)](
        x, residual, weight, y, s,
        *x.stride(), *residual.stride(), *y.stride(), *s.stride(),
        n_rows, n_cols, 1.0 / n_cols, eps, rows_per_program,
        BLOCK_SIZE=triton.next_power_of_2(n_cols),
        num_warps=8,
    )  # fmt: skip
    return y, s
