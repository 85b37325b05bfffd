"""What is said under the heuristics is plain data, which can be written down and read again."""

from __future__ import annotations

import msgspec
import pytest

from sapwood.protocol.optimize.published.messages import Knowledge, RingAgreed, RingRequest

MESSAGES = (
    Knowledge(("A", "B"), (1.0, 2.0), (3.0,), b"bits"),
    RingRequest(("A", "B", "C"), (1.0, 2.0, 3.0), (1.0,) * 3, (0.0,) * 3, ("sim://A",)),
    RingAgreed(("A", "B", "C"), 2, ("sim://A",)),
)


@pytest.mark.parametrize("message", MESSAGES)
def test_it_comes_out_as_it_went_in(message: msgspec.Struct) -> None:
    packed = msgspec.msgpack.encode(message)
    assert msgspec.msgpack.decode(packed, type=type(message)) == message
