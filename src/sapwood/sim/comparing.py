"""Simulated clients that let their brokers compare: for schemes that compare tables, or tell them.

The same code as in the client library says what is to be sent, and when.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from random import Random
from typing import NamedTuple

from sapwood.protocol.client.refreshing import Refreshing, Said
from sapwood.protocol.events import ControlReceived, Tick
from sapwood.protocol.link.handshake import Welcome
from sapwood.protocol.messages import Advertise, Message, Repeat, Subscribe
from sapwood.protocol.neighbours import REFRESH
from sapwood.protocol.ports import TICK_SECONDS
from sapwood.sim.network import Network

Declared = Callable[[str], Mapping[str, Subscribe | Advertise]]
"""By session: what a client has declared, as it was said, by id."""


class _Request(NamedTuple):
    """Something that a client has declared."""

    name: str
    message: Subscribe | Advertise


class _Requests:
    """What a client has declared, as the library wants to know it."""

    def __init__(self, session: str, declared: Declared) -> None:
        self._session = session
        self._declared = declared

    def __iter__(self) -> Iterator[Said]:
        for name, message in self._declared(self._session).items():
            yield _Request(name, message)

    def in_force(self, *, subscriptions: bool) -> list[Said]:
        """Subscriptions, or advertisements."""
        return [one for one in self if isinstance(one.message, Subscribe) is subscriptions]


class Comparing:
    """All clients of a network; and regular ticks, which brokers need to find who is silent."""

    def __init__(self, network: Network, random: Random, period: float, declared: Declared) -> None:
        self._network = network
        self._random = random
        self._period = period
        self._declared = declared
        self._clients: dict[str, Refreshing] = {}
        network.client_features = (REFRESH,)
        network.asked = self._asked
        for name in network.brokers:
            self._at(random.uniform(0.0, TICK_SECONDS), self._tick, name)

    def _at(self, wait: float, action: Callable[[str], None], name: str) -> None:
        self._network.kernel.at(self._network.kernel.now + wait, action, name)

    def _tick(self, broker: str) -> None:
        self._network.handle(broker, Tick())
        self._at(TICK_SECONDS, self._tick, broker)

    def include(self, session: str) -> None:
        """A client has come: from now on it compares, at a time of its own."""
        broker = self._network.clients[session].broker
        client = self._clients[session] = Refreshing(session, _Requests(session, self._declared))
        welcome = Welcome(
            id=broker, session=1, version=1, features=(REFRESH,), refresh=self._period
        )
        client.welcomed(welcome, self._network.kernel.now)
        self._at(self._random.random() * self._period, self._compare, session)

    def _compare(self, session: str) -> None:
        client = self._clients[session]
        if session not in self._network.clients:
            del self._clients[session]
            return
        client.at = self._network.kernel.now
        self._send(session)
        self._at(self._period, self._compare, session)

    def _asked(self, session: str, message: Repeat) -> None:
        client = self._clients.get(session)
        if client is not None:
            client.asked(message)
            self._send(session)

    def _send(self, session: str) -> None:
        network = self._network
        messages: list[Message] = self._clients[session].due(network.kernel.now)
        for message in messages:
            network.handle(network.clients[session].broker, ControlReceived(session, message))
