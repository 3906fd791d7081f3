"""As many rows per program as make 4096 elements, and one kernel for both functions."""

import torch
import triton
import triton.language as tl


@triton.jit
def by_hand(t):
    """The shares of all rows of a tile."""
    top = tl.max(t, axis=1, keep_dims=True)
    grown = tl.exp(t - top)
    total = tl.sum(grown, axis=1, keep_dims=True)
    return grown / total


@triton.jit
def flock_kernel(x, y, m, n, xm, xn, ym, yn, OWN: tl.constexpr, HIGH: tl.constexpr, WIDE: tl.constexpr):
    i = (tl.program_id(0) * HIGH + tl.arange(0, HIGH)).to(tl.int64)
    j = tl.arange(0, WIDE)
    valid = (i[:, None] < m) & (j[None, :] < n)
    t = tl.load(x + i[:, None] * xm + j[None, :] * xn, mask=valid, other=float("-inf"))
    t = t.to(tl.float32)
    share = by_hand(t) if OWN else tl.softmax(t, dim=1, keep_dims=True)
    tl.store(y + i[:, None] * ym + j[None, :] * yn, share, mask=valid)


def launch(x, own):
    m, n = x.shape
    y = torch.empty_like(x)
    wide = triton.next_power_of_2(n)
    high = max(1, 4096 // wide)
    grid = (triton.cdiv(m, high),)
    flock_kernel[grid](x, y, m, n, *x.stride(), *y.stride(), OWN=own, HIGH=high, WIDE=wide, num_warps=8)
    return y


def softmax(x: torch.Tensor) -> torch.Tensor:
    return launch(x, False)


def stable_softmax(x: torch.Tensor) -> torch.Tensor:
    return launch(x, True)
