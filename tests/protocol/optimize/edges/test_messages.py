"""Numbers of switches are bounded where they come from outside."""

from __future__ import annotations

import pytest

from sapwood.errors import SapwoodError
from sapwood.protocol.messages import CODEC, EdgeRouting, Message
from sapwood.protocol.optimize.edges.messages import NUMBER_MAX, PleaseTell, Stop, Tell
from sapwood.wire.frames import split


def body(message: Message) -> bytes:
    ((_, _, found),) = split(CODEC.encode(message))
    return found


@pytest.mark.parametrize("message", [Tell(1), Stop(2, is_chosen=False), PleaseTell(("B1",), 60.0)])
def test_they_travel(message: Message) -> None:
    assert CODEC.decode(body(message)) == message


@pytest.mark.parametrize("number", [-1, NUMBER_MAX + 1])
def test_impossible_numbers_are_refused(number: int) -> None:
    for message in (Tell(number), Stop(number), EdgeRouting("flooding", number)):
        with pytest.raises(SapwoodError):
            CODEC.decode(body(message))
