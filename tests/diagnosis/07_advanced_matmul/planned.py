"""The host plans the tiles and counts them; a heuristic leaves out the masks along K where no step is ragged."""

import torch
import triton
import triton.language as tl


@triton.jit
def my_tile(pid, high, wide, GROUP: tl.constexpr):
    """Row and column of a tile: down through the rows of a group, then to the next column."""
    top = pid // (wide * GROUP) * GROUP
    rows = high - top if high - top < GROUP else GROUP
    nth = pid - top * wide
    return top + nth % rows, nth // rows


@triton.heuristics({"WHOLE": lambda args: args["K"] % args["BK"] == 0})
@triton.jit
def planned_kernel(
    x, y, plus, z, M, N, K, high, wide, xm, xk, yk, yn, plus_n, zm, zn,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr, BIASED: tl.constexpr, WHOLE: tl.constexpr,
):  # fmt: skip
    pid = tl.program_id(0)
    row, col = my_tile(pid, high, wide, GROUP)
    i = row.to(tl.int64) * BM + tl.arange(0, BM)
    j = col.to(tl.int64) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK).to(tl.int64)
    in_m, in_n = i[:, None] < M, j[None, :] < N
    x += i[:, None] * xm
    y += j[None, :] * yn
    total = tl.zeros((BM, BN), tl.float32)
    for _ in range(tl.cdiv(K, BK)):
        if WHOLE:
            xs = tl.load(x + k[None, :] * xk, mask=in_m, other=0.0)
            ys = tl.load(y + k[:, None] * yk, mask=in_n, other=0.0)
        else:
            xs = tl.load(x + k[None, :] * xk, mask=in_m & (k[None, :] < K), other=0.0)
            ys = tl.load(y + k[:, None] * yk, mask=in_n & (k[:, None] < K), other=0.0)
        total = tl.dot(xs, ys, total, input_precision="ieee")
        k += BK
    if BIASED:
        total += tl.load(plus + j * plus_n, mask=j < N, other=0.0).to(tl.float32)[None, :]
    tl.store(z + i[:, None] * zm + j[None, :] * zn, total.to(z.dtype.element_ty), mask=in_m & in_n)


def advanced_matmul(a: torch.Tensor, b: torch.Tensor, bias: torch.Tensor | None = None) -> torch.Tensor:
    M, K = a.shape
    N = b.shape[1]
    z = a.new_empty(M, N)
    BM, BN, BK = (64, 128, 32) if M > 64 else (32, 64, 64)
    high, wide = triton.cdiv(M, BM), triton.cdiv(N, BN)
    planned_kernel[(high * wide,)](
        a, b, a if bias is None else bias, z, M, N, K, high, wide, *a.stride(), *b.stride(),
        1 if bias is None else bias.stride(0), *z.stride(), BM=BM, BN=BN, BK=BK, GROUP=4, BIASED=bias is not None,
    )  # fmt: skip
    return z
