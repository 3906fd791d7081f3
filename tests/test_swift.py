"""Triton's interpreter, sped up, says what it says by itself. That kernels come out right is for the other tests."""

import inspect
from itertools import product

import numpy
import pytest
import triton.language as tl
from triton.language.semantic import TritonSemantic
from triton.runtime import interpreter
from triton.runtime.interpreter import TensorHandle, interpreter_semantic

from grader.runner import swift

INTEGERS = [tl.int1, tl.int8, tl.uint8, tl.int16, tl.uint16, tl.int32, tl.uint32, tl.int64, tl.uint64]
OTHERS = [tl.float16, tl.bfloat16, tl.float32, tl.float64, tl.float8e5, tl.float8e4nv, tl.pointer_type(tl.float32)]


def complains(check, kind, name, *values):
    """Whether the check finds an overflow."""
    shaped = tl.block_type(kind, [1])
    operands = [tl.tensor(TensorHandle(numpy.array([v], interpreter._get_np_dtype(kind)), kind), shaped) for v in values]
    try:
        check(interpreter_semantic, *operands, getattr(interpreter_semantic, name))
    except AssertionError:
        return True
    return False


@pytest.mark.parametrize("name", ["add", "sub", "mul"])
@pytest.mark.parametrize("kind", INTEGERS, ids=str)
def test_the_same_overflows_are_noticed(kind, name):
    original = TritonSemantic.binary_op_sanitize_overflow_impl
    check = swift._overflow(original)
    limits = numpy.iinfo(interpreter._get_np_dtype(kind)) if kind != tl.int1 else None
    values = (0, 1) if limits is None else (limits.min, limits.min + 1, limits.max // 2, limits.max - 1, limits.max, 0, 1, 2)
    for pair in product(values, repeat=2):
        assert complains(check, kind, name, *pair) == complains(original, kind, name, *pair), pair


def test_overflow_is_left_to_the_original_only_where_there_is_one():
    asked = []
    check = swift._overflow(lambda self, lhs, rhs, operation: asked.append(int(lhs.handle.data[0])))
    complains(check, tl.int32, "mul", 2**15, 2**15)
    complains(check, tl.int32, "mul", 2**16, 2**15)
    assert asked == [2**16]


@pytest.mark.parametrize("kind", [*INTEGERS, *OTHERS], ids=str)
def test_types_of_numpy_are_the_same(kind):
    numpy_type = swift._numpy_type(interpreter._get_np_dtype)
    for asked in (kind, tl.block_type(kind, [4, 2]), kind):
        assert numpy_type(asked) == interpreter._get_np_dtype(asked)


@pytest.mark.parametrize("owner", [tl, tl.core, tl.tensor, tl.math])
def test_the_same_parts_of_the_language_are_replaced(owner):
    replaced = []
    patch = swift._by_name(lambda owner, name, member, builder, scope: replaced.append((name, member)))
    for _ in range(2):
        replaced.clear()
        patch(owner, None, None)
        assert replaced == [part for part in inspect.getmembers(owner) if tl.core.is_builtin(part[1])] != []


def test_a_function_is_prepared_once_in_a_launch():
    patched, prepared = set(), []
    patch = swift._once(lambda function: prepared.append(function) or "scope", patched)
    launch = swift._forgetting(lambda self: [patch("kernel"), patch("device"), patch("device")], patched)
    for _ in range(2):
        assert launch(None) == ["scope", "scope", None]
    assert prepared == 2 * ["kernel", "device"]
