"""Hidden tests of 14_flash_attention. Values and seed are new in every run; labels and shapes are no secret."""

import pytest
import torch

from grader.judge.grade import Grade, Oracle

BLOCK_M, BLOCK_N = 128, 64


def by_head(formula):
    """`formula` for tensors of (heads, seq_len, head_dim), some heads at a time: all scores at once may not fit."""

    def whole(q, k, v, causal=False):
        n_together = max(1, 2**24 // q.shape[2] ** 2)
        heads = zip(*(tensor.flatten(0, 1).split(n_together) for tensor in (q, k, v)), strict=True)
        return torch.cat([formula(*some, causal) for some in heads]).reshape(q.shape)

    return whole


def scores(q, k, causal):
    future = torch.ones(q.shape[1], k.shape[1], dtype=torch.bool, device=q.device).triu(1)
    every = q @ k.mT / q.shape[-1] ** 0.5
    return every.masked_fill(future, -torch.inf) if causal else every


@by_head
def attention(q, k, v, causal):
    """The oracle."""
    return torch.softmax(scores(q, k, causal), dim=-1) @ v


@by_head
def scale(q, k, v, causal):
    """Every term counts with its rounding errors: those of the score, which exp turns into relative ones, and its own.

    The tolerance multiplies this by √seq_len. Only the last sum adds up that many errors, so the others are divided by it.
    """
    head_dim, root = q.shape[-1], v.shape[1] ** 0.5
    s = scores(q, k, causal)
    probs = torch.softmax(s, dim=-1)
    distance = (s.amax(dim=-1, keepdim=True) - s).clamp(max=1e4)  # -inf has the probability 0; 0 · inf would be NaN
    size = scores(q.abs(), k.abs(), causal=False)
    noise = probs * (4 + distance + (head_dim**0.5 + 3) * size) / root
    return (probs + noise) @ v.abs() + noise.sum(dim=-1, keepdim=True) * (probs @ v).abs()


@by_head
def rounded(q, k, v, causal):
    """The probabilities are rounded to the dtype of v before they meet the values."""
    return torch.softmax(scores(q, k, causal), dim=-1) @ v.abs()


ORACLE = Oracle(value=attention, scale=scale, length=lambda q, *rest: q.shape[2], rounded=rounded)
ORACLES = {"flash_attention": ORACLE}


def qkv(batch, heads, seq_len, head_dim, dtype=torch.float32, device="cpu"):
    """Three different random tensors; the values have a mean that is not 0."""
    return tuple(torch.randn(batch, heads, seq_len, head_dim, device=device).add(m).to(dtype) for m in (0.1, -0.2, 0.5))


def test_one_tile(grade: Grade):
    """one head, one full tile"""
    for dtype in grade.dtypes:
        grade(*qkv(1, 1, BLOCK_N, 64, dtype=dtype))


def test_ragged_tail(grade: Grade):
    """sequences that are no multiple of a tile"""
    for dtype in grade.dtypes:
        for seq_len in (1, BLOCK_N - 1, BLOCK_N + 1, BLOCK_M + 9):
            grade(*qkv(1, 1, seq_len, 16, dtype=dtype))


def test_found_key(grade: Grade):
    """each query finds one key, whose value comes back to the last bit"""
    for dtype in grade.dtypes:
        keys, order = torch.eye(70, 128), torch.randperm(70)
        q, k, v = -40 * (1 - keys[order]), 40 * keys, torch.randn(70, 128)  # scores: one 0 in a row, the others -141
        grade(*(t.to(dtype)[None, None] for t in (q, k, v)), exact=True)


def test_batches_and_heads(grade: Grade):
    """several batches, several heads"""
    for dtype in grade.dtypes:
        grade(*qkv(2, 2, 37, 40, dtype=dtype))


def test_head_dims(grade: Grade):
    """head dimensions from 1 to 256"""
    for head_dim in (1, 7, 24, 80, 256):
        grade(*qkv(1, 1, 29, head_dim))
    for head_dim in (33, 128, 256):
        grade(*qkv(1, 1, 29, head_dim, dtype=torch.float16))


def test_causal(grade: Grade):
    """causal: no query sees a later key"""
    for dtype in grade.dtypes:
        for seq_len in (1, BLOCK_N, BLOCK_N + 7, BLOCK_M + 9):
            grade(*qkv(1, 1, seq_len, 32, dtype=dtype), True, note="causal")
    grade(*qkv(2, 2, 37, 24), True, note="causal")


def test_memory(grade: Grade):
    """one kernel, and no memory for scores"""
    seq_len = BLOCK_M + 9
    for causal in (False, True):
        grade(*qkv(1, 1, seq_len, 16, dtype=torch.float16), causal, scratch=8 * seq_len, kernels=1)


def test_moving_maximum(grade: Grade):
    """the maximum rises, falls, or comes first or last"""
    for dtype in grade.dtypes:
        q, k, v = qkv(1, 1, 2 * BLOCK_N + 9, 16)
        ramp = torch.linspace(-4, 4, k.shape[2])[:, None].expand(k.shape)
        spikes = torch.zeros(2, *k.shape)
        spikes[0, :, :, 0] = spikes[1, :, :, -1] = 5.0
        for place, note in ((ramp, "rises"), (-ramp, "falls"), (spikes[0], "is first"), (spikes[1], "is last")):
            grade(*(t.to(dtype) for t in (q + 2, k + place, v)), note=f"the maximum {note}")


def test_large_scores(grade: Grade):
    """large scores"""
    for dtype in grade.dtypes:
        for causal in (False, True):
            q, k, v = qkv(1, 1, BLOCK_N + 9, 40)
            grade(*(t.to(dtype) for t in (10 * q, 10 * k, v)), causal, note=f"q and k times 10, causal={causal}")


def test_negative_scores(grade: Grade):
    """all scores far below zero"""
    for dtype in grade.dtypes:
        for size, causal in ((5, False), (60, True), (400, True)):
            q, k, v = qkv(1, 1, BLOCK_N + 9, 64)
            q, k, v = (t.to(dtype) for t in (q + size, k - size, v))
            grade(q, k, v, causal, note=f"scores near {-8 * size**2}, causal={causal}")


def test_equal_scores(grade: Grade):
    """equal scores: the exact average of the values"""
    for dtype in grade.dtypes:
        for size in (0.0, 2.0**-10):
            q = torch.full((1, 1, 128, 16), size, dtype=dtype)
            grade(q, -q, torch.randint(0, 256, q.shape).to(dtype), exact=True, note=f"q = {size:g}, k = {-size:g}")


def test_strides(grade: Grade):
    """permuted, sliced and expanded inputs"""
    for dtype in grade.dtypes:
        q = torch.randn(2, 37, 2, 24).to(dtype).transpose(1, 2)
        k = torch.randn(2, 2, 37, 24).to(dtype).transpose(0, 1)
        v = torch.randn(2, 2, 90, 64).to(dtype)[:, :, 5:42, 11:35]
        grade(q, k, v, True, note="q (batch, seq, heads, dim), k (heads, batch, seq, dim), v a slice; causal")
    wide = torch.randn(1, BLOCK_N + 3, 3, 2, 24)
    grade(*wide.permute(2, 0, 3, 1, 4), note="q, k and v side by side in one tensor")
    q, _, _ = qkv(1, 3, 37, 24)
    one = torch.randn(2, 1, 1, 37, 24)
    grade(q, *one.expand(2, 1, 3, 37, 24), note="one head of k and v, expanded to three")


def test_far_batches(grade: Grade):
    """batches that lie more than 2**31 elements apart"""
    q, k, v = qkv(3, 1, 5, 16, dtype=torch.float16)
    far = torch.empty(2 * 2**30 + 80, dtype=torch.float16).as_strided(q.shape, (2**30, 80, 16, 1))
    for place, name in enumerate("qkv"):
        arguments = [q, k, v]
        arguments[place] = far.copy_(arguments[place])
        grade(*arguments, note=f"batch stride 2**30 in {name}")


@pytest.mark.gpu
def test_many_heads(grade: Grade):
    """more than 65,535 heads"""
    grade(*qkv(3, 22_000, 3, 16, dtype=torch.float16, device=grade.device))


@pytest.mark.gpu
def test_large(grade: Grade):
    """large inputs"""
    for dtype in grade.dtypes:
        for causal in (False, True):
            grade(*qkv(2, 3, 2011, 64, dtype=dtype, device=grade.device), causal, note=f"causal={causal}")
        grade(*qkv(1, 2, 1031, 256, dtype=dtype, device=grade.device), True, note="causal")
