"""A pair for every tile, merged into the pair of the tiles before; split: a team of 16 takes a row's tiles in turn."""

import torch
import triton
import triton.language as tl


@triton.jit
def or_zero(high):
    return tl.where(high == float("-inf"), 0.0, high)


@triton.jit
def read_tile(row_ptr, step, first, n_cols, WIDTH: tl.constexpr):
    col = first + tl.arange(0, WIDTH)
    return tl.load(row_ptr + col * step, mask=col < n_cols, other=float("-inf")).to(tl.float32)


@triton.jit
def pair_of(tile):
    """Maximum and sum of one tile alone."""
    high = tl.max(tile, axis=0)
    norm = tl.sum(tl.exp(tile - or_zero(high)), axis=0)
    return high, norm


@triton.jit
def merged(high_a, norm_a, high_b, norm_b):
    """The pair of two sets of columns together."""
    high = tl.maximum(high_a, high_b)
    norm_a *= tl.exp(high_a - or_zero(high))
    norm_b *= tl.exp(high_b - or_zero(high))
    return high, norm_a + norm_b


@triton.jit
def merge_kernel(inp, outp, n_cols, in_row, in_col, out_row, out_col, WIDTH: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    inp += row * in_row
    outp += row * out_row
    high = float("-inf")
    norm = 0.0
    for first in range(0, n_cols, WIDTH):
        tile = read_tile(inp, in_col, first, n_cols, WIDTH)
        tile_high, tile_norm = pair_of(tile)
        high, norm = merged(high, norm, tile_high, tile_norm)

    for first in range(0, n_cols, WIDTH):
        tile = read_tile(inp, in_col, first, n_cols, WIDTH)
        col = first + tl.arange(0, WIDTH)
        tl.store(outp + col * out_col, tl.exp(tile - high) / norm, mask=col < n_cols)


def online_softmax(x: torch.Tensor) -> torch.Tensor:
    n_rows, n_cols = x.shape
    out = torch.empty_like(x)
    merge_kernel[(n_rows,)](x, out, n_cols, *x.stride(), *out.stride(), WIDTH=2048, num_warps=8)
    return out


@triton.jit
def member_kernel(inp, highs, norms, n_cols, in_row, in_col, TEAM: tl.constexpr, WIDTH: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    member = tl.program_id(1)
    high = float("-inf")
    norm = 0.0
    for first in range(member * WIDTH, n_cols, TEAM * WIDTH):
        tile_high, tile_norm = pair_of(read_tile(inp + row * in_row, in_col, first, n_cols, WIDTH))
        high, norm = merged(high, norm, tile_high, tile_norm)
    tl.store(highs + row * TEAM + member, high)
    tl.store(norms + row * TEAM + member, norm)


@triton.jit
def team_kernel(highs, norms, row_highs, row_norms, TEAM: tl.constexpr):
    row = tl.program_id(0)
    high = tl.load(highs + row * TEAM)
    norm = tl.load(norms + row * TEAM)
    for member in tl.static_range(1, TEAM):
        place = row * TEAM + member
        high, norm = merged(high, norm, tl.load(highs + place), tl.load(norms + place))
    tl.store(row_highs + row, high)
    tl.store(row_norms + row, norm)


@triton.jit
def result_kernel(inp, row_highs, row_norms, outp, n_cols, in_row, in_col, out_row, out_col, WIDTH: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    first = tl.program_id(1) * WIDTH
    tile = read_tile(inp + row * in_row, in_col, first, n_cols, WIDTH)
    share = tl.exp(tile - tl.load(row_highs + row)) / tl.load(row_norms + row)
    col = first + tl.arange(0, WIDTH)
    tl.store(outp + row * out_row + col * out_col, share, mask=col < n_cols)


def split_online_softmax(x: torch.Tensor) -> torch.Tensor:
    n_rows, n_cols = x.shape
    TEAM, WIDTH = 16, 2048
    highs = torch.empty((n_rows, TEAM), dtype=torch.float32, device=x.device)
    norms = torch.empty((n_rows, TEAM), dtype=torch.float32, device=x.device)
    row_highs = torch.empty(n_rows, dtype=torch.float32, device=x.device)
    row_norms = torch.empty(n_rows, dtype=torch.float32, device=x.device)
    out = torch.empty_like(x)
    n_tiles = triton.cdiv(n_cols, WIDTH)
    member_kernel[(n_rows, TEAM)](x, highs, norms, n_cols, *x.stride(), TEAM=TEAM, WIDTH=WIDTH)
    team_kernel[(n_rows,)](highs, norms, row_highs, row_norms, TEAM=TEAM)
    result_kernel[(n_rows, n_tiles)](x, row_highs, row_norms, out, n_cols, *x.stride(), *out.stride(), WIDTH=WIDTH)
    return out
