"""07 Matrix multiplication, tuned: an order of tiles that reuses the L2 cache, measured sizes, a fused bias."""

import torch
import triton
import triton.language as tl

# What the autotuner may choose from. The first one is small enough for every GPU.
CONFIGS = [triton.Config({"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 32, "GROUP_M": 8}, num_warps=4, num_stages=4)]
# TODO(1): the autotuner may also choose two to four larger tiles, for larger products on larger GPUs.
pass


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
    # TODO(2): name the row pid_m and the column pid_n of this program's tile; every tile has exactly one program.
    pass

    # Phase 2: acc is the tile's product, in float32, as in 06_matmul.
    # TODO(3): acc holds the product; your lines from 06_matmul do it, from pid_m and pid_n on.
    pass

    # Phase 3: the epilogue. The bias joins while the tile is still float32 and in registers.
    if bias_ptr is not None:
        # TODO(4): add bias[n] to every element of column n of acc, in float32.
        pass

    # Phase 4: one cast to the dtype of out, at the store.
    # TODO(5): write acc to the elements of the tile that exist.
    pass


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
