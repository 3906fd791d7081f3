"""Load a submission, and turn what it raises into a line of its own file and a sentence. Never a stack trace of ours."""

import importlib.util
import linecache
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from triton.compiler.errors import CompilationError

from grader.results import Kind
from grader.runner import triton_private
from grader.runner.sanitizer import OutsideMemory


class Unloadable(Exception):
    """The submission has no such function."""


def load(path: Path) -> ModuleType:
    """Import the file as a module named `kernel`. Raises whatever the submission raises."""
    linecache.clearcache()  # of a file that was here before: Triton asks it for the source of a kernel
    spec = importlib.util.spec_from_file_location("kernel", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def find_functions(module: ModuleType, names: Sequence[str]) -> dict[str, Callable[..., Any]]:
    """The functions that the exercise asks for. Raises Unloadable with a sentence for the learner."""
    for name in names:
        if not callable(getattr(module, name, None)):
            raise Unloadable(f"kernel.py defines no function `{name}`; the exercise asks for {', '.join(names)}.")
    return {name: getattr(module, name) for name in names}


def explain(error: BaseException, path: Path, loading: bool = False) -> dict[str, Any]:
    """What went wrong, as a frame: kind, message, and the line of the submission's file if there is one."""
    cause = triton_private.root_cause(error)
    line = _compile_line(cause, path) or _syntax_line(cause, path) or _last_line(error, path)
    source = path.read_text(encoding="utf-8", errors="replace").splitlines()
    return {
        "kind": _kind(cause, loading),
        "exception": type(cause).__name__,
        "message": _message(cause),
        "raised": _raised(error),
        "line": line,
        "source": source[line - 1].strip()[:200] if 0 < line <= len(source) else "",
    }


def _kind(cause: BaseException, loading: bool) -> Kind:
    text = str(cause)
    if isinstance(cause, MemoryError | torch.OutOfMemoryError) or "can't allocate memory" in text:
        return Kind.MEMORY
    if isinstance(cause, OutsideMemory) or "illegal memory access" in text or "misaligned address" in text:
        return Kind.OUTSIDE
    if loading or isinstance(cause, Unloadable) or triton_private.is_refusal(cause):
        return Kind.COMPILE
    return Kind.CRASH


def _message(cause: BaseException) -> str:
    """What the exception says, at most 600 characters; Triton's compile errors without their excerpts of the source."""
    while isinstance(cause, CompilationError) and cause.__cause__ is not None:
        cause = cause.__cause__  # one around the other, for each function of Triton or of the kernel on the way
    text = getattr(cause, "error_message", None) or str(cause)
    return text.strip()[:600]


def _raised(error: BaseException) -> str:
    """The module and the function that raised it, as "triton.language.core:__getitem__"; the submission is "kernel"."""
    frames = [trace.tb_frame for trace in triton_private.tracebacks(error)]
    return f"{frames[-1].f_globals.get('__name__')}:{frames[-1].f_code.co_name}" if frames else ""


def _compile_line(cause: BaseException, path: Path) -> int:
    """Triton counts lines from the top of a function's source; find where that source stands in the file.

    Of functions that call each other, the innermost that is there.
    """
    inner = _compile_line(cause.__cause__, path) if isinstance(cause.__cause__, CompilationError) else 0
    node, excerpt = getattr(cause, "node", None), getattr(cause, "src", None)
    if inner or node is None or not isinstance(excerpt, str):
        return inner
    text = path.read_text(encoding="utf-8", errors="replace")
    place = text.find(excerpt.strip())
    return text[:place].count("\n") + int(node.lineno) if place >= 0 else 0


def _syntax_line(cause: BaseException, path: Path) -> int:
    return cause.lineno or 0 if isinstance(cause, SyntaxError) and cause.filename == str(path) else 0


def _last_line(error: BaseException, path: Path) -> int:
    lines = [t.tb_lineno for t in triton_private.tracebacks(error) if t.tb_frame.f_code.co_filename == str(path)]
    return lines[-1] if lines else 0
