"""Layer normalisation in three kernels over rows and pieces: sums, squared distances, and the result of a few rows."""

import torch
import triton
import triton.language as tl


@triton.jit
def piece_of(base, row, row_step, col, col_step, real):
    """Some columns of a row as float32, 0 where there is none."""
    return tl.load(base + row * row_step + col * col_step, mask=real, other=0.0).to(tl.float32)


@triton.jit
def gather(parts, row, POWER: tl.constexpr):
    """The sum of what the programs of a row have written."""
    pieces = tl.num_programs(0)
    i = tl.arange(0, POWER)
    return tl.sum(tl.load(parts + row * pieces + i, mask=i < pieces, other=0.0))


@triton.jit
def sums(x, part_sums, width, x_row, x_col, PIECE: tl.constexpr):
    row = tl.program_id(1).to(tl.int64)
    col = tl.program_id(0) * PIECE + tl.arange(0, PIECE)
    values = piece_of(x, row, x_row, col, x_col, col < width)
    tl.store(part_sums + row * tl.num_programs(0) + tl.program_id(0), tl.sum(values))


@triton.jit
def distances(x, part_sums, part_squares, width, x_row, x_col, PIECE: tl.constexpr, POWER: tl.constexpr):
    row = tl.program_id(1).to(tl.int64)
    col = tl.program_id(0) * PIECE + tl.arange(0, PIECE)
    values = piece_of(x, row, x_row, col, x_col, col < width)
    average = gather(part_sums, row, POWER) / width
    gap = tl.where(col < width, values - average, 0.0)
    tl.store(part_squares + row * tl.num_programs(0) + tl.program_id(0), tl.sum(gap * gap))


@triton.jit
def finish(
    x, weight, bias, out, part_sums, part_squares, height, width, x_row, x_col, out_row, out_col, eps,
    PIECE: tl.constexpr, POWER: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    """Weight and bias of the piece are loaded once for ROWS rows."""
    col = tl.program_id(0) * PIECE + tl.arange(0, PIECE)
    real = col < width
    w = tl.load(weight + col, mask=real, other=0.0).to(tl.float32)
    b = tl.load(bias + col, mask=real, other=0.0).to(tl.float32)
    row = tl.program_id(1).to(tl.int64) * ROWS
    stop = tl.minimum(row + ROWS, height)
    while row < stop:
        values = piece_of(x, row, x_row, col, x_col, real)
        average = gather(part_sums, row, POWER) / width
        deviation = tl.sqrt(gather(part_squares, row, POWER) / width + eps)
        result = (values - average) / deviation * w + b
        tl.store(out + row * out_row + col * out_col, result, mask=real)
        row += 1


def layernorm(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, eps: float = 1e-5) -> torch.Tensor:
    height, width = x.shape
    PIECE, ROWS = 512, 4
    pieces = triton.cdiv(width, PIECE)
    POWER = triton.next_power_of_2(pieces)
    part_sums = torch.empty((height, pieces), dtype=torch.float32, device=x.device)
    part_squares = torch.empty_like(part_sums)
    out = x.new_empty((height, width))
    sums[(pieces, height)](x, part_sums, width, *x.stride(), PIECE=PIECE)
    distances[(pieces, height)](x, part_sums, part_squares, width, *x.stride(), PIECE=PIECE, POWER=POWER)
    finish[(pieces, triton.cdiv(height, ROWS))](
        x, weight, bias, out, part_sums, part_squares, height, width, *x.stride(), *out.stride(), eps,
        PIECE=PIECE, POWER=POWER, ROWS=ROWS,
    )  # fmt: skip
    return out
