"""Errors that beginners meet. Each kernel or function here provokes one: it is named after its entry in grader/errors.toml, and
what tells it from others of that entry follows two underscores. A docstring names the only engine that says it that way.
"""

import math

import numpy as np
import torch
import triton
import triton.language as tl
from torch._subclasses.fake_tensor import FakeTensorMode

SCALE = 2.0
ONE = tl.constexpr(1.0)


def launch(x, name):
    """Launch the kernel `name` on 64 elements, or call the function of that name."""
    found = globals()[name]
    if not hasattr(found, "run"):
        return found(x)
    out = torch.empty_like(x)
    found[(1,)](x, out, x.numel(), BLOCK=64)
    return out


# How long a tile is


@triton.jit
def tile_length(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, 100)
    tl.store(out_ptr + offs, 1.0)


@triton.jit
def tile_length__zeros(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    acc = tl.zeros((48,), dtype=tl.float32)
    tl.store(out_ptr + tl.arange(0, 64), acc)


@triton.jit
def tile_length_unknown(x_ptr, out_ptr, n, BLOCK):
    tl.store(out_ptr + tl.arange(0, BLOCK), 1.0)


@triton.jit
def tile_length_unknown__reassigned(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    size = BLOCK * tl.num_programs(0)
    tl.store(out_ptr + tl.arange(0, size), 1.0)


@triton.jit
def tile_shape_unknown(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    acc = tl.zeros((n,), dtype=tl.float32)
    tl.store(out_ptr + tl.arange(0, BLOCK), acc)


@triton.jit
def tile_shape_unknown__float(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    acc = tl.zeros((BLOCK / 2,), dtype=tl.float32)
    tl.store(out_ptr + tl.arange(0, BLOCK), acc)


@triton.jit
def tile_length_unknown__float(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    tl.store(out_ptr + tl.arange(0, BLOCK / 2), 1.0)


@triton.jit
def shape_not_a_tuple(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    tl.store(out_ptr + tl.arange(0, 64), tl.zeros(64, dtype=tl.float32))


@triton.jit
def tile_empty(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    tl.store(out_ptr + tl.arange(BLOCK, 0), 1.0)


@triton.jit
def tile_too_large(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, 2097152)
    tl.store(out_ptr + offs, 1.0, mask=offs < n)


# Shapes


@triton.jit
def shapes_differ(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, 64)) + tl.load(x_ptr + tl.arange(0, 32))
    tl.store(out_ptr + tl.arange(0, 64), x)


@triton.jit
def shapes_differ__mask(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    mask = tl.arange(0, 32) < n
    tl.store(out_ptr + tl.arange(0, 64), 1.0, mask=mask)


@triton.jit
def shapes_differ__mask_of_load(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, 64), mask=tl.arange(0, 32) < n, other=0.0)
    tl.store(out_ptr + tl.arange(0, 64), x)


@triton.jit
def shapes_differ__value(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, 32))
    tl.store(out_ptr + tl.arange(0, 64), x)


@triton.jit
def shapes_differ__reduced(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i, j = tl.arange(0, 16), tl.arange(0, 4)
    x = tl.load(x_ptr + i[:, None] * 4 + j[None, :])
    tl.store(out_ptr + i[:, None] * 4 + j[None, :], x - tl.max(x, axis=1))


@triton.jit
def shapes_differ__where(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, 64))
    tl.store(out_ptr + tl.arange(0, 64), tl.where(tl.arange(0, 32) < n, x, 0.0))


@triton.jit
def axes_differ(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    x = tl.broadcast_to(tl.load(x_ptr + tl.arange(0, 64)), (64, 64))
    y = tl.broadcast_to(x, (64,))
    tl.store(out_ptr + tl.arange(0, 64), y)


@triton.jit
def shapes_differ__store(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i, j = tl.arange(0, 16), tl.arange(0, 4)
    x = tl.load(x_ptr + i[:, None] * 4 + j[None, :])
    tl.store(out_ptr + i, x)


@triton.jit
def reshape_count(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, 64))
    tl.store(out_ptr + tl.arange(0, 64), tl.reshape(x, (32,)))


@triton.jit
def broadcast_size(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, 64))
    y = tl.broadcast_to(x[:, None], (32, 64))
    tl.store(out_ptr + tl.arange(0, 32)[:, None] * 64 + tl.arange(0, 64)[None, :], y)


# Pointers


@triton.jit
def pointer_without_offsets(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, 64)
    x = tl.load(x_ptr, mask=offs < n, other=0.0)
    tl.store(out_ptr + offs, x)


@triton.jit
def pointer_without_offsets__store(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, 64)
    tl.store(out_ptr, 1.0, mask=offs < n)


@triton.jit
def mask_not_boolean(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    """interpreter"""
    offs = tl.arange(0, 64)
    x = tl.load(x_ptr + offs, mask=offs, other=0.0)
    tl.store(out_ptr + offs, x)


@triton.jit
def block_to_one_address(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, 64))
    tl.store(out_ptr, x)


@triton.jit
def other_without_mask(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, 64), other=0.0)
    tl.store(out_ptr + tl.arange(0, 64), x)


@triton.jit
def not_a_pointer(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    x = tl.load(n + tl.arange(0, 64))
    tl.store(out_ptr + tl.arange(0, 64), x)


@triton.jit
def not_a_pointer__store(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, 64))
    tl.store(x, x)


@triton.jit
def not_a_pointer__constexpr(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    x = tl.load(BLOCK)
    tl.store(out_ptr, x)


@triton.jit
def not_a_pointer__atomic(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    tl.atomic_add(n + tl.arange(0, 64), 1)


@triton.jit
def pointer_arithmetic__float(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, 64) / 1
    x = tl.load(x_ptr + offs)
    tl.store(out_ptr + tl.arange(0, 64), x)


@triton.jit
def pointer_arithmetic(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    x = tl.load(x_ptr * 2)
    tl.store(out_ptr, x)


@triton.jit
def pointers_added(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    tl.store(out_ptr + x_ptr, 1.0)


@triton.jit
def pointer_as_value(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    tl.store(out_ptr + tl.arange(0, 64), tl.exp(x_ptr))


@triton.jit
def tensor_in_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    tl.store(out_ptr + tl.arange(0, 64), x_ptr.shape[0])


@triton.jit
def torch_method__stride(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    tl.store(out_ptr + tl.arange(0, 64) * x_ptr.stride(0), 1.0)


@triton.jit
def one_element__pointer(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    tl.store(out_ptr + tl.arange(0, 64), x_ptr[0])


@triton.jit
def one_element(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, 64))
    tl.store(out_ptr, x[0])


@triton.jit
def one_element__program(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    """interpreter"""
    x = tl.load(x_ptr + tl.arange(0, 64))
    tl.store(out_ptr, x[tl.program_id(0)])


@triton.jit
def one_element__slice(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, 64))
    tl.store(out_ptr + tl.arange(0, 32), x[0:32])


@triton.jit
def assigned_element(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, 64))
    x[0] = 1.0
    tl.store(out_ptr + tl.arange(0, 64), x)


@triton.jit
def assigned_element__pointer(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    """compiler"""
    out_ptr[tl.arange(0, 64)] = 1.0


@triton.jit
def _none_pointer(x_ptr, bias_ptr, out_ptr, n, BLOCK: tl.constexpr):
    bias = tl.load(bias_ptr + tl.arange(0, 64))
    tl.store(out_ptr + tl.arange(0, 64), bias)


def none_pointer(x):
    _none_pointer[(1,)](x, None, x, 64, BLOCK=64)


# dtypes


@triton.jit
def half_function(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, 64)).to(tl.float16)
    tl.store(out_ptr + tl.arange(0, 64), tl.exp(x))


@triton.jit
def half_function__sigmoid(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, 64)).to(tl.float16)
    tl.store(out_ptr + tl.arange(0, 64), tl.sigmoid(x))


@triton.jit
def _exponential(x):
    return tl.exp(x)


@triton.jit
def half_function__helper(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, 64)).to(tl.float16)
    tl.store(out_ptr + tl.arange(0, 64), _exponential(x))


@triton.jit
def int_function(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    tl.store(out_ptr + tl.arange(0, 64), tl.sqrt(tl.arange(0, 64)))


@triton.jit
def torch_in_triton__dtype(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, 64)).to(torch.float32)
    tl.store(out_ptr + tl.arange(0, 64), x)


@triton.jit
def torch_in_triton__zeros(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    x = tl.zeros((64,), dtype=torch.float32)
    tl.store(out_ptr + tl.arange(0, 64), x)


@triton.jit
def torch_in_triton__python(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    tl.store(out_ptr, tl.load(x_ptr).to(float))


@triton.jit
def number_too_large(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, 64)
    tl.store(out_ptr + offs, offs.to(tl.int8) + 300)


@triton.jit
def not_convertible(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, 64))
    tl.store(out_ptr + tl.arange(0, 64), tl.where(x > 0, x, "none"))


@triton.jit
def not_convertible__none(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    tl.store(out_ptr, None)


@triton.jit
def float_and_bits(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, 64))
    tl.store(out_ptr + tl.arange(0, 64), x & 1)


@triton.jit
def float_and_bits__invert(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, 64))
    tl.store(out_ptr + tl.arange(0, 64), ~x)


# tl.dot


@triton.jit
def dot_dtypes(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    a = tl.zeros((16, 16), dtype=tl.float32)
    b = tl.zeros((16, 16), dtype=tl.float16)
    tl.store(out_ptr + tl.arange(0, 16), tl.sum(tl.dot(a, b), axis=0))


@triton.jit
def dot_small(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    a = tl.zeros((16, 8), dtype=tl.float16)
    b = tl.zeros((8, 16), dtype=tl.float16)
    tl.store(out_ptr + tl.arange(0, 16), tl.sum(tl.dot(a, b), axis=0))


@triton.jit
def dot_inner(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    a = tl.zeros((16, 32), dtype=tl.float16)
    b = tl.zeros((16, 32), dtype=tl.float16)
    tl.store(out_ptr + tl.arange(0, 16), tl.sum(tl.dot(a, b), axis=0))


@triton.jit
def dot_rank(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    a = tl.zeros((16, 16), dtype=tl.float16)
    b = tl.zeros((16,), dtype=tl.float16)
    tl.store(out_ptr + tl.arange(0, 16), tl.sum(tl.dot(a, b), axis=0))


@triton.jit
def dot_rank__vectors(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    a = tl.zeros((16,), dtype=tl.float16)
    tl.store(out_ptr, tl.dot(a, a))


@triton.jit
def dot_rank__scalar(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    a = tl.zeros((16, 16), dtype=tl.float16)
    tl.store(out_ptr, tl.dot(a, 2.0))


@triton.jit
def dot_dtype(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    a = tl.zeros((16, 16), dtype=tl.int32)
    tl.store(out_ptr + tl.arange(0, 16), tl.sum(tl.dot(a, a), axis=0))


@triton.jit
def dot_accumulator(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    a = tl.zeros((16, 16), dtype=tl.float16)
    acc = tl.zeros((16, 32), dtype=tl.float32)
    tl.store(out_ptr + tl.arange(0, 16), tl.sum(tl.dot(a, a, acc), axis=1))


@triton.jit
def matmul_operator(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    a = tl.zeros((16, 16), dtype=tl.float16)
    tl.store(out_ptr + tl.arange(0, 16), tl.sum(a @ a, axis=1))


# Types that change


@triton.jit
def loop_changes_type(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    acc = 0.0
    for _ in range(n):
        acc += tl.load(x_ptr + tl.arange(0, 64))
    tl.store(out_ptr + tl.arange(0, 64), acc)


@triton.jit
def loop_changes_type__dtype(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    acc = tl.zeros((64,), dtype=tl.float16)
    for _ in range(n):
        acc = acc + tl.load(x_ptr + tl.arange(0, 64))
    tl.store(out_ptr + tl.arange(0, 64), acc)


@triton.jit
def loop_changes_type__int(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    total = 0
    for i in range(n):
        total = total + tl.load(x_ptr + i)
    tl.store(out_ptr, total)


@triton.jit
def loop_changes_type__while(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = 0
    acc = 0.0
    while i < n:
        acc = acc + tl.load(x_ptr + tl.arange(0, 64))
        i += 1
    tl.store(out_ptr + tl.arange(0, 64), acc)


@triton.jit
def loop_changes_constant(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    for _ in range(n):
        BLOCK = BLOCK // 2
    tl.store(out_ptr, BLOCK)


@triton.jit
def loop_changes_constant__tensor(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    """compiler"""
    last = tl.program_id(0)
    for _ in range(n):
        last = None
    tl.store(out_ptr, last)


@triton.jit
def branches_differ(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    if n > 5:
        value = tl.load(x_ptr + tl.arange(0, 64))
    else:
        value = 0.0
    tl.store(out_ptr + tl.arange(0, 64), value)


@triton.jit
def branches_differ__dtype(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    value = tl.zeros((64,), dtype=tl.float16)
    if n > 5:
        value = tl.load(x_ptr + tl.arange(0, 64))
    tl.store(out_ptr + tl.arange(0, 64), value)


@triton.jit
def branches_differ__expression(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    value = tl.load(x_ptr + tl.arange(0, 64)) if n > 5 else 0.0
    tl.store(out_ptr + tl.arange(0, 64), value)


@triton.jit
def unknown_name(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    tl.store(out_ptr + tl.arange(0, 64), valeu)


@triton.jit
def unknown_name__branch(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    if n > 100:
        value = 1.0
    tl.store(out_ptr + tl.arange(0, 64), value)


@triton.jit
def unknown_name__loop(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    for i in range(n - 64):
        value = tl.load(x_ptr + i)
    tl.store(out_ptr + tl.arange(0, 64), value)


@triton.jit
def global_number(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    tl.store(out_ptr + tl.arange(0, 64), SCALE)


@triton.jit
def helper_without_jit(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    tl.store(out_ptr + tl.arange(0, 64), _twice(tl.load(x_ptr + tl.arange(0, 64))))


def _twice(x):
    return tl.sum(x * 2)


# Python that a kernel cannot have


@triton.jit
def block_as_condition(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, 64))
    if x > 0:
        x = x + 1
    tl.store(out_ptr + tl.arange(0, 64), x)


@triton.jit
def branches_differ__block(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, 64))
    x = x if x > 0 else 0.0
    tl.store(out_ptr + tl.arange(0, 64), x)


@triton.jit
def python_function__bool(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, 64))
    tl.store(out_ptr + tl.arange(0, 64), bool(x > 0))


@triton.jit
def chained_comparison(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, 64)
    tl.store(out_ptr + offs, 1.0, mask=0 <= offs < n)


@triton.jit
def break_or_continue(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    for i in range(n):
        if i > 2:
            break
        tl.store(out_ptr + i, 1.0)


@triton.jit
def break_or_continue__continue(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    for i in range(n):
        if i > 2:
            continue
        tl.store(out_ptr + i, 1.0)


@triton.jit
def return_in_loop(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    for i in range(n):
        if i > 2:
            return
        tl.store(out_ptr + i, 1.0)


@triton.jit
def list_in_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    parts = [tl.load(x_ptr + i) for i in range(2)]
    tl.store(out_ptr, parts[0])


@triton.jit
def list_in_kernel__append(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    parts = []
    for i in range(n):
        parts.append(tl.load(x_ptr + i))
    tl.store(out_ptr, parts[0])


@triton.jit
def loop_over_list(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    for i in [0, 1, 2]:
        tl.store(out_ptr + i, 1.0)


@triton.jit
def loop_over_list__block(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    """compiler"""
    offs = tl.arange(0, 64)
    for o in offs:
        tl.store(out_ptr + o, 1.0)


@triton.jit
def python_function__enumerate(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    for i, o in enumerate(range(4)):
        tl.store(out_ptr + i + o, 1.0)


@triton.jit
def python_only__dictionary(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    table = {"a": 1.0}
    tl.store(out_ptr, table["a"])


@triton.jit
def python_only__lambda(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    f = lambda x: x * 2
    tl.store(out_ptr, f(tl.load(x_ptr)))


@triton.jit
def python_only__try(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    try:
        tl.store(out_ptr, 1.0)
    except ValueError:
        tl.store(out_ptr, 2.0)


@triton.jit
def python_only__import(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    import math as m

    tl.store(out_ptr, m.pi)


@triton.jit
def python_only__raise(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    if n < 0:
        raise ValueError("no")
    tl.store(out_ptr, 1.0)


@triton.jit
def python_only__global(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    global SCALE
    tl.store(out_ptr, 1.0)


@triton.jit
def python_only__delete(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    x = tl.load(x_ptr)
    del x
    tl.store(out_ptr, 1.0)


@triton.jit
def nested_function(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    """compiler"""
    def f(x):
        return x * 2

    tl.store(out_ptr, f(tl.load(x_ptr)))


@triton.jit
def assigned_twice(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    a = b = tl.load(x_ptr)
    tl.store(out_ptr, a + b)


@triton.jit
def format_string(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    text = f"{n} elements"
    tl.store(out_ptr, 1.0)


@triton.jit
def format_string__print(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    print(f"x is {tl.load(x_ptr)}")
    tl.store(out_ptr, 1.0)


@triton.jit
def print_first(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    print(tl.load(x_ptr))
    tl.store(out_ptr, 1.0)


@triton.jit
def print_first__device(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    tl.device_print(tl.load(x_ptr))
    tl.store(out_ptr, 1.0)


@triton.jit
def power(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, 64))
    tl.store(out_ptr + tl.arange(0, 64), x**2)


@triton.jit
def number_function(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    tl.store(out_ptr + tl.arange(0, 64), float(tl.load(x_ptr)))


@triton.jit
def number_function__int(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    tl.store(out_ptr + int(n / 2), 1.0)


@triton.jit
def number_function__len(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    tl.store(out_ptr, len(tl.arange(0, 64)))


@triton.jit
def python_function__sum(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    """compiler"""
    tl.store(out_ptr, sum(tl.load(x_ptr + tl.arange(0, 64))))


@triton.jit
def number_function__round(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    """interpreter"""
    tl.store(out_ptr, round(tl.load(x_ptr)))


@triton.jit
def torch_function(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, 64))
    tl.store(out_ptr + tl.arange(0, 64), torch.exp(x))


@triton.jit
def number_function__math(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    x = tl.load(x_ptr)
    tl.store(out_ptr, math.exp(x))


@triton.jit
def torch_function__zeros(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    """compiler"""
    x = torch.zeros(64)
    tl.store(out_ptr + tl.arange(0, 64), x)


@triton.jit
def torch_function__numpy(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    """compiler"""
    x = tl.load(x_ptr + tl.arange(0, 64))
    tl.store(out_ptr + tl.arange(0, 64), np.exp(x))


@triton.jit
def block_as_number(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    """interpreter"""
    x = tl.load(x_ptr + tl.arange(0, 64))
    tl.store(out_ptr + tl.arange(0, 64), math.sqrt(x))


@triton.jit
def torch_method(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, 64))
    tl.store(out_ptr + tl.arange(0, 64), x.float())


@triton.jit
def torch_method__mean(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, 64))
    tl.store(out_ptr, x.mean())


@triton.jit
def unknown_option__dim(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, 64))
    tl.store(out_ptr, tl.sum(x, dim=0))


@triton.jit
def unknown_option(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, 64), masks=tl.arange(0, 64) < n)
    tl.store(out_ptr + tl.arange(0, 64), x)


@triton.jit
def unknown_option__axis(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, 64))
    tl.store(out_ptr + tl.arange(0, 64), tl.exp(x, axis=0))


@triton.jit
def missing_option(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    tl.store(out_ptr + tl.arange(0, 64))


@triton.jit
def missing_option__arange(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    tl.store(out_ptr + tl.arange(64), 1.0)


@triton.jit
def missing_option__where(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, 64))
    tl.store(out_ptr + tl.arange(0, 64), tl.where(x > 0))


@triton.jit
def no_such_function(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, 64))
    tl.store(out_ptr + tl.arange(0, 64), tl.tanh(x))


@triton.jit
def no_such_function__math(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, 64))
    tl.store(out_ptr + tl.arange(0, 64), tl.math.tanh(x))


@triton.jit
def no_such_name(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, 64))
    tl.store(out_ptr + tl.arange(0, 64), triton.mean(x))


@triton.jit
def maximum_of_two(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    """interpreter"""
    x = tl.load(x_ptr + tl.arange(0, 64))
    tl.store(out_ptr + tl.arange(0, 64), tl.max(x, x))


@triton.jit
def maximum_of_two__number(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, 64))
    tl.store(out_ptr + tl.arange(0, 64), tl.max(x, 0.0))


@triton.jit
def no_such_axis(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, 64))
    tl.store(out_ptr, tl.sum(x, axis=1))


@triton.jit
def no_such_axis__expand(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, 64))
    tl.store(out_ptr + tl.arange(0, 64), tl.expand_dims(x, 3))


@triton.jit
def no_such_axis__softmax(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, 64))
    tl.store(out_ptr + tl.arange(0, 64), tl.softmax(x, dim=1))


@triton.jit
def two_results(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    """compiler"""
    x = tl.load(x_ptr + tl.arange(0, 64))
    value, _ = tl.max(x, axis=0)
    tl.store(out_ptr, value)


@triton.jit
def outside_kernel__axis(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    """compiler"""
    x = tl.load(x_ptr + tl.arange(0, 64))
    tl.store(out_ptr + tl.arange(0, 64), tl.max(x, x))


@triton.jit
def _added(a, b):
    return a + b


@triton.jit
def missing_option__helper(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    tl.store(out_ptr, _added(tl.load(x_ptr)))


@triton.jit
def program_axis(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    tl.store(out_ptr + tl.program_id(3), 1.0)


@triton.jit
def loop_bounds(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    for i in range(0, n / 16):
        tl.store(out_ptr + i, 1.0)


@triton.jit
def loop_bounds__constant(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    """compiler"""
    for i in range(0, BLOCK / 16):
        tl.store(out_ptr + i, 1.0)


@triton.jit
def static_range(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    for i in tl.static_range(n):
        tl.store(out_ptr + i, 1.0)


@triton.jit
def _text_argument(x_ptr, mode, BLOCK: tl.constexpr):
    if mode == "double":
        tl.store(x_ptr, 1.0)


def text_argument(x):
    _text_argument[(1,)](x, "double", BLOCK=64)


@triton.jit
def static_assertion(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    tl.static_assert(BLOCK == 32, "BLOCK must be 32")
    tl.store(out_ptr, 1.0)


@triton.jit
def compiler_failed(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    return tl.load(x_ptr + tl.arange(0, 64))


@triton.jit
def constant_reassigned(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    size: tl.constexpr = 4
    size: tl.constexpr = 8
    tl.store(out_ptr + size, 1.0)


@triton.jit
def attribute_assigned(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    x = tl.load(x_ptr)
    x.value = 1.0
    tl.store(out_ptr, x)


@triton.jit
def transposed_vector(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, 64))
    tl.store(out_ptr + tl.arange(0, 64), tl.trans(x))


@triton.jit
def transposed_vector__T(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, 64))
    tl.store(out_ptr + tl.arange(0, 64), x.T)


@triton.jit
def float_and_bits__division(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, 64))
    tl.store(out_ptr + tl.arange(0, 64), x // 2.0)


@triton.jit
def block_pointers(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    block = tl.make_block_ptr(x_ptr, (64,), (1,), (0,), (64,), (0,))  # gone from Triton 3.9 on
    x = tl.load(block, mask=tl.arange(0, 64) < n)
    tl.store(out_ptr + tl.arange(0, 64), x)


# The host


@triton.jit
def _copy(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + offs, tl.load(x_ptr + offs, mask=offs < n), mask=offs < n)


def torch_in_triton__no_grid(x):
    """interpreter"""
    _copy(x, x, 64, BLOCK=64)


def no_grid(x):
    """compiler"""
    _copy(x, x, 64, BLOCK=64)


def no_grid__option(x):
    _copy(x, x, 64, BLOCK=64, num_warps=4)


def grid_number(x):
    _copy[1](x, x, 64, BLOCK=64)


def grid_fraction(x):
    _copy[(x.numel() / 64,)](x, x, 64, BLOCK=64)


def grid_fraction__function(x):
    _copy[lambda meta: (x.numel() / meta["BLOCK"],)](x, x, 64, BLOCK=64)


def grid_number__function(x):
    _copy[lambda meta: triton.cdiv(64, meta["BLOCK"])](x, x, 64, BLOCK=64)


def grid_axes(x):
    _copy[(1, 1, 1, 1)](x, x, 64, BLOCK=64)


def grid_name(x):
    _copy[lambda meta: (triton.cdiv(64, meta["BLOCK_SIZE"]),)](x, x, 64, BLOCK=64)


def grid_fraction__tensor(x):
    _copy[(torch.tensor([1, 2]),)](x, x, 64, BLOCK=64)


def missing_argument(x):
    _copy[(1,)](x, x, BLOCK=64)


def missing_argument__constexpr(x):
    _copy[(1,)](x, x, 64)


def unknown_argument(x):
    _copy[(1,)](x, x, 64, BLOCK=64, BLOCKS=3)


def too_many_arguments(x):
    _copy[(1,)](x, x, 64, 64, 64)


def argument_twice(x):
    _copy[(1,)](x, x, 64, 64, BLOCK=64)


def argument_twice__tensor(x):
    _copy[(1,)](x, x, 64, BLOCK=64, x_ptr=x)


def warps(x):
    _copy[(1,)](x, x, 64, BLOCK=64, num_warps=3)


def list_argument(x):
    _copy[(1,)]([1.0, 2.0], x, 64, BLOCK=64)


def number_too_large__argument(x):
    _copy[(1,)](x, x, 1 << 70, BLOCK=64)


def list_argument__constexpr(x):
    _copy[(1,)](x, x, 64, BLOCK=[64])


def list_argument__numpy(x):
    _copy[(1,)](x.numpy(), x, 64, BLOCK=64)


def list_argument__dtype(x):
    """compiler"""
    _copy[(1,)](x, x, x.dtype, BLOCK=64)


def torch_in_triton__constexpr(x):
    _copy[(1,)](x, x, 64, BLOCK=torch.tensor(64))


def _plain(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    tl.store(out_ptr + tl.arange(0, BLOCK), 1.0)


def kernel_without_jit(x):
    _plain[(1,)](x, x, 64, BLOCK=64)


def no_grid__zeros(x):
    return tl.zeros((4,), dtype=tl.float32)


def outside_kernel__host(x):
    return tl.program_id(0)


def no_grid__cdiv(x):
    return tl.cdiv(x.numel(), 64)


@triton.autotune(configs=[triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 32})], key=["n"])
@triton.jit
def _tuned(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + offs, 1.0, mask=offs < n)


def tuned_twice(x):
    _tuned[(1,)](x, x, 64, BLOCK=64)


def argument_twice__tuned(x):
    _tuned[(1,)](x, x, 64, 64)


@triton.autotune(configs=[triton.Config({"BLOCKS": 64}), triton.Config({"BLOCKS": 32})], key=["n"])
@triton.jit
def _tuned_name(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    tl.store(out_ptr + tl.arange(0, BLOCK), 1.0)


def missing_argument__tuned(x):
    _tuned_name[(1,)](x, x, 64)


def device(x):
    return torch.empty(64, device="cuda")


def device__moved(x):
    return x.cuda()


@torch.library.custom_op("errors::copied", mutates_args=())
def _copied(x: torch.Tensor) -> torch.Tensor:
    return x


def operator_returns_input(x):
    return torch.ops.errors.copied(x)


@torch.library.custom_op("errors::changed", mutates_args=())
def _changed(x: torch.Tensor) -> torch.Tensor:
    return torch.ones_like(x)


def operator_without_fake(x):
    with FakeTensorMode() as mode:
        return torch.ops.errors.changed(mode.from_tensor(x))


def operator_types(x):
    @torch.library.custom_op("errors::untyped", mutates_args=())
    def untyped(x):
        return x


def operator_types__return(x):
    @torch.library.custom_op("errors::half_typed", mutates_args=())
    def half_typed(x: torch.Tensor):
        return x


def operator_name(x):
    @torch.library.custom_op("nameless", mutates_args=())
    def nameless(x: torch.Tensor) -> torch.Tensor:
        return x


def operator_mutates(x):
    torch.library.custom_op("errors::unpromised")


def missing_module(x):
    import cupy


def no_such_name__import(x):
    from triton.language import tanh
