"""Call an operator that a submission has registered, through torch.compile, and see what the compiler made of it."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch

from grader.runner import triton_private
from grader.runner.load import Unloadable


@dataclass(frozen=True)
class Compiled:
    """What a compiled call gave back, what was in its graph, which kernels were launched, and what a fake had promised.

    promised: dtype and sizes, as text, of each result in the graph: what the compiler goes by before anything has run.
    """

    returned: object
    graph: tuple[str, ...]
    kernels: tuple[str, ...]
    promised: tuple[str, ...]


def call(operator: str, arguments: Sequence[Any]) -> Compiled:
    """Compile a function that does nothing but call `operator` ("namespace::name"), as one graph, and run it.

    Raises Unloadable if nobody has registered it, and whatever torch.compile raises if it cannot keep it whole.
    """
    function = _find(operator)
    graph: list[str] = []
    kernels: list[str] = []
    promised: list[str] = []

    def keep(module: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> Callable[..., Any]:
        calls = [node for node in module.graph.nodes if node.op.startswith("call")]
        graph.extend(str(node.target).removesuffix(".default") for node in calls)
        promised.extend(_described(node.meta.get("example_value")) for node in calls)
        return module.forward

    @contextmanager
    def around(kernel: str, arguments: dict[str, object]) -> Iterator[None]:
        kernels.append(kernel)
        yield

    compiled = torch.compile(lambda *given: function(*given), fullgraph=True, backend=keep)
    with triton_private.around_launches(around, nullcontext):
        returned = compiled(*arguments)
    return Compiled(returned, tuple(graph), tuple(dict.fromkeys(kernels)), tuple(promised))


def _described(value: object) -> str:
    """The sizes and the dtype of a tensor, real or fake: "3 × 4 float32"."""
    if not isinstance(value, torch.Tensor):
        return type(value).__name__
    return f"{' × '.join(map(str, value.shape))} {value.dtype}".replace("torch.", "").strip()


def _find(operator: str) -> Callable[..., Any]:
    namespace, name = operator.split("::")
    if not hasattr(getattr(torch.ops, namespace), name):
        raise Unloadable(f"kernel.py registers no operator {operator}.")
    function: Callable[..., Any] = getattr(getattr(torch.ops, namespace), name)
    return function
