"""A broker in the middle restarts under load: what neighbours keep is routed by the new tables."""

from __future__ import annotations

import pytest

from protocol.joined import Network, RawPeer, line_of
from sapwood.protocol.messages import Missed
from sapwood.protocol.node import Node
from sapwood.protocol.ports import Remember, Stop, Stopped


def sequences(peer: RawPeer) -> list[int]:
    return [sequence for _, sequence in peer.got]


def gaps(peer: RawPeer) -> list[int]:
    return [message.count for message in peer.told if isinstance(message, Missed)]


class Restarted:
    """B1 - B2 - B3 with a subscriber at B1 and a publisher at B3; B2 ends and comes back."""

    def __init__(self, *, orderly: bool, away: int = 20) -> None:
        self.net = line_of(3)
        self.left = self.net.client("a", "B1").subscribe("n >= 0")
        self.right = self.net.client("b", "B3")
        self.count = 0
        self.net.advance(0.5)
        self.publish(20)
        if orderly:
            self.net.bring("B2", Stop())
            self.publish(1)
            self.net.advance_until(lambda: bool(self.net.asked("B2", Stopped)))
        self.counts = self.net.crash("B2").counts
        self.publish(away)
        kept = self.net.asked("B2", Remember)[-1]
        self.node = self.net.add(
            "B2",
            "B1",
            session=7000,
            expected=kept.neighbours,
            expected_sessions=kept.sessions,
            former=1,
        )
        self.was_restoring = self.node.broker.is_restoring
        self.publish(60)
        self.net.advance(5.0)

    def publish(self, steps: int) -> None:
        """Ten notifications every 20 ms, as many as 500 a second."""
        for _ in range(steps):
            self.right.publish("b.1", 1, 10)
            self.count += 10
            self.net.advance(0.02)


@pytest.mark.parametrize("away", [0, 1, 20, 200])
def test_an_orderly_restart_loses_nothing(away: int) -> None:
    run = Restarted(orderly=True, away=away)
    assert run.was_restoring
    assert not run.node.broker.is_restoring
    assert sequences(run.left) == list(range(1, run.count + 1))
    assert gaps(run.left) == []


@pytest.mark.slow
@pytest.mark.parametrize("away", [0, 1, 20, 200])
def test_after_a_crash_only_what_was_inside_is_lost_and_it_is_told(away: int) -> None:
    run = Restarted(orderly=False, away=away)
    got = sequences(run.left)
    assert got == sorted(set(got))
    lost = run.count - len(got)
    assert lost <= 10  # what was not acknowledged within 20 ms
    assert gaps(run.left) != [] or lost == 0
    assert run.net.nodes["B3"].counts["given_up"] >= lost


def test_a_broker_that_restores_gives_no_credit_until_its_neighbours_are_back() -> None:
    net = line_of(3)
    publisher = net.client("b", "B3")
    net.client("a", "B1").subscribe("n >= 0")
    net.advance(0.5)
    net.crash("B2")
    net.crash("B1")
    net.run()
    node = net.add("B2", session=2, expected=("B1", "B3"), expected_sessions=(1, 1))
    net.advance(3.0)
    assert is_waiting(node)
    publisher.publish("b.1", 1, 10)
    net.advance(1.0)
    kept = net.nodes["B3"].peers["B2"].channel
    assert (kept.notifications_waiting, node.peers["B3"].channel.missed) == (10, 0)
    net.advance(10.0)  # one neighbour never comes back: it does not wait for ever
    assert not is_waiting(node)
    assert kept.notifications_waiting == 0


def is_waiting(node: Node) -> bool:
    """Whether it restores its tables; then nobody may send to it."""
    assert node.peers["B3"].channel.withheld == node.broker.is_restoring
    return node.broker.is_restoring


def test_a_broker_without_a_past_takes_part_at_once() -> None:
    net = Network()
    assert not net.add("B1").broker.is_restoring
