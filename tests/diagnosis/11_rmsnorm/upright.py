"""RMS normalisation of upright tiles: columns of the matrix run down a tile, its rows lie side by side."""

import torch
import triton
import triton.language as tl


@triton.jit
def upright_rms(
    src, gain, dst, rows, cols, src_r, src_c, dst_r, dst_c, eps, groups,
    DOWN: tl.constexpr, SIDE: tl.constexpr,
):  # fmt: skip
    """Each program takes every so-manieth group of SIDE rows."""
    down = tl.arange(0, DOWN)
    g = tl.load(gain + down, mask=down < cols, other=0.0).to(tl.float32)
    for group in range(tl.program_id(0), groups, tl.num_programs(0)):
        src_at = tl.make_block_ptr(src, (cols, rows), (src_c, src_r), (0, group * SIDE), (DOWN, SIDE), (0, 1))
        dst_at = tl.make_block_ptr(dst, (cols, rows), (dst_c, dst_r), (0, group * SIDE), (DOWN, SIDE), (0, 1))
        t = tl.load(src_at, boundary_check=(0, 1), padding_option="zero").to(tl.float32)
        power = tl.sum(t * t, axis=0)
        size = tl.sqrt(power / cols + eps)
        unit = t / size[None, :]
        t = unit * g[:, None]
        tl.store(dst_at, t.to(dst.dtype.element_ty), boundary_check=(0, 1))


def rmsnorm(x, weight, eps=1e-6):
    rows, cols = x.shape
    out = torch.empty((rows, cols), dtype=x.dtype, device=x.device)
    DOWN = triton.next_power_of_2(cols)
    SIDE = 4 if DOWN <= 1024 else 1
    groups = triton.cdiv(rows, SIDE)
    upright_rms[(min(groups, 528),)](
        x, weight, out, rows, cols, x.stride(0), x.stride(1), out.stride(0), out.stride(1), eps, groups,
        DOWN=DOWN, SIDE=SIDE, num_warps=8,
    )  # fmt: skip
    return out
