"""07 Matrix multiplication, tuned: an order of tiles that reuses the L2 cache, measured sizes, a fused bias."""

import torch
import triton
import triton.language as tl

# What the autotuner may choose from. The first one is small enough for every GPU.
CONFIGS = [triton.Config({"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 32, "GROUP_M": 8}, num_warps=4, num_stages=4)]
CONFIGS += [
    triton.Config({"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 64, "GROUP_M": 8}, num_warps=8, num_stages=3),
    triton.Config({"BLOCK_M": 128, "BLOCK_N": 256, "BLOCK_K": 64, "GROUP_M": 8}, num_warps=8, num_stages=3),
]


def worth_trying(configs, arguments, **_):
    """The configs whose tiles are at most 128 bytes long along K: longer ones are made for half precision alone."""
    size = arguments["a_ptr"].element_size()
    return [config for config in configs if config.kwargs["BLOCK_K"] * size <= 128]


@triton.autotune(configs=CONFIGS, key=["M", "N", "K"], prune_configs_by={"early_config_prune": worth_trying})
@triton.jit
def advanced_matmul_kernel(
    a_ptr, b_ptr, bias_ptr,
    out_ptr,
    M, N, K,
    stride_am, stride_ak,
    stride_bk, stride_bn,
    stride_bias,
    stride_om, stride_on,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
    GROUP_M: tl.constexpr,
):  # fmt: skip
    """out[m, n] = bias[n] + sum over k of a[m, k] * b[k, n]; one program per tile, GROUP_M rows of tiles a group."""
    pid = tl.program_id(axis=0)

    # Phase 1: the place of this program's tile. Inside a group the numbers run down the columns, so that programs which
    # run at the same time share rows of a and columns of b.
    tiles_m = tl.cdiv(M, BLOCK_M)
    tiles_n = tl.cdiv(N, BLOCK_N)
    first_m = pid // (GROUP_M * tiles_n) * GROUP_M  # the group's first row of tiles
    group_rows = tl.minimum(tiles_m - first_m, GROUP_M)  # the last group may have fewer
    place = pid % (GROUP_M * tiles_n)  # where in its group the program stands
    pid_m = first_m + place % group_rows
    pid_n = place // group_rows

    # Phase 2: acc is the tile's product, in float32, as in 06_matmul.
    offs_m = pid_m.to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = pid_n.to(tl.int64) * BLOCK_N + tl.arange(0, BLOCK_N)
    mask_m = offs_m < M
    mask_n = offs_n < N
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start_k in range(0, K, BLOCK_K):
        offs_k = start_k + tl.arange(0, BLOCK_K).to(tl.int64)
        mask_k = offs_k < K
        a_ptrs = a_ptr + offs_m[:, None] * stride_am + offs_k[None, :] * stride_ak  # (BLOCK_M, BLOCK_K)
        b_ptrs = b_ptr + offs_k[:, None] * stride_bk + offs_n[None, :] * stride_bn  # (BLOCK_K, BLOCK_N)
        a = tl.load(a_ptrs, mask=mask_m[:, None] & mask_k[None, :], other=0.0)
        b = tl.load(b_ptrs, mask=mask_k[:, None] & mask_n[None, :], other=0.0)
        acc = tl.dot(a, b, acc, input_precision="ieee")

    # Phase 3: the epilogue. The bias joins while the tile is still float32 and in registers.
    if bias_ptr is not None:
        bias = tl.load(bias_ptr + offs_n * stride_bias, mask=mask_n, other=0.0)
        acc += bias[None, :].to(tl.float32)

    # Phase 4: one cast to the dtype of out, at the store.
    out_ptrs = out_ptr + offs_m[:, None] * stride_om + offs_n[None, :] * stride_on  # (BLOCK_M, BLOCK_N)
    tl.store(out_ptrs, acc, mask=mask_m[:, None] & mask_n[None, :])


def advanced_matmul(a: torch.Tensor, b: torch.Tensor, bias: torch.Tensor | None = None) -> torch.Tensor:
    """Return a @ b + bias, for a of shape (M, K), b of shape (K, N), bias of shape (N,) or None; any strides."""
    M, K = a.shape
    N = b.shape[1]
    out = torch.empty((M, N), dtype=a.dtype, device=a.device)

    def grid(META):  # a function, because the tile sizes are known only when a configuration has been chosen
        return (triton.cdiv(M, META["BLOCK_M"]) * triton.cdiv(N, META["BLOCK_N"]),)

    advanced_matmul_kernel[grid](
        a, b, bias,
        out,
        M, N, K,
        a.stride(0), a.stride(1),
        b.stride(0), b.stride(1),
        0 if bias is None else bias.stride(0),
        out.stride(0), out.stride(1),
    )  # fmt: skip
    return out
