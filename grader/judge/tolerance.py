"""How far an honest kernel's result may lie from the oracle, element by element, computed from the problem itself.

    allowed = 2 · ( u·(|ref| + R)  +  tiny  +  u32·( √n·S + 4·|ref| ) )

ref: the oracle's value in float64, on the very inputs the submission got. u: unit roundoff of the dtype of inputs and
output, for one rounding at the store, and for R, where the contract rounds something on the way. u32 = 2⁻²⁴: unit
roundoff of the float32 accumulator. n: length of the longest sum that makes one element. S: the same operation on
absolute values, the scale against which rounding errors in a sum are measured.

The √n comes from rounding errors adding up like a random walk (Higham and Mary, 2019, "A new approach to probabilistic
rounding error analysis"); n·u32 would be the worst case and would hide bugs. The factor 2 was calibrated: honest variants
used at most half of the bound, and known mistakes exceeded it at least twice over.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

SAFETY = 2.0
U32 = 2.0**-24
# GPUs may flush float32 results below the smallest normal number to zero (PTX .ftz), so that much is always allowed.
FLUSHED = torch.finfo(torch.float32).tiny


@dataclass(frozen=True)
class Oracle:
    """The truth about one function: plain PyTorch, given the inputs in float64 and giving back float64.

    value: the formula. scale: S above, the same formula on absolute values; None for an operation that does not round
    (a maximum, a copy), whose results must be exact. length: n above, from the inputs. rounded: R above, the formula on
    absolute values of an intermediate that the contract rounds to the dtype of the inputs; None if there is none.
    """

    value: Callable[..., Tensor | tuple[Tensor, ...]]
    scale: Callable[..., Tensor | tuple[Tensor, ...]] | None = None
    length: Callable[..., int] = lambda *inputs: 1
    rounded: Callable[..., Tensor | tuple[Tensor, ...]] | None = None


def allowed(expected: Tensor, scale: Tensor, length: int, dtype: torch.dtype, rounded: Tensor | float = 0.0) -> Tensor:
    """The largest error that is no fault, for each element. expected, scale, rounded: float64, of one shape."""
    limits = torch.finfo(dtype)
    tiny = max(limits.smallest_normal * limits.eps / 2, FLUSHED)
    size = expected.abs()
    bound: Tensor = SAFETY * (limits.eps / 2 * (size + rounded) + tiny + U32 * (length**0.5 * scale + 4 * size))
    return bound
