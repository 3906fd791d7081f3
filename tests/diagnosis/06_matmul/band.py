"""One program per band of 128 rows, which walks over the columns of the result with two sums, for odd and even steps."""

import torch
import triton
import triton.language as tl


@triton.jit
def multiply(a_row, b_col, in_m, in_n, k_at, K, sak, sbk, BK: tl.constexpr):
    """The product of one step: a_row points at the rows' first elements, b_col at those of the columns."""
    k = k_at + tl.arange(0, BK).to(tl.int64)
    a = tl.load(a_row[:, None] + k[None, :] * sak, mask=in_m[:, None] & (k < K)[None, :], other=0.0)
    b = tl.load(b_col[None, :] + k[:, None] * sbk, mask=(k < K)[:, None] & in_n[None, :], other=0.0)
    return tl.dot(a, b, input_precision="ieee")


@triton.jit
def band_kernel(
    a_ptr, b_ptr, o_ptr, M, N, K, sam, sak, sbk, sbn, som, son, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    i = tl.program_id(0).to(tl.int64) * BM + tl.arange(0, BM)
    for j0 in range(0, N, BN):
        j = j0 + tl.arange(0, BN).to(tl.int64)
        even = tl.zeros((BM, BN), tl.float32)
        odd = tl.zeros((BM, BN), tl.float32)
        for k0 in range(0, K, 2 * BK):
            even += multiply(a_ptr + i * sam, b_ptr + j * sbn, i < M, j < N, k0, K, sak, sbk, BK)
            odd += multiply(a_ptr + i * sam, b_ptr + j * sbn, i < M, j < N, k0 + BK, K, sak, sbk, BK)
        done = (even + odd).to(o_ptr.dtype.element_ty)
        tl.store(o_ptr + i[:, None] * som + j[None, :] * son, done, mask=(i < M)[:, None] & (j < N)[None, :])


def matmul(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    (M, K), N = a.shape, b.shape[1]
    o = torch.empty((M, N), dtype=a.dtype, device=a.device)
    band_kernel[(triton.cdiv(M, 128),)](
        a, b, o, M, N, K, *a.stride(), *b.stride(), *o.stride(), BM=128, BN=128, BK=16, num_warps=8
    )
    return o
