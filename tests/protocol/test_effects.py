"""Effects are plain values."""

from __future__ import annotations

import gc

import pytest

from sapwood.protocol.effects import Forward, Record, Send
from sapwood.protocol.messages import Unsubscribe


@pytest.mark.parametrize(
    "effect",
    [
        Forward(("a",), b"", 1),
        Send("a", Unsubscribe("x")),
        Record("dropped", {}),
    ],
)
def test_an_effect_is_a_value_that_the_collector_need_not_follow(effect: object) -> None:
    with pytest.raises(AttributeError):
        effect.destination = "b"  # type: ignore[attr-defined]
    assert not gc.is_tracked(effect)
