"""A few programs walk over all rows; one helper folds a tile into the pair of a row."""

import torch
import triton
import triton.language as tl


@triton.jit
def fold(biggest, total, x):
    """The pair of all columns so far, with the tile x taken in."""
    larger = tl.maximum(biggest, tl.max(x, axis=0))
    safe = tl.where(larger > float("-inf"), larger, 0.0)
    total = total * tl.exp(biggest - safe) + tl.sum(tl.exp(x - safe), axis=0)
    return larger, total


@triton.jit
def read(x_row, cols, n_cols, step):
    return tl.load(x_row + cols * step, mask=cols < n_cols, other=float("-inf")).to(tl.float32)


@triton.jit
def walker_kernel(x_ptr, y_ptr, n_rows, n_cols, x_row, x_col, y_row, y_col, LEN: tl.constexpr):
    lanes = tl.arange(0, LEN)
    row = tl.program_id(0).to(tl.int64)
    while row < n_rows:
        x_base = x_ptr + row * x_row
        y_base = y_ptr + row * y_row
        biggest = float("-inf")
        total = 0.0
        for tile in tl.range(0, tl.cdiv(n_cols, LEN)):
            biggest, total = fold(biggest, total, read(x_base, tile * LEN + lanes, n_cols, x_col))
        for tile in tl.range(0, tl.cdiv(n_cols, LEN)):
            cols = tile * LEN + lanes
            weights = tl.exp(read(x_base, cols, n_cols, x_col) - biggest)
            tl.store(y_base + cols * y_col, weights / total, mask=cols < n_cols)
        row += tl.num_programs(0)


def online_softmax(x: torch.Tensor) -> torch.Tensor:
    n_rows, n_cols = x.shape
    y = torch.empty_like(x)
    walker_kernel[(min(n_rows, 132),)](x, y, n_rows, n_cols, *x.stride(), *y.stride(), LEN=2048, num_warps=8)
    return y


@triton.jit
def chunk_kernel(x_ptr, top_ptr, mass_ptr, n_cols, n_chunks, x_row, x_col, LEN: tl.constexpr):
    number = tl.program_id(0)
    row = (number // n_chunks).to(tl.int64)
    x = read(x_ptr + row * x_row, number % n_chunks * LEN + tl.arange(0, LEN), n_cols, x_col)
    top, mass = fold(float("-inf"), 0.0, x)
    tl.store(top_ptr + number, top)
    tl.store(mass_ptr + number, mass)


@triton.jit
def join_kernel(top_ptr, mass_ptr, row_top_ptr, row_mass_ptr, n_chunks):
    row = tl.program_id(0)
    top = float("-inf")
    mass = 0.0
    for chunk in tl.range(0, n_chunks):
        here = tl.load(top_ptr + row * n_chunks + chunk)
        new = tl.maximum(top, here)
        safe = tl.where(new > float("-inf"), new, 0.0)
        mass = mass * tl.exp(top - safe) + tl.load(mass_ptr + row * n_chunks + chunk) * tl.exp(here - safe)
        top = new
    tl.store(row_top_ptr + row, top)
    tl.store(row_mass_ptr + row, mass)


@triton.jit
def divide_kernel(x_ptr, row_top_ptr, row_mass_ptr, y_ptr, n_cols, x_row, x_col, y_row, y_col, LEN: tl.constexpr):
    row = tl.program_id(1).to(tl.int64)
    cols = tl.program_id(0) * LEN + tl.arange(0, LEN)
    x = read(x_ptr + row * x_row, cols, n_cols, x_col)
    top = tl.load(row_top_ptr + row)
    mass = tl.load(row_mass_ptr + row)
    tl.store(y_ptr + row * y_row + cols * y_col, tl.exp(x - top) / mass, mask=cols < n_cols)


def split_online_softmax(x: torch.Tensor) -> torch.Tensor:
    n_rows, n_cols = x.shape
    LEN = 4096
    n_chunks = triton.cdiv(n_cols, LEN)
    tops = torch.empty(n_rows * n_chunks, dtype=torch.float32, device=x.device)
    masses = torch.empty_like(tops)
    row_tops = torch.empty(n_rows, dtype=torch.float32, device=x.device)
    row_masses = torch.empty_like(row_tops)
    y = torch.empty_like(x)
    chunk_kernel[(n_rows * n_chunks,)](x, tops, masses, n_cols, n_chunks, *x.stride(), LEN=LEN)
    join_kernel[(n_rows,)](tops, masses, row_tops, row_masses, n_chunks)
    divide_kernel[(n_chunks, n_rows)](x, row_tops, row_masses, y, n_cols, *x.stride(), *y.stride(), LEN=LEN)
    return y
