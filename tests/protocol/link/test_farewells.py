"""What a client claimed that is gone ends in parts, and nobody waits for it."""

from __future__ import annotations

from random import Random

import pytest

from sapwood.protocol.events import Tick
from sapwood.protocol.link.farewells import PART
from sapwood.protocol.link.handshake import LINK_CODEC, Hello
from sapwood.protocol.link.limits import ClientLimits
from sapwood.protocol.messages import CODEC, Subscribe
from sapwood.protocol.node import Node
from sapwood.protocol.node_config import NodeConfig
from sapwood.protocol.ports import (
    ClientOrder,
    Connected,
    Data,
    Disconnected,
    DriverEffect,
    Row,
    Stop,
)

CLAIMS = 5 * PART
FREE = ClientLimits(changes_per_second=1e6, changes_burst=10**6, grace_seconds=1.0)


class Visited:
    """A node at which a client has subscribed much."""

    def __init__(self) -> None:
        config = NodeConfig(id="B1", client=FREE, recording=True)
        self.node = Node(config, Random(1), lambda: "secret")
        self.now = 0.0
        self.effects: list[DriverEffect] = []
        self.come(1, CLAIMS)
        while self.node.broker.clients.count("c.1") < CLAIMS:
            self.tick(0.02)

    def come(self, connection: int, claims: int, session: int = 1) -> None:
        hello = Hello(role="client", network="sapwood", id="c", session=session, credit=10**6)
        self.do(self.node.handle(Connected(connection), self.now))
        messages = [CODEC.encode(Subscribe(str(one), f"x = {one}")) for one in range(claims)]
        data = LINK_CODEC.encode(hello) + b"".join(messages)
        self.do(self.node.handle(Data(connection, data), self.now))

    def go(self, connection: int = 1) -> None:
        self.node.handle(Disconnected(connection), self.now)
        self.tick(1.5)

    def do(self, effects: list[DriverEffect]) -> None:
        self.effects += effects

    def tick(self, seconds: float) -> None:
        self.now += seconds
        self.do(self.node.handle(Tick(), self.now))

    @property
    def left(self) -> int:
        return self.node.broker.clients.count("c.1")


def test_much_ends_in_parts_and_the_trace_says_when_the_client_left() -> None:
    visited = Visited()
    visited.go()
    steps = []
    while "c.1" in visited.node.broker.clients:
        steps.append(visited.left)
        assert visited.node.deadline <= visited.now + 0.02, "the next part has its time"
        assert visited.node.problems() == []
        visited.effects.clear()
        visited.tick(0.02)
    assert steps == [*range(CLAIMS - PART, 0, -PART)]
    rows = [one for one in visited.effects if isinstance(one, Row)]
    assert {row.at for row in rows if row.kind == "unsubscribed"} == {0.0}, "last heard of"
    assert ClientOrder("c.1", None) in visited.effects
    assert visited.node.problems() == []
    assert visited.node.farewells.next_at == float("inf")


def test_one_that_comes_back_meanwhile_begins_with_nothing() -> None:
    visited = Visited()
    visited.go()
    assert visited.left
    visited.come(2, 1)
    visited.tick(0.02)
    assert visited.left == 1
    assert visited.node.problems() == []


def test_what_it_had_still_to_say_is_not_taken_any_more() -> None:
    visited = Visited()
    visited.node.broker.turns.keep("c.1", Subscribe("late", "y = 1"), visited.now)
    visited.go()
    while "c.1" in visited.node.broker.clients:
        assert ("subscribed", "late") not in visited.node.broker.clients.some_claims("c.1", 10**6)
        visited.tick(0.02)


@pytest.mark.parametrize("claims", [0, PART])
def test_little_ends_at_once(claims: int) -> None:
    visited = Visited()
    visited.go()
    visited.node.farewells.end_all(visited.now)
    visited.come(2, claims, session=2)
    visited.node.handle(Disconnected(2), visited.now)
    visited.tick(1.5)
    assert "c.2" not in visited.node.broker.clients


def test_a_broker_that_ends_waits_for_nobody_who_is_gone() -> None:
    visited = Visited()
    visited.go()
    visited.node.handle(Stop(), visited.now)
    visited.node.farewells.end_all(visited.now)
    assert "c.1" not in visited.node.broker.clients
