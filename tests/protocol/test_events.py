"""Events are plain values."""

from __future__ import annotations

import gc

import pytest

from sapwood.protocol.events import ClientUp, FramesReceived, LinkUp, Tick


@pytest.mark.parametrize("event", [FramesReceived("a", b""), LinkUp("a"), ClientUp("a"), Tick()])
def test_an_event_is_a_value_that_the_collector_need_not_follow(event: object) -> None:
    with pytest.raises(AttributeError):
        event.source = "b"  # type: ignore[attr-defined]
    assert not gc.is_tracked(event)


def test_links_are_in_the_tree_unless_it_is_said_otherwise() -> None:
    assert LinkUp("a") == LinkUp("a", in_tree=True, sends="", receives="", restarted=False)
