"""At most 48 programs take the tiles in turn, in rounds; a helper knows which elements are in a tile."""

import torch
import triton
import triton.language as tl


@triton.jit
def elements_of(tile, amount, TILE: tl.constexpr):
    place = tile * TILE + tl.arange(0, TILE)
    return place, place < amount


@triton.jit
def rounds_kernel(u_ptr, v_ptr, w_ptr, amount, n_tiles, TILE: tl.constexpr):
    tile = tl.program_id(0).to(tl.int64)
    while tile < n_tiles:
        place, exists = elements_of(tile, amount, TILE)
        u = tl.load(u_ptr + place, exists, 0.0)
        v = tl.load(v_ptr + place, exists, 0.0)
        tl.store(w_ptr + place, u + v, exists)
        tile += tl.num_programs(0)


def vector_add(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    w = torch.empty_like(x)
    if 0 in x.shape:  # nothing to add
        return w
    amount = x.numel()
    tile = 2048
    n_tiles = (amount + tile - 1) // tile
    rounds_kernel[(min(n_tiles, 48),)](x, y, w, amount, n_tiles, TILE=tile, num_warps=8)
    return w
