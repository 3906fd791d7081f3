"""The runner's conversation: load the submission once, then call it or time it as often as the judge asks."""

import os
import platform
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy
import torch
import triton

from grader.channel import Channel, ChannelClosed
from grader.runner import compiled, memory, triton_private
from grader.runner.load import explain, find_functions, load
from grader.runner.observe import Observer
from grader.runner.stopwatch import Stopwatch
from grader.runner.tracing import Recorder


class Server:
    """Serves one submission. Every answer is a frame; an exception of the submission becomes one, too."""

    def __init__(
        self, path: Path, functions: Sequence[str], engine: str, private_names: str, unchecked: Sequence[str]
    ) -> None:
        self._path = path
        self._names = functions
        self._private_names = private_names
        self._unchecked = unchecked
        self._device = "cuda" if engine == "gpu" else "cpu"
        self._functions: dict[str, Callable[..., Any]] = {}
        self._observer = Observer(path, interpreting=engine == "interpreter" and not unchecked)
        self._stopwatch = Stopwatch()

    def introduction(self) -> dict[str, Any]:
        """What this process is: sent before it has seen a line of the submission."""
        modules = {"triton": triton, "torch": torch, "numpy": numpy}
        return {
            "versions": {"python": platform.python_version(), **{n: m.__version__ for n, m in modules.items()}},
            "device": torch.cuda.get_device_name() if self._device == "cuda" else "CPU interpreter",
            "private_names": self._private_names,
            "unchecked": self._unchecked,
        }

    def serve(self, channel: Channel) -> None:
        """Answer requests until the judge hangs up."""
        while True:
            try:
                request, descriptors = channel.receive()
                answer, outgoing = self._answer(request, descriptors[0] if descriptors else None)
                channel.send({**answer, "number": request["number"]}, *([] if outgoing is None else [outgoing]))
            except ChannelClosed:
                return
            if outgoing is not None:
                os.close(outgoing)

    def _answer(self, request: dict[str, Any], descriptor: int | None) -> tuple[dict[str, Any], int | None]:
        if request["do"] == "load":
            return self._load(request), None
        try:
            if request["do"] == "draw":
                return self._stopwatch.draw(request), None
            if request["do"] == "time":
                return self._stopwatch.time(self._functions[request["function"]], request["options"]), None
            if request["do"] == "show":
                return self._stopwatch.show(request["place"])
            assert descriptor is not None
            if request["do"] == "compile":
                return self._call_compiled(request, descriptor)
            if request["do"] == "trace":
                return self._trace(request, descriptor)
            return self._call(request, descriptor)
        except BaseException as error:  # SystemExit too: a submission that leaves has not answered
            return {"error": explain(error, self._path)}, None

    def _load(self, request: dict[str, Any]) -> dict[str, Any]:
        if self._device == "cpu":
            triton_private.autotune_without_a_driver(self._observer.price)
        try:
            with self._observer.watch((), request["poison"]):
                module = load(self._path)
            self._functions = find_functions(module, self._names)
        except BaseException as error:
            return {"error": explain(error, self._path, loading=True)}
        return {"evidence": self._observer.evidence_json()}

    def _call(self, request: dict[str, Any], descriptor: int) -> tuple[dict[str, Any], int | None]:
        inputs = memory.receive(request, descriptor, self._device)
        arguments = _arguments(request, inputs)
        with self._observer.watch(inputs.tensors, request["poison"], **_conditions(request)):
            returned = self._functions[request["function"]](*arguments)
            if self._device == "cuda":
                torch.cuda.synchronize()
        inputs.give_back()
        outputs = returned if isinstance(returned, tuple) else (returned,)
        answer: dict[str, Any] = {
            "evidence": self._observer.evidence_json(),
            "outputs": [self._describe(o, inputs) for o in outputs],
        }
        if any(type(output) is not torch.Tensor for output in outputs):
            return answer, None
        answer["damages"] = self._observer.damages(outputs)
        answer["traffic"] = self._observer.traffic_json(inputs.tensors, outputs)
        if not _fits(outputs, request["limit"]):
            return answer, None
        outgoing, answer["size"] = memory.send_back(outputs)
        return answer, outgoing

    def _trace(self, request: dict[str, Any], descriptor: int) -> tuple[dict[str, Any], int | None]:
        """As `_call`, with a record of who touched what; an exception ends it early, and is a part of the answer."""
        inputs = memory.receive(request, descriptor, self._device)
        recorder, stopped = Recorder(), {}
        outputs: tuple[Any, ...] = ()
        with self._observer.watch(inputs.tensors, request["poison"], **_conditions(request), recorder=recorder):
            try:
                returned = self._functions[request["function"]](*_arguments(request, inputs))
                outputs = returned if isinstance(returned, tuple) else (returned,)
            except BaseException as error:
                stopped = {"stopped": explain(error, self._path)}
        sent = outputs if _fits(outputs, request["limit"]) else ()
        rest = "scratch memory" if sent else "allocated memory"  # it might have become the output
        record, arrays = recorder.to_json(self._observer.roles(inputs.tensors, sent, rest))
        outgoing, size = memory.send_back([*sent, *arrays])
        answer = {"evidence": self._observer.evidence_json(), "outputs": [self._describe(o, inputs) for o in sent]}
        return {**answer, **stopped, "trace": record, "size": size}, outgoing

    def _call_compiled(self, request: dict[str, Any], descriptor: int) -> tuple[dict[str, Any], int | None]:
        inputs = memory.receive(request, descriptor, self._device)
        done = compiled.call(request["operator"], inputs.tensors)
        if type(done.returned) is not torch.Tensor:
            return {"error": explain(TypeError("the operator must return one tensor"), self._path)}, None
        outgoing, size = memory.send_back([done.returned])
        answer = {"outputs": [memory.describe(done.returned, origin="own")], "size": size}
        return {**answer, "graph": done.graph, "kernels": done.kernels, "promised": done.promised}, outgoing

    def _describe(self, output: object, inputs: memory.Inputs) -> dict[str, Any]:
        """What kind of thing was returned. A subclass of Tensor could lie about its values: its type is named."""
        if type(output) is not torch.Tensor:
            return {"type": type(output).__name__}
        return memory.describe(output, self._observer.origin(output, inputs.tensors), self._observer.mark_of(output))


def _arguments(request: dict[str, Any], inputs: memory.Inputs) -> list[Any]:
    return [inputs.tensors[a["tensor"]] if "tensor" in a else a["value"] for a in request["arguments"]]


def _conditions(request: dict[str, Any]) -> dict[str, Any]:
    return {name: request[name] for name in ("shuffle", "nonsense", "cheapest")}


def _fits(outputs: Sequence[Any], limit: int) -> bool:
    """Whether these are plain tensors of at most `limit` bytes."""
    plain = all(type(output) is torch.Tensor for output in outputs)
    return plain and sum(output.numel() * output.element_size() for output in outputs) <= limit
