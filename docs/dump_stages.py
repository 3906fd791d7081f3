"""Show what Triton's compiler makes of one kernel, for a GPU of compute capability 9.0. It needs no GPU.

python docs/dump_stages.py FILE KERNEL STAGE [NAME=VALUE ...]

STAGE: ttir, ttgir, llir, ptx, sass, or usage (registers, spills, shared memory). NAME: a parameter of the kernel, num_warps
or num_stages. VALUE: a number, which becomes a constant, or a type: *bf16, i32, fp32; *bf16:16 is divisible by 16, too.
Parameters that you leave out are *fp32:16 if they end in _ptr, and i32:16 otherwise.
"""

import importlib.util
import re
import sys

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource  # looks private, and may move

path, kernel, stage, *rest = sys.argv[1:] if len(sys.argv) > 3 else sys.exit(__doc__)
values = dict(argument.split("=") for argument in rest)
options = {name: int(values.pop(name)) for name in ("num_warps", "num_stages") if name in values}
spec = importlib.util.spec_from_file_location("kernel", path)
spec.loader.exec_module(module := importlib.util.module_from_spec(spec))
function = getattr(module, kernel)
function = function.fn if hasattr(function, "configs") else function  # what an autotuner wraps

signature, constants, attributes = {}, {}, {}
for place, name in enumerate(function.arg_names):
    kind, _, divisor = values.pop(name, "*fp32:16" if name.endswith("_ptr") else "i32:16").partition(":")
    signature[name] = "constexpr" if kind.isdigit() else kind
    constants |= {name: int(kind)} if kind.isdigit() else {}
    attributes |= {(place,): [["tt.divisibility", int(divisor)]]} if divisor else {}
assert not values, f"the kernel has no parameter {', '.join(values)}"
triton.knobs.compilation.always_compile = True  # not from the cache: only a real run of ptxas reports
triton.knobs.compilation.disable_line_info = True
triton.knobs.nvidia.dump_ptxas_log = stage == "usage"
source = ASTSource(function, signature, constants, attributes)
compiled = triton.compile(source, target=GPUTarget("cuda", 90, 32), options=options)
text = f"{compiled.metadata.shared} bytes of shared memory" if stage == "usage" else compiled.asm[stage]
print(re.sub(r"(?m)^#loc.*\n| loc\([^()]*\)", "", text))
