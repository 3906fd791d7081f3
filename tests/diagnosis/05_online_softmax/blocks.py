"""Block pointers along the row; the split form cuts every row into at most eight parts of several tiles each."""

import torch
import triton
import triton.language as tl


@triton.jit
def row_block(base, n_cols, step, start, TILE: tl.constexpr):
    return tl.make_block_ptr(base, shape=(n_cols,), strides=(step,), offsets=(start,), block_shape=(TILE,), order=(0,))


@triton.jit
def online_kernel(inp, outp, n_cols, in_row, in_col, out_row, out_col, TILE: tl.constexpr):
    i = tl.program_id(axis=0).to(tl.int64)
    source = row_block(inp + i * in_row, n_cols, in_col, 0, TILE)
    peak = float("-inf")
    denom = 0.0
    for j in range(0, n_cols, TILE):
        v = tl.load(source, boundary_check=(0,), padding_option="zero").to(tl.float32)
        v = tl.where(j + tl.arange(0, TILE) < n_cols, v, float("-inf"))
        best = tl.maximum(tl.max(v, axis=0), peak)
        if best > float("-inf"):
            denom = denom * tl.exp(peak - best) + tl.sum(tl.exp(v - best), axis=0)
        peak = best
        source = tl.advance(source, (TILE,))
    source = row_block(inp + i * in_row, n_cols, in_col, 0, TILE)
    target = row_block(outp + i * out_row, n_cols, out_col, 0, TILE)
    for _ in range(0, n_cols, TILE):
        v = tl.load(source, boundary_check=(0,), padding_option="zero").to(tl.float32)
        tl.store(target, (tl.exp(v - peak) / denom).to(outp.dtype.element_ty), boundary_check=(0,))
        source = tl.advance(source, (TILE,))
        target = tl.advance(target, (TILE,))


def online_softmax(x):
    rows, cols = x.shape
    result = torch.empty((rows, cols), dtype=x.dtype, device=x.device)
    online_kernel[(rows,)](
        x, result, cols, x.stride(0), x.stride(1), result.stride(0), result.stride(1), TILE=4096, num_warps=16
    )
    return result


@triton.jit
def part_kernel(inp, peaks, denoms, n_cols, per_part, in_row, in_col, PARTS: tl.constexpr, TILE: tl.constexpr):
    i = tl.program_id(axis=0).to(tl.int64)
    part = tl.program_id(axis=1)
    end = tl.minimum(n_cols, (part + 1) * per_part)
    peak = float("-inf")
    denom = 0.0
    for j in range(part * per_part, end, TILE):
        cols = j + tl.arange(0, TILE)
        v = tl.load(inp + i * in_row + cols * in_col, mask=cols < end, other=float("-inf")).to(tl.float32)
        best = tl.maximum(tl.max(v, axis=0), peak)
        base = tl.where(best == float("-inf"), 0.0, best)
        denom = denom * tl.exp(peak - base) + tl.sum(tl.exp(v - base), axis=0)
        peak = best
    tl.store(peaks + i * PARTS + part, peak)
    tl.store(denoms + i * PARTS + part, denom)


@triton.jit
def merge_kernel(peaks, denoms, row_peak, row_denom, PARTS: tl.constexpr):
    i = tl.program_id(axis=0)
    peak = tl.load(peaks + i * PARTS + tl.arange(0, PARTS))
    denom = tl.load(denoms + i * PARTS + tl.arange(0, PARTS))
    best = tl.max(peak, axis=0)
    base = tl.where(best == float("-inf"), 0.0, best)
    tl.store(row_peak + i, best)
    tl.store(row_denom + i, tl.sum(denom * tl.exp(peak - base), axis=0))


@triton.jit
def write_kernel(inp, row_peak, row_denom, outp, n_cols, in_row, in_col, out_row, out_col, TILE: tl.constexpr):
    i = tl.program_id(axis=0).to(tl.int64)
    cols = tl.program_id(axis=1) * TILE + tl.arange(0, TILE)
    v = tl.load(inp + i * in_row + cols * in_col, mask=cols < n_cols, other=0.0).to(tl.float32)
    share = tl.exp(v - tl.load(row_peak + i)) / tl.load(row_denom + i)
    tl.store(outp + i * out_row + cols * out_col, share, mask=cols < n_cols)


def split_online_softmax(x):
    rows, cols = x.shape
    PARTS = 8
    TILE = 1024
    per_part = triton.cdiv(triton.cdiv(cols, PARTS), TILE) * TILE
    peaks = torch.empty((rows, PARTS), dtype=torch.float32, device=x.device)
    denoms = torch.empty((rows, PARTS), dtype=torch.float32, device=x.device)
    row_peak = torch.empty((rows,), dtype=torch.float32, device=x.device)
    row_denom = torch.empty((rows,), dtype=torch.float32, device=x.device)
    result = torch.empty((rows, cols), dtype=x.dtype, device=x.device)
    part_kernel[(rows, PARTS)](x, peaks, denoms, cols, per_part, *x.stride(), PARTS=PARTS, TILE=TILE)
    merge_kernel[(rows,)](peaks, denoms, row_peak, row_denom, PARTS=PARTS)
    write_kernel[(rows, triton.cdiv(cols, TILE))](
        x, row_peak, row_denom, result, cols, *x.stride(), *result.stride(), TILE=TILE
    )
    return result
