"""Every private name of Triton that the grader uses, in one place, for Triton 3.6 to 3.9.

`self_test` and `notices_accesses` run at start-up. Without launches nothing is graded; without accesses, memory safety and
traffic are reported as "not checked".
"""

import inspect
import random
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy
import torch
import triton
import triton.language as tl
from triton.compiler.errors import CompilationError, CompileTimeAssertionFailure
from triton.language.semantic import TritonSemantic
from triton.runtime import interpreter
from triton.runtime.autotuner import Autotuner
from triton.runtime.errors import InterpreterError
from triton.runtime.interpreter import InterpretedFunction, InterpreterBuilder, TensorHandle
from triton.runtime.jit import JITFunction

from grader.runner.sanitizer import Sanitizer, active, as_booleans

# Operators that the interpreter itself calls while it launches a kernel, to bring arguments to the host and back.
LAUNCH_OPERATORS = frozenset({"empty", "new_empty", "set_", "copy_", "_to_copy", "detach", "alias"})

Around = Callable[[str, dict[str, object]], Any]  # (kernel name, its arguments by name) -> context manager around the launch


def self_test(interpreting: bool) -> str:
    """An empty string if the private names are there and do their work, else what is wrong.

    On the interpreter a small kernel is launched and must be noticed, which also loads what a first launch loads.
    """
    if interpreting and _version(triton) < (3, 7) and _version(numpy) >= (2, 4):
        # A loop over a kernel argument calls int() on an array of one element, which numpy 2.4 refuses.
        return "its interpreter fails under numpy 2.4 and newer; install numpy below 2.4, or Triton 3.7"
    for kind in (InterpretedFunction, JITFunction):
        parameters = inspect.signature(kind.run).parameters
        if not {"grid", "warmup"} <= set(parameters):
            return f"{kind.__name__}.run no longer takes grid and warmup"
    if not hasattr(Autotuner, "do_bench") or not hasattr(Autotuner, "_bench"):
        return "Autotuner has no do_bench or no _bench"
    return "a launch was not noticed" if interpreting and not _notices_a_launch() else ""


@triton.jit
def _one_kernel(out_ptr):  # type: ignore[no-untyped-def]
    tl.store(out_ptr, tl.load(out_ptr) + tl.program_id(axis=0) + 1)


def _notices_a_launch() -> bool:
    noticed: list[str] = []

    @contextmanager
    def around(kernel: str, arguments: dict[str, object]) -> Iterator[None]:
        noticed.append(kernel)
        yield

    out = torch.zeros(1)
    with around_launches(around, nullcontext):
        _one_kernel[(1,)](out)
    return noticed == ["_one_kernel"] and float(out) == 1.0


def notices_accesses() -> bool:
    """Whether the sanitizer sees every load and store of a small kernel on this interpreter."""
    sanitizer, out = Sanitizer(Path()), torch.zeros(1)
    try:
        with around_accesses(sanitizer, shuffle=None, nonsense="zero"):
            sanitizer.begin_launch("_one_kernel", [("out_ptr", out)])
            _one_kernel[(1,)](out)
    except Exception:  # a name is gone, or takes something else: whatever it is, nothing can be said
        return False
    return sanitizer.traffic.bytes == 2 * out.element_size()


def _version(module: Any) -> tuple[int, ...]:
    return tuple(int(part) for part in module.__version__.split(".")[:2])


@contextmanager
def around_launches(around: Around, around_tuning: Callable[[], AbstractContextManager[None]]) -> Iterator[None]:
    """While this is open, every launch of a kernel happens inside `around(kernel name, arguments by name)`.

    An autotuner that tries a configuration does so inside `around_tuning()`: it allocates and copies on its own account.
    """
    patches = [
        (InterpretedFunction, "run", _wrapped(InterpretedFunction.run, around)),
        (JITFunction, "run", _wrapped(JITFunction.run, around)),
        (Autotuner, "_bench", _inside(Autotuner._bench, around_tuning)),
    ]
    originals = [(owner, name, getattr(owner, name)) for owner, name, _ in patches]
    for owner, name, patched in patches:
        setattr(owner, name, patched)
    try:
        yield
    finally:
        for owner, name, original in originals:
            setattr(owner, name, original)


def _inside(original: Callable[..., Any], context: Callable[[], AbstractContextManager[None]]) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        with context():
            return original(*args, **kwargs)

    return call


def _wrapped(original: Callable[..., Any], around: Around) -> Callable[..., Any]:
    def run(self: Any, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> Any:
        if warmup:
            return original(self, *args, grid=grid, warmup=warmup, **kwargs)
        with around(self.fn.__name__, {**dict(zip(self.arg_names, args, strict=False)), **kwargs}):
            return original(self, *args, grid=grid, warmup=warmup, **kwargs)

    return run


@contextmanager
def around_accesses(sanitizer: Sanitizer, shuffle: int | None, nonsense: str) -> Iterator[None]:
    """While this is open, `sanitizer` sees every access of an interpreted kernel before it happens.

    shuffle: the seed of a random order of the programs of each launch; None for the usual one. nonsense: what lanes get that
    a load masks without saying what they are: "nan", "huge" or "zero".
    """
    saying: list[bool] = []  # whether the load under way says what masked lanes are
    patches = [
        (interpreter, "_interpreter", _Accesses(interpreter._interpreter, sanitizer)),
        (InterpreterBuilder, "set_grid_idx", _set_grid_idx(InterpreterBuilder.set_grid_idx, sanitizer, shuffle)),
        (TritonSemantic, "load", _load(TritonSemantic.load, saying)),
        (InterpreterBuilder, "create_masked_load", _create_masked_load(sanitizer, nonsense, saying)),
        (InterpreterBuilder, "create_descriptor_store", _create_descriptor_store(sanitizer)),
        (InterpreterBuilder, "create_dot", _counting_products(InterpreterBuilder.create_dot, sanitizer)),
        *((InterpreterBuilder, name, _counting(getattr(InterpreterBuilder, name), sanitizer)) for name in _SPECIAL),
    ]
    originals = [(owner, name, getattr(owner, name)) for owner, name, _ in patches]
    for owner, name, patched in patches:
        setattr(owner, name, patched)
    try:
        yield
    finally:
        for owner, name, original in originals:
            setattr(owner, name, original)


# What a GPU computes in its special function units, or by many instructions.
_SPECIAL = (
    "create_exp", "create_exp2", "create_log", "create_log2", "create_sin", "create_cos", "create_sqrt",
    "create_precise_sqrt", "create_rsqrt", "create_erf",
)  # fmt: skip


def _counting(original: Callable[..., Any], sanitizer: Sanitizer) -> Callable[..., Any]:
    def function(self: Any, argument: Any) -> Any:
        sanitizer.traffic.specials += int(argument.data.size)
        return original(self, argument)

    return function


def _counting_products(original: Callable[..., Any], sanitizer: Sanitizer) -> Callable[..., Any]:
    def create_dot(self: Any, a: Any, b: Any, *rest: Any) -> Any:
        sanitizer.traffic.flops += 2 * int(a.data.size) * int(b.data.shape[-1])
        return original(self, a, b, *rest)

    return create_dot


class _Accesses:
    """Stands in for the interpreter's module that touches memory. Pointers are arrays of addresses."""

    def __init__(self, real: Any, sanitizer: Sanitizer) -> None:
        self._real = real
        self._sanitizer = sanitizer

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def load(self, pointers: Any, mask: Any, other: Any, dtype: Any) -> Any:
        mask = as_booleans(mask)
        self._sanitizer.notice_tile(tuple(pointers.shape))
        self._sanitizer.load(active(pointers, mask), dtype.itemsize)
        return self._real.load(pointers, mask, other, dtype)

    def store(self, pointers: Any, value: Any, mask: Any) -> Any:
        mask = as_booleans(mask)

        def changes() -> Any:
            before = self._real.load(pointers, mask, numpy.zeros_like(value), value.dtype)
            bits = f"u{value.itemsize}"
            changed = numpy.ascontiguousarray(before).view(bits) != numpy.ascontiguousarray(value).view(bits)
            return changed.ravel()[mask.ravel()]

        self._sanitizer.store(active(pointers, mask), value.itemsize, changes)
        return self._real.store(pointers, value, mask)

    def atomic_rmw(self, operation: Any, pointers: Any, value: Any, mask: Any, order: Any) -> Any:
        mask = as_booleans(mask)
        self._sanitizer.atomic(active(pointers, mask), value.itemsize)
        return self._real.atomic_rmw(operation, pointers, value, mask, order)

    def atomic_cas(self, pointers: Any, expected: Any, value: Any, order: Any) -> Any:
        self._sanitizer.atomic(active(pointers, numpy.ones_like(pointers, dtype=bool)), value.itemsize)
        return self._real.atomic_cas(pointers, expected, value, order)


def _set_grid_idx(original: Callable[..., None], sanitizer: Sanitizer, shuffle: int | None) -> Callable[..., None]:
    """Tell the sanitizer which program begins; in a shuffled launch it is another one than the interpreter thinks."""
    orders: dict[tuple[int, ...], list[int]] = {}

    def set_grid_idx(self: Any, x: int, y: int, z: int) -> None:
        grid = tuple(int(n) for n in self.grid_dim)
        place = (x * grid[1] + y) * grid[2] + z
        if shuffle is not None:
            if grid not in orders:
                orders[grid] = _shuffled(grid[0] * grid[1] * grid[2], shuffle)
            place = orders[grid][place]
        program = (place // (grid[1] * grid[2]), place // grid[2] % grid[1], place % grid[2])
        sanitizer.begin_program(program, grid)
        original(self, *program)

    return set_grid_idx


def _shuffled(count: int, seed: int) -> list[int]:
    """The numbers below `count` in a random order, which is not the usual one."""
    order = random.Random(seed).sample(range(count), count)
    return order if order != list(range(count)) else order[::-1]


def _load(original: Callable[..., Any], saying: list[bool]) -> Callable[..., Any]:
    """Of a single element, the interpreter forgets an `other` of 0 on its way to `create_masked_load`."""

    def load(self: Any, ptr: Any, mask: Any, other: Any, *rest: Any, **options: Any) -> Any:
        saying.append(other is not None)
        try:
            return original(self, ptr, mask, other, *rest, **options)
        finally:
            saying.pop()

    return load


def _create_masked_load(sanitizer: Sanitizer, nonsense: str, saying: list[bool]) -> Callable[..., Any]:
    original = InterpreterBuilder.create_masked_load

    def create_masked_load(self: Any, ptrs: Any, mask: Any, other: Any, *rest: Any, **options: Any) -> Any:
        if other is None and not any(saying) and not numpy.asarray(mask.data).all():
            sanitizer.omits_other()
            if nonsense != "zero":
                element = ptrs.get_element_ty()
                other = TensorHandle(numpy.full(ptrs.data.shape, *_nonsense(element, nonsense)), element)
        return original(self, ptrs, mask, other, *rest, **options)

    return create_masked_load


def _create_descriptor_store(sanitizer: Sanitizer) -> Callable[..., Any]:
    """A GPU stores through a descriptor in whole pieces of 16 bytes, also where the innermost dimension ends inside of one.

    Seen on an H200 (compute capability 9.0) with Triton 3.6, and in https://github.com/triton-lang/triton/issues/11583.
    """
    original = InterpreterBuilder.create_descriptor_store

    def create_descriptor_store(self: Any, desc: Any, value: Any, indices: Any) -> Any:
        pointers, mask = desc.materialize_pointers(indices)
        item, size = value.data.itemsize, int(desc.shape[-1].data.item())
        columns = int(indices[-1].data.item()) + numpy.arange(desc.block_shape[-1])
        tail = (columns >= size) & (columns * item < -(-size * item // 16) * 16)
        mask = mask if isinstance(mask, numpy.ndarray) else mask.data  # until Triton 3.8, and since
        rows = mask[..., :1]  # a block begins inside the tensor, or all of it is masked
        sanitizer.overrun(active(pointers.data, rows & tail))
        return original(self, desc, value, indices)

    return create_descriptor_store


def _nonsense(element: Any, kind: str) -> tuple[Any, Any]:
    """A value that shows wherever it gets to, and the numpy type that the interpreter keeps it in.

    Neither kind alone is enough: a maximum may skip NaN, and a huge number times 0 is 0.
    """
    kept = interpreter._get_np_dtype(element)
    if element == tl.bfloat16:
        return (0x7FC0 if kind == "nan" else 0x7149), kept  # kept as its bits: NaN, 10^30
    if kept.kind == "f":
        return (numpy.nan if kind == "nan" else 6e4 if kept.itemsize == 2 else 1e30), kept
    return (True if kept.kind == "b" else numpy.iinfo(kept).max), kept


def tensors_of(argument: object) -> list[torch.Tensor]:
    """The tensors behind one argument of a launch: itself, the base of a tensor descriptor, the members of a tuple."""
    if isinstance(argument, torch.Tensor):
        return [argument]
    if isinstance(argument, tuple):
        return [tensor for member in argument for tensor in tensors_of(member)]
    base = getattr(argument, "base", None)
    return [base] if isinstance(base, torch.Tensor) else []


_prune_configs = Autotuner.prune_configs


def autotune_without_a_driver(price: Callable[[Callable[[], object]], float]) -> None:
    """Let `@triton.autotune` work in the interpreter, where there is no device to time on: `price` says what a call costs.

    With random prices every configuration is used over the cases of a test: a wrong one cannot hide behind a right one. A
    submission that brings a benchmark of its own keeps it.
    """

    def bench(self: Autotuner) -> Callable[..., list[float]]:
        return self._do_bench or (lambda kernel_call, quantiles=None: [price(kernel_call)] * 3)

    def different(self: Autotuner, *arguments: Any) -> list[Any]:
        kept = _prune_configs(self, *arguments)
        return list({(str(config.kwargs), config.pre_hook): config for config in kept}.values())

    Autotuner.do_bench = property(bench)
    Autotuner.prune_configs = different  # warps and stages make no difference here


def root_cause(error: BaseException) -> BaseException:
    """The exception behind the wrappers that Triton puts around what went wrong in a kernel."""
    while isinstance(error, InterpreterError) and error.__cause__ is not None:
        error = error.__cause__
    return error


def is_refusal(error: BaseException) -> bool:
    """Whether Triton refused the kernel's code, by its compiler or, on the interpreter, by the language itself."""
    if isinstance(error, CompilationError | CompileTimeAssertionFailure):
        return True
    frames = [(trace.tb_frame.f_code.co_filename, trace.tb_frame.f_code.co_name) for trace in tracebacks(error)]
    last, function = frames[-1] if frames else ("", "")
    finder = any(file.endswith("triton/runtime/jit.py") and name.startswith("visit") for file, name in frames)
    of_language = "/triton/language/" in last or "/triton/compiler/" in last or last.endswith("/triton/_utils.py")
    return finder or of_language or function in ("check_axis", "check_tensor")


def tracebacks(error: BaseException) -> Iterator[TracebackType]:
    """Every frame of `error` and of what caused it, outermost first."""
    current: BaseException | None = error
    while current is not None:
        trace = current.__traceback__
        while trace is not None:
            yield trace
            trace = trace.tb_next
        current = current.__cause__
