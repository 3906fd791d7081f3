"""14 Flash attention, written for speed.

The algorithm is that of kernel.py. Tensor descriptors replace blocks of pointers: the GPU copies a tile by itself and clips
it at the borders. They want half precision, rows that begin at round addresses, and a GPU with an engine for such copies;
for all else the same kernel takes pointers and strides, which was slower with the best of tiles. For head_dim 64 and 128 the
shape of the tiles was chosen by measuring. Tiles that every query sees whole have a loop of their own, without masks.
"""

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor


@triton.jit
def load_tile(
    view,
    batch, head, start, seq_len,
    HEAD_DIM: tl.constexpr,
    BY_DESCRIPTOR: tl.constexpr, IS_RAGGED: tl.constexpr,
    BLOCK: tl.constexpr, BLOCK_D: tl.constexpr,
):  # fmt: skip
    """The tile (BLOCK, BLOCK_D) of view[batch, head, start:, :], which passes the end of the sequence if IS_RAGGED."""
    if BY_DESCRIPTOR:
        tile = tl.reshape(view.load([batch, head, start, 0]), (BLOCK, BLOCK_D))
    else:
        ptr, stride_b, stride_h, stride_s = view
        offs = start + tl.arange(0, BLOCK)
        offs_d = tl.arange(0, BLOCK_D)
        mask = offs_d[None, :] < HEAD_DIM
        if IS_RAGGED:
            mask = mask & (offs[:, None] < seq_len)
        head_ptr = ptr + batch.to(tl.int64) * stride_b + head.to(tl.int64) * stride_h
        tile = tl.load(head_ptr + offs.to(tl.int64)[:, None] * stride_s + offs_d[None, :], mask=mask, other=0.0)
    return tile


@triton.jit
def store_tile(
    view, tile,
    batch, head, start, seq_len,
    HEAD_DIM: tl.constexpr,
    BY_DESCRIPTOR: tl.constexpr,
    BLOCK: tl.constexpr, BLOCK_D: tl.constexpr,
):  # fmt: skip
    """view[batch, head, start:, :] = tile, as far as the sequence goes."""
    if BY_DESCRIPTOR:
        view.store([batch, head, start, 0], tl.reshape(tile, (1, 1, BLOCK, BLOCK_D)))
    else:
        ptr, stride_b, stride_h, stride_s = view
        offs = start + tl.arange(0, BLOCK)
        offs_d = tl.arange(0, BLOCK_D)
        mask = (offs[:, None] < seq_len) & (offs_d[None, :] < HEAD_DIM)
        head_ptr = ptr + batch.to(tl.int64) * stride_b + head.to(tl.int64) * stride_h
        tl.store(head_ptr + offs.to(tl.int64)[:, None] * stride_s + offs_d[None, :], tile, mask=mask)


@triton.jit
def flash_attention_kernel(
    q_view, k_view, v_view,
    out_view,
    n_heads, seq_len,
    scale,
    HEAD_DIM: tl.constexpr,
    IS_CAUSAL: tl.constexpr,
    BY_DESCRIPTOR: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_D: tl.constexpr,
):  # fmt: skip
    """out = softmax(q kᵀ · scale) v; one program per head and tile of BLOCK_M queries, BLOCK_N keys at a time.

    A view of a tensor is a descriptor, or else a pointer and three strides.
    """
    n_tiles = tl.cdiv(seq_len, BLOCK_M)
    batch = tl.program_id(axis=0) // n_tiles // n_heads
    head = tl.program_id(axis=0) // n_tiles % n_heads
    pid_m = n_tiles - 1 - tl.program_id(axis=0) % n_tiles  # last tile first: with a causal mask it is the longest

    # Phase 1: the queries of this program, loaded once and kept.
    start_m = pid_m * BLOCK_M
    offs_m = start_m + tl.arange(0, BLOCK_M)
    q = load_tile(q_view, batch, head, start_m, seq_len, HEAD_DIM, BY_DESCRIPTOR, True, BLOCK_M, BLOCK_D)

    # Phase 2: which keys count. Every query of the tile sees all keys of the tiles before whole_n; none sees any key
    # from end_n on. Between them lies the edge.
    whole_n = seq_len // BLOCK_N * BLOCK_N
    end_n = seq_len
    if IS_CAUSAL:
        whole_n = start_m // BLOCK_N * BLOCK_N
        end_n = tl.minimum(seq_len, (pid_m + 1) * BLOCK_M)

    # Phase 3: after each tile of keys, with weight = exp2(score · exp2_scale - row_max), row_sum is the sum of weights
    # and acc the sum of weight · v, over all keys seen so far. exp2(s · exp2_scale) is exp(s · scale), in the form that
    # a GPU computes fastest: scaling and subtracting are one multiply-add, and exp2 is one instruction.
    exp2_scale = scale * 1.4426950408889634  # times log2(e)
    row_max = tl.full((BLOCK_M,), -float("inf"), dtype=tl.float32)
    row_sum = tl.zeros((BLOCK_M,), dtype=tl.float32)
    acc = tl.zeros((BLOCK_M, BLOCK_D), dtype=tl.float32)
    for AT_EDGE in tl.static_range(2):  # unrolled by the compiler: one loop over whole tiles, then one over the edge
        for start_n in range(whole_n if AT_EDGE else 0, end_n if AT_EDGE else whole_n, BLOCK_N):
            k = load_tile(k_view, batch, head, start_n, seq_len, HEAD_DIM, BY_DESCRIPTOR, AT_EDGE, BLOCK_N, BLOCK_D)
            scores = tl.dot(q, k.T, input_precision="ieee")  # (BLOCK_M, BLOCK_N), not yet scaled
            if AT_EDGE:
                offs_n = start_n + tl.arange(0, BLOCK_N)
                visible = offs_n[None, :] < seq_len
                if IS_CAUSAL:
                    visible = visible & (offs_n[None, :] <= offs_m[:, None])
                scores = tl.where(visible, scores, -float("inf"))

            # Every query sees key 0, so new_max is finite from the first tile on, and -inf - new_max is no NaN.
            new_max = tl.maximum(row_max, tl.max(scores, axis=1) * exp2_scale)
            weights = tl.exp2(scores * exp2_scale - new_max[:, None])
            shrink = tl.exp2(row_max - new_max)
            acc = acc * shrink[:, None]
            row_sum = row_sum * shrink + tl.sum(weights, axis=1)
            v = load_tile(v_view, batch, head, start_n, seq_len, HEAD_DIM, BY_DESCRIPTOR, AT_EDGE, BLOCK_N, BLOCK_D)
            acc = tl.dot(weights.to(v.dtype), v, acc, input_precision="ieee")
            row_max = new_max

    # Phase 4: divide once, at the end, and cast to the dtype of out, which is that of q.
    out = (acc / row_sum[:, None]).to(q.dtype)
    store_tile(out_view, out, batch, head, start_m, seq_len, HEAD_DIM, BY_DESCRIPTOR, BLOCK_M, BLOCK_D)


def fits_descriptor(tensor: torch.Tensor) -> bool:
    """Whether a tensor is one that a tensor descriptor can stand for, and that tensor cores take as it is."""
    *outer_strides, last_stride = tensor.stride()
    stride_bytes = [stride * tensor.element_size() for stride in outer_strides]
    # What the GPU demands of strides; a stride of 0, as in an expanded tensor, is not documented.
    in_range = all(n_bytes % 16 == 0 and 0 < n_bytes < 2**40 for n_bytes in stride_bytes)
    return tensor.element_size() == 2 and last_stride == 1 and tensor.data_ptr() % 16 == 0 and in_range


def has_copy_engine(tensor: torch.Tensor) -> bool:
    """Whether the GPU copies tiles by itself. For one that does not, descriptors become loads that never run ahead."""
    return not tensor.is_cuda or torch.cuda.get_device_capability(tensor.device) >= (9, 0)


def tile_sizes(BLOCK_D: int, element_size: int, BY_DESCRIPTOR: bool) -> tuple[int, int, int, int]:
    """BLOCK_M, BLOCK_N, num_warps, num_stages, such that q and num_stages tiles of k and v fit into 99 KiB."""
    if element_size == 4:
        return {128: (32, 64, 8, 2), 256: (32, 16, 8, 2)}.get(BLOCK_D, (64, 32, 8, 2))
    if BY_DESCRIPTOR:
        return {128: (128, 64, 4, 2), 256: (64, 32, 4, 2)}.get(BLOCK_D, (64, 128, 4, 2))
    return {128: (128, 64, 8, 2), 256: (64, 32, 8, 2)}.get(BLOCK_D, (128, 64, 8, 3))


def flash_attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool = False) -> torch.Tensor:
    """Return softmax(q kᵀ / √head_dim) v for q, k, v of shape (batch, heads, seq_len, head_dim), last stride 1."""
    batch, n_heads, seq_len, head_dim = q.shape
    out = torch.empty((batch, n_heads, seq_len, head_dim), dtype=q.dtype, device=q.device)
    BY_DESCRIPTOR = has_copy_engine(q) and all(fits_descriptor(tensor) for tensor in (q, k, v, out))
    BLOCK_D = max(16, triton.next_power_of_2(head_dim))  # tl.dot needs at least 16
    BLOCK_M, BLOCK_N, num_warps, num_stages = tile_sizes(BLOCK_D, q.element_size(), BY_DESCRIPTOR)

    def view(tensor, BLOCK):
        if BY_DESCRIPTOR:
            return TensorDescriptor.from_tensor(tensor, [1, 1, BLOCK, BLOCK_D])
        return (tensor, *tensor.stride()[:3])

    grid = (batch * n_heads * triton.cdiv(seq_len, BLOCK_M),)  # one axis: the others end at 65,535
    flash_attention_kernel[grid](
        view(q, BLOCK_M), view(k, BLOCK_N), view(v, BLOCK_N),
        view(out, BLOCK_M),
        n_heads, seq_len,
        head_dim**-0.5,
        HEAD_DIM=head_dim,
        IS_CAUSAL=causal,
        BY_DESCRIPTOR=BY_DESCRIPTOR,
        BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, BLOCK_D=BLOCK_D,
        num_warps=num_warps, num_stages=num_stages,
    )  # fmt: skip
    return out
