"""Where does the time of flash attention go? The fast form's loop with parts left out, and another order of its products.

    python3 docs/evidence/attention_ablation.py [ROUNDS]

On 4 x 32 x 4096 x 64 and x 128 float16, without a causal mask, with the tiles of solutions/14_flash_attention/fast.py. All
take turns, each call after a cold L2 cache; times are medians. A kernel with parts left out computes nothing of use.
"""

import importlib.util
import statistics
import sys
from pathlib import Path

import torch
import triton
import triton.language as tl
from torch.nn.attention import SDPBackend, sdpa_kernel
from triton.tools.tensor_descriptor import TensorDescriptor

ROOT = Path(__file__).resolve().parent.parent.parent
BATCH, N_HEADS, SEQ_LEN = 4, 32, 4096


@triton.jit
def parts_kernel(
    q_desc, k_desc, v_desc,
    out_desc,
    seq_len,
    exp2_scale,
    SOFTMAX: tl.constexpr, SHRINK: tl.constexpr, VALUES: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_D: tl.constexpr,
):  # fmt: skip
    """The loop over whole tiles: the scores, and with SOFTMAX the weights, with SHRINK of acc, with VALUES the product."""
    n_tiles = tl.cdiv(seq_len, BLOCK_M)
    head, start_m = tl.program_id(axis=0) // n_tiles, tl.program_id(axis=0) % n_tiles * BLOCK_M
    q = tl.reshape(q_desc.load([head, start_m, 0]), (BLOCK_M, BLOCK_D))
    row_max = tl.full((BLOCK_M,), -float("inf"), dtype=tl.float32)
    row_sum = tl.zeros((BLOCK_M,), dtype=tl.float32)
    acc = tl.zeros((BLOCK_M, BLOCK_D), dtype=tl.float32)
    for start_n in range(0, seq_len, BLOCK_N):
        k = tl.reshape(k_desc.load([head, start_n, 0]), (BLOCK_N, BLOCK_D))
        scores = tl.dot(q, k.T)
        weights = scores
        if SOFTMAX:
            new_max = tl.maximum(row_max, tl.max(scores, axis=1) * exp2_scale)
            weights = tl.exp2(scores * exp2_scale - new_max[:, None])
            shrink = tl.exp2(row_max - new_max)
            row_sum = row_sum * shrink + tl.sum(weights, axis=1)
            row_max = new_max
            if SHRINK:
                acc = acc * shrink[:, None]
        elif not VALUES:
            row_sum += tl.max(scores, axis=1)  # somebody has to want the scores
        if VALUES:
            v = tl.reshape(v_desc.load([head, start_n, 0]), (BLOCK_N, BLOCK_D))
            acc = tl.dot(weights.to(v.dtype), v, acc)
    out = (acc / row_sum[:, None]).to(q.dtype)
    out_desc.store([head, start_m, 0], tl.reshape(out, (1, BLOCK_M, BLOCK_D)))


@triton.jit
def ahead_kernel(
    q_desc, k_desc, v_desc,
    out_desc,
    seq_len,
    exp2_scale,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_D: tl.constexpr,
):  # fmt: skip
    """All of it, with the scores of the next tile under way during the softmax of this one, and values one tile late.

    Only so does Triton 3.6 leave a product running beside other work: its result goes to the next iteration, a product that
    is waited for comes before its first use there, and the scores are scaled, by a multiplication that is not fused with a
    later one, before the next product begins. `enable_fp_fusion=False` belongs to the launch.
    """
    n_tiles = tl.cdiv(seq_len, BLOCK_M)
    head, start_m = tl.program_id(axis=0) // n_tiles, tl.program_id(axis=0) % n_tiles * BLOCK_M
    q = tl.reshape(q_desc.load([head, start_m, 0]), (BLOCK_M, BLOCK_D))
    row_max = tl.full((BLOCK_M,), -float("inf"), dtype=tl.float32)
    row_sum = tl.zeros((BLOCK_M,), dtype=tl.float32)
    acc = tl.zeros((BLOCK_M, BLOCK_D), dtype=tl.float32)
    scores = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    if seq_len > 0:  # in a block of its own: otherwise its shared memory would be kept to the end
        scores = tl.dot(q, tl.reshape(k_desc.load([head, 0, 0]), (BLOCK_N, BLOCK_D)).T)
    weights = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start_n in range(0, seq_len, BLOCK_N):
        v = tl.reshape(v_desc.load([head, tl.maximum(start_n - BLOCK_N, 0), 0]), (BLOCK_N, BLOCK_D))
        acc = tl.dot(weights.to(v.dtype), v, acc)
        scaled = scores * exp2_scale
        k = tl.reshape(k_desc.load([head, start_n + BLOCK_N, 0]), (BLOCK_N, BLOCK_D))  # past the end: zeros, unused
        scores = tl.dot(q, k.T)
        new_max = tl.maximum(row_max, tl.max(scaled, axis=1))
        weights = tl.exp2(scaled - new_max[:, None])
        shrink = tl.exp2(row_max - new_max)
        row_sum = row_sum * shrink + tl.sum(weights, axis=1)
        acc = acc * shrink[:, None]
        row_max = new_max
    v = tl.reshape(v_desc.load([head, seq_len - BLOCK_N, 0]), (BLOCK_N, BLOCK_D))
    acc = tl.dot(weights.to(v.dtype), v, acc)
    out = (acc / row_sum[:, None]).to(q.dtype)
    out_desc.store([head, start_m, 0], tl.reshape(out, (1, BLOCK_M, BLOCK_D)))


def launcher(kernel, tensors, head_dim, tiles, **options):
    """A function that launches the kernel; its result is the compiled kernel."""
    BLOCK_M, BLOCK_N, num_warps, num_stages = tiles
    blocks = BLOCK_M, BLOCK_N, BLOCK_N, BLOCK_M
    views = [tensor.view(BATCH * N_HEADS, SEQ_LEN, head_dim) for tensor in tensors]
    descs = [TensorDescriptor.from_tensor(view, [1, block, head_dim]) for view, block in zip(views, blocks, strict=True)]
    sizes = {"BLOCK_M": BLOCK_M, "BLOCK_N": BLOCK_N, "BLOCK_D": head_dim, "num_warps": num_warps, "num_stages": num_stages}
    exp2_scale = head_dim**-0.5 * 1.4426950408889634
    grid = (BATCH * N_HEADS * SEQ_LEN // BLOCK_M,)
    return lambda: kernel[grid](*descs, SEQ_LEN, exp2_scale, **sizes, **options)


def contenders(head_dim):
    """Named functions, and which of them compute attention, into `out` or as a result."""
    spec = importlib.util.spec_from_file_location("fast", ROOT / "solutions" / "14_flash_attention" / "fast.py")
    fast = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(fast)
    shape = BATCH, N_HEADS, SEQ_LEN, head_dim
    q, k, v, out = tensors = [torch.randn(shape, device="cuda", dtype=torch.half) for _ in range(4)]
    tiles = fast.tile_sizes(head_dim, 2, True)

    def cudnn():
        with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
            return torch.nn.functional.scaled_dot_product_attention(q, k, v)

    def parts(softmax, shrink, values):
        return launcher(parts_kernel, tensors, head_dim, tiles, SOFTMAX=softmax, SHRINK=shrink, VALUES=values)

    def ahead(*tiles):
        return launcher(ahead_kernel, tensors, head_dim, tiles, enable_fp_fusion=False)

    return out, {
        "cudnn": cudnn,
        "fast.py": lambda: fast.flash_attention(q, k, v),
        f"all parts, tiles {tiles}": parts(True, True, True),
        "both products, no softmax": parts(False, False, True),
        "scores and softmax, no values": parts(True, True, False),
        "scores alone": parts(False, False, False),
        "scores ahead, tiles (64, 64, 4, 3)": ahead(64, 64, 4, 3),
        "scores ahead, tiles (128, 128, 8, 2)": ahead(128, 128, 8, 2),
    }


def record(call, cold):
    """Events before and after one call, once the cache was filled with something else. Nobody waits: the host runs ahead."""
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    cold.zero_()
    cold.zero_()
    start.record()
    call()
    end.record()
    return start, end


def main(rounds="20"):
    cold = torch.empty(2**28, dtype=torch.uint8, device="cuda")
    for head_dim in (64, 128):
        out, calls = contenders(head_dim)
        expected = calls["cudnn"]()
        compiled = {}
        for name, call in calls.items():
            out.fill_(float("nan"))
            compiled[name] = call()
            if name.startswith(("all parts", "scores ahead")):
                torch.testing.assert_close(out, expected, atol=2e-3, rtol=1e-2)
        turns = [{name: record(call, cold) for name, call in calls.items()} for _ in range(int(rounds))]
        torch.cuda.synchronize()
        times = {name: [1e3 * start.elapsed_time(end) for start, end in (turn[name] for turn in turns)] for name in calls}
        print(f"\nhead_dim {head_dim}")
        for name, kernel in compiled.items():
            used = ""
            if hasattr(kernel, "n_regs"):
                used = f"{kernel.n_regs} registers, {kernel.n_spills} spilled, {kernel.metadata.shared} bytes shared"
            print(f"{name:40} {statistics.median(times[name]):6.0f} us  {used}")


if __name__ == "__main__":
    main(*sys.argv[1:])
