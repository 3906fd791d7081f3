"""Triton's interpreter, sped up: what it does again and again at each operation is done once, or by numpy at a stroke.

Nothing here decides anything: where a result could differ, the interpreter's own code runs.
"""

import inspect
from collections.abc import Callable
from typing import Any

import numpy
from triton.language.core import is_builtin
from triton.language.semantic import TritonSemantic
from triton.runtime import interpreter
from triton.runtime.interpreter import GridExecutor

_OPERATIONS = {"add": numpy.add, "sub": numpy.subtract, "mul": numpy.multiply}


def speed_up() -> None:
    """Replace, for good, functions of this process's interpreter that take nearly half of its time."""
    TritonSemantic.binary_op_sanitize_overflow_impl = _overflow(TritonSemantic.binary_op_sanitize_overflow_impl)
    interpreter._get_np_dtype = _numpy_type(interpreter._get_np_dtype)
    patched: set[Any] = set()
    interpreter._patch_builtin = _by_name(interpreter._patch_attr)
    interpreter._patch_lang = _once(interpreter._patch_lang, patched)
    GridExecutor.__call__ = _forgetting(GridExecutor.__call__, patched)


def _overflow(original: Callable[..., None]) -> Callable[..., None]:
    """The check of integer arithmetic, which takes the interpreter eight operations of its own."""

    def check(self: Any, lhs: Any, rhs: Any, binary_op: Any) -> None:
        kind = lhs.type.scalar
        operation = _OPERATIONS.get(binary_op.__name__)
        if operation is not None and kind.int_bitwidth < 64:
            result = operation(lhs.handle.data, rhs.handle.data, dtype=numpy.int64)
            if result.size and kind.get_int_min_value() <= result.min() and result.max() <= kind.get_int_max_value():
                return
        original(self, lhs, rhs, binary_op)

    return check


def _numpy_type(original: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The numpy type of a type of Triton's, which depends on its elements alone."""
    known: dict[str, Any] = {}

    def numpy_type(kind: Any) -> Any:
        name = kind.scalar.name
        if name not in known:
            known[name] = original(kind)
        return known[name]

    return numpy_type


def _by_name(replace: Callable[..., None]) -> Callable[..., None]:
    """Which parts of a module or class are the language's own is found out once, with its members in alphabetical order."""
    names: dict[Any, list[str]] = {}

    def patch(owner: Any, builder: Any, scope: Any) -> None:
        if owner not in names:
            names[owner] = [name for name, member in inspect.getmembers(owner) if is_builtin(member)]
        for name in names[owner]:
            member = getattr(owner, name)
            if is_builtin(member):
                replace(owner, name, member, builder, scope)

    return patch


def _once(original: Callable[[Any], Any], patched: set[Any]) -> Callable[[Any], Any]:
    """At each call of a device function the interpreter searches the language for what it has replaced already."""

    def patch(function: Any) -> Any:
        if function in patched:
            return None  # only a launch uses what comes back, and it is always the first
        scope = original(function)
        patched.add(function)
        return scope

    return patch


def _forgetting(original: Callable[..., Any], patched: set[Any]) -> Callable[..., Any]:
    """A launch puts its replacements in place and takes them away again."""

    def launch(self: Any, *args: Any, **kwargs: Any) -> Any:
        patched.clear()
        try:
            return original(self, *args, **kwargs)
        finally:
            patched.clear()

    return launch
