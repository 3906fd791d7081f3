"""Tensors on their way to the runner: strides and surroundings arrive, and every changed byte is noticed."""

import os

import pytest
import torch

from grader.channel import BadFrame, Channel, ChannelClosed, Silence, map_memory, new_memory
from grader.judge.pack import Surroundings, pack
from grader.runner.memory import receive

VIEWS = {
    "contiguous": torch.randn(4, 6),
    "scalar": torch.randn(()),
    "empty": torch.randn(3, 0, 2),
    "transposed": torch.randn(4, 6).t(),
    "sliced": torch.randn(8, 20)[1:7:2, 3:19:5],
    "offset": torch.randn(100)[7:30],
    "expanded": torch.randn(1, 5).expand(4, 5),
    "half": torch.randn(33).half()[1:],
    "bfloat16": torch.randn(3, 3).bfloat16(),
    "integers": torch.arange(10),
    "booleans": torch.tensor([True, False, True]),
}


@pytest.mark.parametrize("surroundings", Surroundings)
@pytest.mark.parametrize("name", VIEWS)
def test_arrives_as_it_was(name, surroundings):
    view = VIEWS[name]
    packed = pack([view], surroundings)
    (tensor,) = receive(packed.frame(), os.dup(packed.descriptor), "cpu").tensors
    assert torch.equal(tensor, view)
    assert tensor.stride() == view.stride()
    assert tensor.data_ptr() % 64 == view.storage_offset() * view.element_size() % 64
    assert packed.change() is None
    packed.close()


@pytest.mark.parametrize(
    ("surroundings", "check"), [(Surroundings.NAN, torch.isnan), (Surroundings.HUGE, lambda x: x == 1e30)]
)
def test_gaps_and_surroundings_hold_the_fill(surroundings, check):
    packed = pack([torch.randn(4, 10)[:, ::2]], surroundings)
    (tensor,) = receive(packed.frame(), os.dup(packed.descriptor), "cpu").tensors
    around = tensor.as_strided((4, 4), (10, 2), tensor.storage_offset() + 1)
    before = tensor.as_strided((100,), (1,), tensor.storage_offset() - 100)
    assert check(around).all()
    assert check(before).all()


@pytest.mark.parametrize(("offset", "inside"), [(0, True), (8, True), (1, False), (-1, False), (12, False), (-16000, False)])
def test_every_write_is_noticed(offset, inside):
    """A view of elements 0, 2, 4, 6, 8: what lies between and around them is not its own."""
    packed = pack([torch.randn(5), torch.randn(10)[::2]], Surroundings.HUGE)
    _, tensor = receive(packed.frame(), os.dup(packed.descriptor), "cpu").tensors
    tensor.as_strided((1,), (1,), tensor.storage_offset() + offset).fill_(7.0)
    change = packed.change()
    assert (change.argument, change.inside) == (1, inside)


def test_rows_gigabytes_apart_cost_no_memory():
    far = torch.empty(2 * 2**30 + 64, dtype=torch.float16).as_strided((3, 64), (2**30, 1))
    far.copy_(torch.randn(3, 64))
    packed = pack([far], Surroundings.NAN)
    (tensor,) = receive(packed.frame(), os.dup(packed.descriptor), "cpu").tensors
    assert torch.equal(tensor, far)
    assert os.fstat(packed.descriptor).st_blocks * 512 < 10 << 20
    tensor.as_strided((1,), (1,), tensor.storage_offset() + 2**30 - 1).fill_(1.0)
    assert not packed.change().inside


def test_memory_cannot_be_resized_and_is_refused_if_it_could():
    sealed = new_memory(4096)
    with pytest.raises(OSError):
        os.ftruncate(sealed, 0)
    with pytest.raises(BadFrame):
        map_memory(sealed, 8192)
    unsealed = os.memfd_create("open", os.MFD_ALLOW_SEALING)
    os.ftruncate(unsealed, 4096)
    with pytest.raises(BadFrame):
        map_memory(unsealed, 4096)


def test_channel_refuses_what_is_no_frame():
    ours, theirs = Channel.pair()
    for message in (b"not json", b"[1]", b'{"open": ', b"\xff"):
        theirs.send(message)
        with pytest.raises(BadFrame):
            ours.receive(1)
    theirs.send(b"x" * 70000)
    with pytest.raises(BadFrame):
        ours.receive(1)
    with pytest.raises(Silence):
        ours.receive(0.01)
    theirs.close()
    with pytest.raises(ChannelClosed):
        ours.receive(1)
