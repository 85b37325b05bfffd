"""How far ahead everybody may send."""

from __future__ import annotations

import pytest

from protocol.joined import Network
from sapwood.protocol.link.credit import WINDOW_BYTES_MIN
from sapwood.protocol.link.limits import LinkLimits


@pytest.mark.slow
def test_the_more_there_are_the_less_each_may_send_ahead() -> None:
    """Together no more than half of a link's buffer, which is free when they are held back."""
    net = Network()
    node = net.add("B1", link=LinkLimits(buffer_bytes=2**20, window_bytes=2**18))
    assert node.credit.window(is_client=True) == node.config.client.window_bytes
    clients = [net.client(f"c{number}", "B1") for number in range(7)]
    assert node.credit.window(is_client=True) == 2**19 // 8
    assert node.credit.window(is_client=False) == 2**19 // 8
    assert clients[-1].welcome.credit == 2**19 // 7
    for number in range(300):
        net.client(f"d{number}", "B1")
    assert node.credit.window(is_client=True) == WINDOW_BYTES_MIN


def test_nobody_may_send_before_the_tables_are_restored() -> None:
    net = Network()
    node = net.add("B1", expected=("B2",), restore_seconds=1.0)
    assert node.credit.initial(is_client=True) == 0
    client = net.client("c", "B1")
    assert client.welcome.credit == 0
    assert node.credit.is_withheld(node.peers["c.1"])
    net.advance(2.0)
    assert not node.credit.is_withheld(node.peers["c.1"])
    assert node.credit.initial(is_client=True) == node.credit.window(is_client=True) > 0


def test_credit_that_was_given_or_withheld_by_mistake_is_put_right() -> None:
    net = Network()
    node = net.add("B1")
    net.client("c", "B1")
    peer = node.peers["c.1"]
    peer.channel.withheld = True
    node.credit.withhold(peer, net.now)
    assert not peer.channel.withheld
