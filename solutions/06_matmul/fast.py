"""06 Matrix multiplication, written for speed.

Larger tiles bring most: the autotuner chooses among sizes up to 128 x 256. Tensor descriptors bring more: the GPU copies a
tile by itself and clips it at the borders, so there are no pointers and no masks. Programs are persistent, one for each
multiprocessor: the copies for the next tile begin while the last one is being stored, in two halves, which need less room.
Descriptors want half precision, rows that begin at round addresses, and a GPU with an engine for such copies. All else goes
to a kernel with pointers, which keeps the larger tiles. The order of tiles is that of exercise 07.
"""

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor


def set_block_shapes(arguments):
    """Before a launch: tell the descriptors which blocks the chosen configuration moves."""
    BLOCK_M, BLOCK_N, BLOCK_K = (arguments[name] for name in ("BLOCK_M", "BLOCK_N", "BLOCK_K"))
    arguments["a_desc"].block_shape = [BLOCK_M, BLOCK_K]
    arguments["b_desc"].block_shape = [BLOCK_K, BLOCK_N]
    arguments["out_desc"].block_shape = [BLOCK_M, BLOCK_N // 2]


def config(BLOCK_M, BLOCK_N, BLOCK_K, num_warps, num_stages, pre_hook=None):
    """One choice for the autotuner, which skips what needs more shared memory than the GPU has."""
    sizes = {"BLOCK_M": BLOCK_M, "BLOCK_N": BLOCK_N, "BLOCK_K": BLOCK_K, "GROUP_M": 8}
    return triton.Config(sizes, num_warps=num_warps, num_stages=num_stages, pre_hook=pre_hook)


def only_small_steps(configs, arguments, **options):
    """float32 does without tensor cores: the steps made for them would be slow, and take seconds to compile."""
    if arguments["a_ptr"].element_size() == 2:
        return configs
    return [choice for choice in configs if choice.kwargs["BLOCK_K"] == 32]


# The first of each list is small enough for every GPU.
DESCRIPTOR_CONFIGS = [
    config(64, 128, 64, num_warps=4, num_stages=3, pre_hook=set_block_shapes),
    config(128, 128, 64, num_warps=4, num_stages=3, pre_hook=set_block_shapes),
    config(128, 256, 64, num_warps=8, num_stages=3, pre_hook=set_block_shapes),
    config(128, 256, 64, num_warps=8, num_stages=4, pre_hook=set_block_shapes),
]
POINTER_CONFIGS = [
    config(64, 64, 32, num_warps=4, num_stages=4),
    config(128, 128, 32, num_warps=8, num_stages=3),
    config(128, 128, 64, num_warps=8, num_stages=3),
    config(128, 256, 64, num_warps=8, num_stages=4),
]


@triton.jit
def place_of_tile(tile, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, GROUP_M: tl.constexpr):
    """(pid_m, pid_n) of tile number `tile`: groups of GROUP_M rows of tiles, each walked column by column."""
    tiles_m = tl.cdiv(M, BLOCK_M)
    tiles_n = tl.cdiv(N, BLOCK_N)
    first_m = tile // (GROUP_M * tiles_n) * GROUP_M  # the group's first row of tiles
    group_rows = tl.minimum(tiles_m - first_m, GROUP_M)  # the last group may have fewer
    place = tile % (GROUP_M * tiles_n)  # where in its group the tile lies
    return first_m + place % group_rows, place // group_rows


@triton.autotune(configs=DESCRIPTOR_CONFIGS, key=["M", "N", "K"])
@triton.jit
def matmul_descriptor_kernel(
    a_desc, b_desc,
    out_desc,
    M, N, K,
    N_PROGRAMS: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
    GROUP_M: tl.constexpr,
):  # fmt: skip
    """out[m, n] = sum over k of a[m, k] * b[k, n]; program p of N_PROGRAMS takes the tiles p, p + N_PROGRAMS, …"""
    n_tiles = tl.cdiv(M, BLOCK_M) * tl.cdiv(N, BLOCK_N)
    # flatten makes one loop of the two, so that the copies run ahead across the border between two tiles.
    for tile in tl.range(tl.program_id(axis=0), n_tiles, N_PROGRAMS, flatten=True):
        pid_m, pid_n = place_of_tile(tile, M, N, BLOCK_M, BLOCK_N, GROUP_M)

        # Phase 1: acc is the tile's product. What lies past a border is loaded as 0, so there are no masks.
        acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
        for start_k in range(0, K, BLOCK_K):
            a = a_desc.load([pid_m * BLOCK_M, start_k])  # (BLOCK_M, BLOCK_K)
            b = b_desc.load([start_k, pid_n * BLOCK_N])  # (BLOCK_K, BLOCK_N)
            acc = tl.dot(a, b, acc)

        # Phase 2: store the left and the right half, one after the other: a store waits in shared memory, and half a
        # tile leaves room there for one more stage of loads.
        halves = tl.permute(tl.reshape(acc, (BLOCK_M, 2, BLOCK_N // 2)), (0, 2, 1))
        left, right = tl.split(halves)  # (BLOCK_M, BLOCK_N // 2) each
        out_desc.store([pid_m * BLOCK_M, pid_n * BLOCK_N], left.to(out_desc.dtype))
        out_desc.store([pid_m * BLOCK_M, pid_n * BLOCK_N + BLOCK_N // 2], right.to(out_desc.dtype))


@triton.autotune(configs=POINTER_CONFIGS, key=["M", "N", "K"], prune_configs_by={"early_config_prune": only_small_steps})
@triton.jit
def matmul_pointer_kernel(
    a_ptr, b_ptr,
    out_ptr,
    M, N, K,
    stride_am, stride_ak,
    stride_bk, stride_bn,
    stride_om, stride_on,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
    GROUP_M: tl.constexpr,
):  # fmt: skip
    """out[m, n] = sum over k of a[m, k] * b[k, n]; one program per tile of BLOCK_M rows and BLOCK_N columns of out."""
    pid_m, pid_n = place_of_tile(tl.program_id(axis=0), M, N, BLOCK_M, BLOCK_N, GROUP_M)

    # Phase 1: pointers to the first step. All that is int64 happens here, once.
    offs_m = pid_m.to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = pid_n.to(tl.int64) * BLOCK_N + tl.arange(0, BLOCK_N)
    offs_k = tl.arange(0, BLOCK_K)
    mask_m = offs_m < M
    mask_n = offs_n < N
    a_ptrs = a_ptr + offs_m[:, None] * stride_am + offs_k.to(tl.int64)[None, :] * stride_ak  # (BLOCK_M, BLOCK_K)
    b_ptrs = b_ptr + offs_k.to(tl.int64)[:, None] * stride_bk + offs_n[None, :] * stride_bn  # (BLOCK_K, BLOCK_N)

    # Phase 2: acc is the product over all k seen so far. The pointers walk along, which is cheaper than new ones.
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start_k in range(0, K, BLOCK_K):
        mask_k = offs_k < K - start_k
        a = tl.load(a_ptrs, mask=mask_m[:, None] & mask_k[None, :], other=0.0)
        b = tl.load(b_ptrs, mask=mask_k[:, None] & mask_n[None, :], other=0.0)
        acc = tl.dot(a, b, acc, input_precision="ieee")
        a_ptrs += tl.cast(stride_ak, tl.int64) * BLOCK_K
        b_ptrs += tl.cast(stride_bk, tl.int64) * BLOCK_K

    # Phase 3: one cast to the dtype of out, at the store.
    out_ptrs = out_ptr + offs_m[:, None] * stride_om + offs_n[None, :] * stride_on  # (BLOCK_M, BLOCK_N)
    tl.store(out_ptrs, acc, mask=mask_m[:, None] & mask_n[None, :])


def fits_descriptor(tensor: torch.Tensor) -> bool:
    """Whether a matrix is one that a tensor descriptor can stand for, and that tensor cores take as it is."""
    n_rows, n_cols = tensor.shape
    row_bytes = tensor.stride(0) * tensor.element_size()
    aligned = tensor.data_ptr() % 16 == 0 and row_bytes % 16 == 0
    # A descriptor's coordinates are int32 and its strides less than 2**40; a stride of 0 is not documented.
    in_range = max(n_rows, n_cols) < 2**30 and 0 < row_bytes < 2**40
    return tensor.element_size() == 2 and tensor.stride(1) == 1 and aligned and in_range


def has_copy_engine(tensor: torch.Tensor) -> bool:
    """Whether the GPU copies tiles by itself. For one that does not, descriptors become loads that never run ahead."""
    return not tensor.is_cuda or torch.cuda.get_device_capability(tensor.device) >= (9, 0)


def n_processors(tensor: torch.Tensor) -> int:
    """How many programs run at once: one per multiprocessor; on the interpreter a few, so that each owns several tiles."""
    return torch.cuda.get_device_properties(tensor.device).multi_processor_count if tensor.is_cuda else 4


def matmul(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Return a @ b, for a of shape (M, K) and b of shape (K, N), of one dtype and any strides."""
    M, K = a.shape
    N = b.shape[1]
    out = torch.empty((M, N), dtype=a.dtype, device=a.device)

    def grid(META):  # one program for each tile
        return (triton.cdiv(M, META["BLOCK_M"]) * triton.cdiv(N, META["BLOCK_N"]),)

    if has_copy_engine(a) and all(fits_descriptor(tensor) for tensor in (a, b, out)):
        N_PROGRAMS = n_processors(a)
        matmul_descriptor_kernel[lambda META: (min(N_PROGRAMS, *grid(META)),)](
            *(TensorDescriptor.from_tensor(tensor, [1, 1]) for tensor in (a, b, out)),  # set_block_shapes knows better
            M, N, K,
            N_PROGRAMS=N_PROGRAMS,
        )  # fmt: skip
        return out
    matmul_pointer_kernel[grid](
        a, b,
        out,
        M, N, K,
        a.stride(0), a.stride(1),
        b.stride(0), b.stride(1),
        out.stride(0), out.stride(1),
    )  # fmt: skip
    return out
