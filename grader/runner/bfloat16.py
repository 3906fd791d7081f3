"""bfloat16 for Triton's interpreter, which keeps such numbers as their 16 bits and computes with these as with integers.

Mended, an operation widens its operands to float32, computes there, and rounds once to nearest even: what a GPU does.
"""

from collections.abc import Callable
from typing import Any

import numpy
import triton.language as tl
from numpy.typing import NDArray
from triton.runtime import interpreter
from triton.runtime.interpreter import InterpreterBuilder, ReduceOps, ScanOps, TensorHandle

# Operations of the builder, and which of their operands has the type of the result.
_OPERATIONS = {
    "binary_op": 0,
    "unary_op": 0,
    "create_erf": 0,
    "create_rsqrt": 0,
    "create_fma": 2,
    "ternary_op": 2,
    "create_dot": 2,
}


def mend() -> None:
    """Replace, for good, the operations of this process's interpreter that are wrong for bfloat16."""
    for name, decisive in _OPERATIONS.items():
        setattr(InterpreterBuilder, name, _in_float32(getattr(InterpreterBuilder, name), decisive))
    InterpreterBuilder.cast_impl = _cast(InterpreterBuilder.cast_impl)
    InterpreterBuilder.create_fp_to_fp = _cast(InterpreterBuilder.create_fp_to_fp)
    InterpreterBuilder.get_bf16 = lambda self, value: TensorHandle(narrow(numpy.array([value])), tl.bfloat16)
    for kind in (ReduceOps, ScanOps):
        kind.apply_impl = _reduced_in_float32(kind.apply_impl)


def widen(bits: NDArray[numpy.uint16]) -> NDArray[numpy.float32]:
    """The numbers that are kept as `bits`, as float32: exact."""
    return (bits.astype(numpy.uint32) << 16).view(numpy.float32)


def narrow(values: NDArray[Any], truncate: bool = False) -> NDArray[numpy.uint16]:
    """The nearest bfloat16 numbers, ties to even, as bits; truncate: the nearest toward zero. NaN stays the same NaN."""
    bits = numpy.asarray(values, dtype=numpy.float32).view(numpy.uint32)
    upper = bits >> 16
    if not truncate:
        upper = numpy.where(numpy.isnan(values), upper | 0x40, (bits + 0x7FFF + (upper & 1)) >> 16)
    return upper.astype(numpy.uint16)


def _is_bfloat16(operand: object) -> bool:
    return isinstance(operand, TensorHandle) and operand.dtype.scalar == tl.bfloat16


def _in_float32(original: Callable[..., Any], decisive: int) -> Callable[..., Any]:
    def operation(self: Any, *operands: Any) -> Any:
        if not any(_is_bfloat16(operand) for operand in operands):
            return original(self, *operands)
        wide = [TensorHandle(widen(o.data), tl.float32) if _is_bfloat16(o) else o for o in operands]
        result = original(self, *wide)
        if not _is_bfloat16(operands[decisive]):
            return result
        data = result.data if result.data.dtype == bool else narrow(result.data)  # a comparison's result is no number
        return TensorHandle(data, tl.bfloat16)

    return operation


def _cast(original: Callable[..., Any]) -> Callable[..., Any]:
    def cast(self: Any, source: Any, target_type: Any, *rounding: Any) -> Any:
        kinds = source.dtype.scalar, target_type.scalar
        truth = source.data.dtype == bool  # of a comparison: the interpreter gives it the type of what was compared
        if tl.bfloat16 not in kinds or (kinds[0] == kinds[1] and not truth) or any(k.primitive_bitwidth == 8 for k in kinds):
            return original(self, source, target_type, *rounding)
        values = widen(source.data) if kinds[0] == tl.bfloat16 and not truth else source.data
        if kinds[1] == tl.bfloat16:
            truncate = interpreter._ir.ROUNDING_MODE.RTZ in rounding
            return TensorHandle(narrow(values, truncate), tl.bfloat16)
        return TensorHandle(values.astype(interpreter._get_np_dtype(target_type)), kinds[1])

    return cast


def _reduced_in_float32(original: Callable[..., Any]) -> Callable[..., Any]:
    def apply_impl(self: Any, inputs: Any) -> Any:
        if not any(_is_bfloat16(tensor.handle) for tensor in inputs):
            return original(self, inputs)
        wide = [self.to_tensor(widen(t.handle.data), tl.float32) if _is_bfloat16(t.handle) else t for t in inputs]
        result = original(self, tuple(wide))
        results = result if isinstance(result, list | tuple) else [result]
        return [_narrowed(self, t) if t.dtype.scalar == tl.float32 else t for t in results]

    return apply_impl


def _narrowed(owner: Any, tensor: Any) -> Any:
    data = narrow(tensor.handle.data)
    return owner.to_tensor(data if tensor.type.is_block() else data.reshape(-1)[0], tl.bfloat16)
