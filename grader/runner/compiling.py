"""Compile a submission's kernels for a GPU that is not here: call its functions, and let every launch only compile.

Loaded in a runner of its own, where Triton has been loaded anew without its interpreter (see `forget_triton`). The host code
runs as ever, on tensors of the CPU, so each kernel is specialised for the very arguments it is launched with; with
`@triton.autotune` every configuration is compiled. What the kernels would have written stays unwritten.
"""

import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy
import torch

from grader.channel import Channel, ChannelClosed, map_memory, new_memory

_TARGETS = {"sm_80": ("cuda", 80, 32), "sm_90": ("cuda", 90, 32), "gfx942": ("hip", "gfx942", 64)}
_GLOBAL_LOAD = re.compile(r"\bld\.global\S*?(?:\.v(\d))?\.b(\d+)\b")
_ASYNC_COPY = re.compile(r"\bcp\.async\.c[ag]\.shared\.global[^;]*?, (0x[0-9a-f]+|\d+)")
_TENSOR_CORES = ("wgmma", "tcgen05.mma", "mma.sync", "v_mfma")


def forget_triton() -> None:
    """Let the next import load Triton again, and our modules that use it, now with its compiler and no interpreter."""
    os.environ["TRITON_INTERPRET"] = "0"
    kept = ("triton._C", "grader.runner.sandbox", "grader.runner.compiling")
    for name in list(sys.modules):
        ours = name == "triton" or name.startswith(("triton.", "grader.runner."))
        if ours and not name.startswith(kept):
            del sys.modules[name]


class CompilerServer:
    """Serves one submission, as `Server` does, with two requests: load, and compile."""

    def __init__(self, path: Path, functions: Sequence[str]) -> None:
        self._path = path
        self._names = functions
        self._functions: dict[str, Callable[..., Any]] = {}
        self._compiled: list[tuple[str, Any]] = []  # (kernel's name, what the compiler made of it)

    def introduction(self) -> dict[str, Any]:
        """What this process is: sent before it has seen a line of the submission."""
        import triton

        modules = {"triton": triton, "torch": torch, "numpy": numpy}
        versions = {"python": platform.python_version(), **{name: m.__version__ for name, m in modules.items()}}
        return {"versions": versions, "device": "compiler", "private_names": "", "unchecked": []}

    def serve(self, channel: Channel) -> None:
        """Answer requests until the judge hangs up."""
        while True:
            try:
                request, descriptors = channel.receive()
                answer, text = self._answer(request, descriptors[0] if descriptors else None)
                channel.send({**answer, "number": request["number"]}, *([] if text is None else [text]))
            except ChannelClosed:
                return
            if text is not None:
                os.close(text)

    def _answer(self, request: dict[str, Any], descriptor: int | None) -> tuple[dict[str, Any], int | None]:
        from grader.runner.load import explain, find_functions, load

        try:
            if request["do"] == "load":
                self._use("sm_90")
                self._functions = find_functions(load(self._path), self._names)
                return {}, None
            assert descriptor is not None
            self._use(request["target"])
            return self._compile(request, descriptor)
        except BaseException as error:
            return {"error": explain(error, self._path, loading=request["do"] == "load")}, None

    def _use(self, target: str) -> None:
        """Make Triton believe in a GPU, and let launches only compile."""
        from triton.backends.compiler import GPUTarget
        from triton.runtime import cache
        from triton.runtime.autotuner import Autotuner
        from triton.runtime.driver import driver
        from triton.runtime.jit import JITFunction

        driver.set_active(_Driver(GPUTarget(*_TARGETS[target]), list(_TARGETS).index(target)))
        Autotuner.do_bench = property(lambda self: lambda call, quantiles=None: (call(), [1.0] * 3)[1])
        cache.triton_key = lambda: ""  # else a hash of all of Triton, against caches of other versions: ours is our own
        if not hasattr(JITFunction, "only_compile"):
            JITFunction.only_compile = JITFunction.run
            JITFunction.run = self._instead_of_launching(JITFunction.run)

    def _instead_of_launching(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def run(kernel: Any, *args: Any, grid: Any, warmup: bool, **options: Any) -> Any:
            compiled = original(kernel, *args, grid=grid, warmup=True, **options)
            self._compiled.append((kernel.fn.__name__, compiled))
            return compiled

        return run

    def _compile(self, request: dict[str, Any], descriptor: int) -> tuple[dict[str, Any], int | None]:
        from grader.runner import memory

        inputs = memory.receive(request, descriptor, "cpu")
        arguments = [inputs.tensors[a["tensor"]] if "tensor" in a else a["value"] for a in request["arguments"]]
        self._compiled = []
        self._functions[request["function"]](*arguments)
        kernels = {compiled.hash: (name, compiled) for name, compiled in self._compiled}.values()
        answer: dict[str, Any] = {"kernels": [_describe(*kernel) for kernel in kernels][:64]}
        if not request["stage"]:
            return answer, None
        text = "\n".join(_text(compiled, request["stage"], self._path) for _, compiled in kernels).encode()
        shared = new_memory(max(len(text), 1))
        map_memory(shared, max(len(text), 1))[: len(text)] = text
        return {**answer, "size": len(text)}, shared


class _Driver:
    """What Triton's front end asks of a driver before it compiles."""

    def __init__(self, target: Any, number: int) -> None:
        self.target = target
        self._number = number  # Triton keeps what it has compiled by the number of the device, whatever its target

    def get_current_target(self) -> Any:
        return self.target

    def get_current_device(self) -> int:
        return self._number

    def get_current_stream(self, device: int) -> int:
        return 0

    def set_current_device(self, device: int) -> None:
        """There is only one."""

    def get_active_torch_device(self) -> torch.device:
        return torch.device("cpu")


def _describe(name: str, compiled: Any) -> dict[str, Any]:
    """What the compiler made of one kernel, in numbers."""
    assembly = str(compiled.asm.get("ptx") or compiled.asm.get("amdgcn") or "")
    return {
        "kernel": name,
        "shared": int(compiled.metadata.shared),
        "warps": int(compiled.metadata.num_warps),
        "stages": int(compiled.metadata.num_stages),
        "load_bytes": _widest_load(assembly),
        "tensor_cores": next((unit for unit in _TENSOR_CORES if unit in assembly), ""),
        **_registers(compiled),
    }


def _text(compiled: Any, stage: str, path: Path) -> str:
    """A stage of the compiler, for people: each line with the line of kernel.py that it comes from, where that is known."""
    if stage == "sass":
        text = _tool(compiled, "nvdisasm", "--print-code", "--print-line-info")
        return re.sub(rf'(?m)^\s*//## File ".*{re.escape(path.name)}", line (\d+).*$', r"\t// kernel.py:\1", text)
    text = str(compiled.asm.get(stage, ""))
    if stage in ("ttir", "ttgir"):
        return _annotated(text, path)
    code = re.split(r"(?m)^\s*\.section\s+\.debug", text)[0] if stage == "ptx" else text
    return re.sub(rf"(?m)^\s*\.loc\s+{_file_number(text, path)} ([1-9]\d*).*$", r"\t// kernel.py:\1", code)


def _file_number(text: str, path: Path) -> str:
    """By which number the directives of an assembler call the submission."""
    found = re.search(rf'\.file\s+(\d+) (?:"[^"]*" )?"[^"]*{re.escape(path.name)}"', text)
    return found[1] if found else "none"


def _annotated(text: str, path: Path) -> str:
    """MLIR refers to places by names that are defined at its ends: put the lines of kernel.py beside the operations."""
    defined = dict(re.findall(r"(?m)^(#loc\d*) = loc\((.*)\)$", text))

    def line_of(name: str, depth: int = 8) -> str:
        place = defined.get(name, "")
        found = re.search(rf'{re.escape(path.name)}":(\d+)', place)
        inner = re.search(r"#loc\d*", place)
        return found[1] if found else line_of(inner[0], depth - 1) if inner and depth else ""

    def comment(match: re.Match[str]) -> str:
        line = line_of(match[1])
        return f"  // kernel.py:{line}" if line else ""

    body = re.sub(r"(?m)^#loc.*\n", "", text)
    body = re.sub(r"(?m)(?<!\}) loc\((#loc\d*)\)$", comment, body)
    return re.sub(r" loc\([^()]*(?:\([^()]*\))?[^()]*\)", "", body)


def _widest_load(assembly: str) -> int:
    """Bytes that one thread loads from global memory by one instruction, at most; 0 if a descriptor does all loads."""
    plain = [int(count or 1) * int(bits) // 8 for count, bits in _GLOBAL_LOAD.findall(assembly)]
    copies = [int(size, 0) for size in _ASYNC_COPY.findall(assembly)]
    return max([*plain, *copies], default=0)


def _registers(compiled: Any) -> dict[str, int | None]:
    """Registers and bytes of stack of a thread, as NVIDIA's tool reads them from the machine code; None if it cannot."""
    text = _tool(compiled, "cuobjdump", "--dump-resource-usage")
    found = re.search(r"REG:(\d+) STACK:(\d+)", text)
    return {"registers": int(found[1]), "stack": int(found[2])} if found else {"registers": None, "stack": None}


def _tool(compiled: Any, name: str, *options: str) -> str:
    """What one of the tools that Triton brings says about the machine code; nothing where there is none."""
    import triton

    program = Path(triton.__file__).parent / "backends" / "nvidia" / "bin" / name
    if "cubin" not in compiled.asm or not shutil.which(program):
        return ""
    file = Path.cwd() / "kernel.cubin"
    file.write_bytes(compiled.asm["cubin"])
    done = subprocess.run([program, *options, file], capture_output=True, text=True)
    return done.stdout if done.returncode == 0 else ""
