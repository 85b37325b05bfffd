"""What nonsense in memory raises is among the faults; what ends a process is not."""

from __future__ import annotations

import struct
from collections.abc import Callable
from math import nan
from typing import Any

import msgspec
import pytest

from sapwood.errors import FrameError
from sapwood.protocol.faults import FAULTS
from sapwood.wire.frames import HEADER

NOTHING: Any = None
EMPTY: dict[str, int] = {}


def fail() -> None:
    raise FrameError("no frame")


@pytest.mark.parametrize(
    "nonsense",
    [
        lambda: NOTHING + 1,
        lambda: NOTHING.frames,
        lambda: EMPTY["gone"],
        lambda: b""[len(EMPTY)],
        lambda: int(nan),
        lambda: 1 // 0,
        lambda: HEADER.unpack_from(b""),
        lambda: msgspec.msgpack.encode(2**70),
        lambda: msgspec.msgpack.decode(b"\xc1"),
        fail,
    ],
)
def test_nonsense(nonsense: Callable[[], Any]) -> None:
    with pytest.raises(FAULTS):
        nonsense()


@pytest.mark.parametrize("end", [KeyboardInterrupt, SystemExit, MemoryError])
def test_what_ends_a_process_is_no_fault(end: type[BaseException]) -> None:
    assert not issubclass(end, FAULTS)
    assert issubclass(struct.error, FAULTS)
