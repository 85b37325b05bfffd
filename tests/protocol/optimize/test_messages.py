"""What brokers say to each other about swaps."""

from __future__ import annotations

import pytest

from sapwood.errors import FrameError
from sapwood.protocol.messages import CODEC, Message
from sapwood.protocol.optimize.messages import (
    LinkCost,
    LinkProbe,
    Neighbourhood,
    SwapAnswer,
    SwapCancelled,
    SwapDone,
    SwapPropose,
)
from sapwood.wire.frames import split

MESSAGES: list[Message] = [
    Neighbourhood(1.5, 0.1, 3, 0, 2.5, "east", pinned=True, addresses=("sapwood://b:1",)),
    LinkProbe(1, "b", ("sapwood://b:1",)),
    LinkCost(1, "b", 2.5, 3, linked=True),
    LinkCost(1, "b", error="it cannot be dialled"),
    SwapPropose("v.1/s1", "a", "b", 1.0, 0.5, 3.0, 0.1, 2.0, ("sapwood://b:1",), "east", 4.0),
    SwapAnswer("v.1/s1", "full", 2.0),
    SwapCancelled("v.1/s1"),
    SwapDone("v.1/s1", 3.0, 2.0),
]


@pytest.mark.parametrize("message", MESSAGES)
def test_they_are_frames_like_others(message: Message) -> None:
    ((_, _, body),) = split(CODEC.encode(message))
    assert CODEC.decode(body) == message


def test_what_others_say_is_bounded() -> None:
    endless = Neighbourhood(addresses=("sapwood://b:1",) * 17)
    ((_, _, body),) = split(CODEC.encode(endless))
    with pytest.raises(FrameError):
        CODEC.decode(body)
    ((_, _, body),) = split(CODEC.encode(SwapAnswer("v.1/s1", "no")))  # type: ignore[arg-type]
    with pytest.raises(FrameError):
        CODEC.decode(body)


def test_a_neighbourhood_is_short() -> None:
    """About ninety bytes, as the specification assumes."""
    usual = Neighbourhood(0.123, 0.05, 4, 12, None, "", addresses=("sapwood://10.0.0.1:7470",))
    assert len(CODEC.encode(usual)) < 150
