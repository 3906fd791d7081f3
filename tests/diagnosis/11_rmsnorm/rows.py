"""RMS normalisation of a group of rows in each program."""

import torch
import triton
import triton.language as tl


@triton.jit
def group_rms(src, gain, dst, m, n, s_m, s_n, d_m, d_n, eps, GROUP: tl.constexpr, WIDE: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * GROUP + tl.arange(0, GROUP)
    j = tl.arange(0, WIDE)
    box = (i < m)[:, None] & (j < n)[None, :]
    t = tl.load(src + i[:, None] * s_m + j[None, :] * s_n, mask=box, other=0.0)
    t = t.to(tl.float32)
    power = tl.sum(t * t, 1) / n
    root = tl.sqrt(power + eps)
    t = t / root[:, None]
    g = tl.load(gain + j, mask=j < n, other=0.0).to(tl.float32)
    tl.store(dst + i[:, None] * d_m + j[None, :] * d_n, t * g[None, :], mask=box)


def rmsnorm(x, weight, eps=1e-6):
    m, n = x.shape
    y = torch.empty((m, n), dtype=x.dtype, device=x.device)
    WIDE = triton.next_power_of_2(n)
    GROUP = max(1, min(8, 8192 // WIDE))
    group_rms[(triton.cdiv(m, GROUP),)](x, weight, y, m, n, *x.stride(), *y.stride(), eps, GROUP=GROUP, WIDE=WIDE)
    return y
