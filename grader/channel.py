"""What judge and runner say to each other: JSON frames, and tensors in sealed shared memory.

Neither end trusts the other. A frame is JSON of bounded size, never a pickle. Memory is mapped only once its size is
sealed, so that the other process cannot shrink it under a reader, which would kill the reader with SIGBUS.
"""

import fcntl
import json
import mmap
import os
import socket
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

MAX_FRAME = 64 * 1024  # bytes; a longer frame is a broken or hostile peer
MAX_DESCRIPTORS = 2
GUARD_BYTES = 64 * 1024  # guard zone on either side of a tensor: 16,384 float32 elements, a large tile

# A quiet NaN of each floating type; the low bits are free for a mark that tells our fill from a computed NaN.
_QUIET_NAN = {"float16": 0x7E00, "bfloat16": 0x7FC0, "float32": 0x7FC0_0000, "float64": 0x7FF8_0000_0000_0000}
POISON_MARKS = range(1, 64)

_SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL


class ChannelClosed(Exception):
    """The other process is gone."""


class BadFrame(Exception):
    """The other process sent something that is not one of our frames."""


class Silence(Exception):
    """No frame came within the allowed time."""


@dataclass(frozen=True)
class Layout:
    """Where one tensor lies in a block of shared memory.

    `region` is the (first byte, size) of the tensor together with its guard zones; `start` is the byte offset of its
    element (0, …, 0) from the beginning of that region; `stride` counts elements.
    """

    dtype: str
    shape: tuple[int, ...]
    stride: tuple[int, ...]
    region: tuple[int, int]
    start: int

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        first, size = data["region"]
        return cls(data["dtype"], tuple(data["shape"]), tuple(data["stride"]), (first, size), data["start"])


class Channel:
    """One end of the connection."""

    def __init__(self, end: socket.socket) -> None:
        self._end = end

    @classmethod
    def pair(cls) -> tuple[Self, socket.socket]:
        """A channel for this process and the bare socket for the other one."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        return cls(ours), theirs

    def send(self, frame: Mapping[str, Any], *descriptors: int) -> None:
        """Send one frame, and file descriptors beside it.

        Raises BadFrame if the frame is too long and ChannelClosed if nobody listens.
        """
        message = json.dumps(frame).encode()
        if len(message) > MAX_FRAME:
            raise BadFrame(f"a frame of {len(message)} bytes is longer than {MAX_FRAME}")
        try:
            socket.send_fds(self._end, [message], descriptors)
        except OSError as error:
            raise ChannelClosed(str(error)) from error

    def receive(self, timeout: float | None = None) -> tuple[dict[str, Any], list[int]]:
        """The next frame and the descriptors sent with it; the caller closes them.

        Raises Silence after `timeout` seconds, ChannelClosed at the end, BadFrame on anything else.
        """
        self._end.settimeout(timeout)
        try:
            message, descriptors, _, _ = socket.recv_fds(self._end, MAX_FRAME + 1, MAX_DESCRIPTORS)
        except TimeoutError as error:
            raise Silence from error
        except OSError as error:
            raise ChannelClosed(str(error)) from error
        if not message:
            raise ChannelClosed
        return _decode(message), descriptors

    def close(self) -> None:
        self._end.close()


def _decode(message: bytes) -> dict[str, Any]:
    try:
        frame = json.loads(message)
    except (ValueError, RecursionError) as error:
        raise BadFrame("a frame is not JSON") from error
    if not isinstance(frame, dict):
        raise BadFrame("a frame is not a JSON object")
    return frame


def poison(dtype: str, mark: int) -> int:
    """The bits that fill memory nobody has written yet: a NaN for floats, an odd number for all other types."""
    return _QUIET_NAN.get(dtype, 0x40) | mark


def new_memory(size: int) -> int:
    """A descriptor of `size` bytes of anonymous memory whose size can never change. Pages are committed on first use."""
    descriptor = os.memfd_create("tensors", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(descriptor, size)
    fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, _SEALS)
    return descriptor


def map_memory(descriptor: int, size: int) -> mmap.mmap:
    """Map `size` bytes shared with the other process. Raises BadFrame unless the size is exactly that, and sealed."""
    try:
        seals = fcntl.fcntl(descriptor, fcntl.F_GET_SEALS)
    except OSError as error:
        raise BadFrame("a descriptor is not sealable memory") from error
    if seals & _SEALS != _SEALS or os.fstat(descriptor).st_size != size:
        raise BadFrame("shared memory is not sealed at its declared size")
    return mmap.mmap(descriptor, size)
