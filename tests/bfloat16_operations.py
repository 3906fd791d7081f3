"""Run by test_bfloat16: prints, as JSON, how many elements of each operation's result differ from PyTorch's."""

import json

import numpy
import torch
import triton
import triton.language as tl

from grader.runner import bfloat16

bfloat16.mend()
torch.manual_seed(0)  # once in some hundred draws, exp of numpy and exp of torch round a value to different neighbours


@triton.jit
def operation(x_ptr, y_ptr, out_ptr, NAME: tl.constexpr, N: tl.constexpr):  # noqa: C901  (a table)
    offs = tl.arange(0, N)
    x = tl.load(x_ptr + offs)
    y = tl.load(y_ptr + offs)
    if NAME == "add":
        out = x + y
    elif NAME == "times_two":
        out = 2 * x
    elif NAME == "times_fraction":
        out = x * 0.3
    elif NAME == "divide":
        out = (x / y).to(tl.bfloat16)
    elif NAME == "maximum":
        out = tl.maximum(x, y)
    elif NAME == "where":
        out = tl.where(x > y, x, y)
    elif NAME == "less":
        out = (x < y).to(tl.bfloat16)
    elif NAME == "exp":
        out = tl.exp(x.to(tl.float32))
    elif NAME == "to_float16":
        out = x.to(tl.float16)
    elif NAME == "from_int":
        out = offs.to(tl.bfloat16)
    elif NAME == "to_int":
        out = x.to(tl.int32).to(tl.float32)
    elif NAME == "negate":
        out = -x
    elif NAME == "abs":
        out = tl.abs(x)
    elif NAME == "sum":
        out = tl.sum(x, axis=0) + 0 * y
    elif NAME == "row_max":
        out = tl.max(x, axis=0) + 0 * y
    elif NAME == "scan":
        out = tl.cumsum(x.to(tl.float32), axis=0)
    elif NAME == "full":
        out = tl.full((N,), 1.5, tl.bfloat16) + x
    elif NAME == "zeros":
        out = tl.zeros((N,), tl.bfloat16) + x
    tl.store(out_ptr + offs, out)


@triton.jit
def product(a_ptr, b_ptr, out_ptr, N: tl.constexpr):
    offs = tl.arange(0, N)
    tile = offs[:, None] * N + offs[None, :]
    tl.store(out_ptr + tile, tl.dot(tl.load(a_ptr + tile), tl.load(b_ptr + tile)))


def differing(got, right):
    return int((got != right).sum())


def main():
    x, y = 3 * torch.randn(64).bfloat16(), torch.randn(64).bfloat16()
    wide = x.float()
    right = {
        "add": x + y,
        "times_two": 2 * x,
        "times_fraction": x * torch.tensor(0.3).bfloat16(),
        "divide": x / y,
        "maximum": torch.maximum(x, y),
        "where": torch.maximum(x, y),
        "less": (x < y).bfloat16(),
        "exp": wide.exp().bfloat16(),
        "to_float16": x.half().bfloat16(),
        "from_int": torch.arange(64).bfloat16(),
        "to_int": wide.int().bfloat16(),
        "negate": -x,
        "abs": x.abs(),
        "sum": wide.sum().bfloat16().expand(64),
        "row_max": x.max().expand(64),
        "scan": torch.from_numpy(numpy.cumsum(wide.numpy())).bfloat16(),
        "full": x + 1.5,
        "zeros": x,
    }
    differences = {}
    for name, wanted in right.items():
        out = torch.empty_like(x)
        operation[(1,)](x, y, out, name, 64)
        differences[name] = differing(out, wanted)
    a, b = (torch.randint(-4, 5, (32, 32)).bfloat16() for _ in range(2))  # sums that float32 holds exactly
    out = torch.empty(32, 32)
    product[(1,)](a, b, out, 32)
    differences["dot"] = differing(out, a.float() @ b.float())
    values = torch.randn(100_000) * 10.0 ** torch.randint(-38, 38, (100_000,))
    rounded = torch.from_numpy(bfloat16.narrow(values.numpy()).view(numpy.int16)).view(torch.bfloat16)
    differences["round_to_even"] = differing(rounded, values.bfloat16())
    marked = numpy.array([0x7FC5, 0xFFC1], dtype=numpy.uint16)
    differences["keep_nan"] = int((bfloat16.narrow(bfloat16.widen(marked)) != marked).sum())
    toward_zero = bfloat16.widen(bfloat16.narrow(values.numpy(), truncate=True))
    differences["truncate"] = int((numpy.abs(toward_zero) > numpy.abs(values.numpy())).sum())
    print(json.dumps(differences))


main()
