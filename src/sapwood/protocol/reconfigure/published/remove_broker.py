"""RemoveBroker: a leaf goes, and its clients move to its neighbour (003, IV.C).

Broker *b* asks its neighbour *a*, with its clients and what each has subscribed to, which the print
leaves out. *a* connects to each client, which from then on publishes to a directly; behind what it
published before goes close(ba), by way of b. When that is there, a takes the client over: what is
for it goes to it directly, and behind what went the old way goes close(ab), by way of b. What comes
the new way waits for these. Six messages for one client, two of them between the client and b.

The text says that all a client gets is routed by a, before and after. Not so what clients of b
publish for each other: b delivers that itself. As printed, a client that a has taken over gets it
twice, from b and from a. Corrected, a broker that leaves delivers nothing by itself: what its
clients want of each other goes to a, and a sends it back as long as they are with b.

Clients stand beside b throughout: their direct connection to a is a way past the link, and what
they do themselves is done here in their name.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from sapwood.protocol.reconfigure.published.changes import Leave
from sapwood.protocol.reconfigure.published.messages import (
    CLIENT,
    Carried,
    ChangeAsked,
    ClientPublished,
    ClientSubscribed,
    ClientUnsubscribed,
    Deliver,
    Notification,
    Subscribe,
    Unsubscribe,
)
from sapwood.protocol.reconfigure.published.plain import PlainBroker
from sapwood.protocol.reconfigure.published.tables import IDENTITY, Entries, ParseFilter


class RemoveRequest(msgspec.Struct, frozen=True, gc=False):
    """I am leaving; these are my clients, and what each wants."""

    clients: dict[str, Entries]


class ConnectClient(msgspec.Struct, frozen=True, gc=False):
    """To a client: publish to me from now on."""

    client: str


class CloseClient(msgspec.Struct, frozen=True, gc=False):
    """Nothing more comes from this client, or for it, by way of b."""

    client: str


class Direct(Carried, frozen=True):
    """A notification between a client and the broker it moves to."""

    client: str


class DirectSubscription(msgspec.Struct, frozen=True, gc=False):
    """The same for a subscription, or the end of one."""

    client: str
    message: Subscribe | Unsubscribe


class RemoveBroker(PlainBroker):
    """One broker, and its clients that move."""

    def __init__(
        self,
        id: str,  # noqa: A002 - the word of the domain
        neighbours: Iterable[str],
        parse: ParseFilter,
        algorithm: str = IDENTITY,
        is_corrected: bool = True,
    ) -> None:
        super().__init__(id, neighbours, parse, algorithm)
        self.is_corrected = is_corrected
        self.heir = ""
        """At b: to whom it hands over."""
        self.moved: set[str] = set()
        """At b: the clients that publish to the heir."""
        self.arrived: set[str] = set()
        """At b: the clients that get everything from the heir."""
        self.early: dict[str, list[tuple[Any, float]]] = {}
        """By client: what came the new way too soon."""
        self.leaving: dict[str, dict[str, Entries]] = {}
        """At a: by broker that leaves, the clients that are still with it."""
        self.homes: dict[str, str] = {}
        """At a: the broker beside which a client stands."""
        self.deferred: list[tuple[str, Subscribe | Unsubscribe]] = []
        """At b: what clients subscribe to while they move."""
        self._messages |= {
            RemoveRequest: self._requested,
            ConnectClient: self._connect,
            CloseClient: self._close,
            Direct: self._direct,
            DirectSubscription: self._direct_subscription,
        }

    @property
    def is_busy(self) -> bool:
        """Whether clients are still on the move."""
        return bool(self.leaving) or bool(self.heir and self.neighbours)

    @staticmethod
    def initiators(change: Leave) -> tuple[str, ...]:
        """The leaf is asked."""
        return (change.leaf,)

    # At b

    def _own_clients(self) -> dict[str, Entries]:
        return {
            name.removeprefix(CLIENT): dict(entries)
            for name, entries in self.tables.entries.items()
            if name.startswith(CLIENT)
        }

    def _asked(self, event: ChangeAsked) -> None:
        assert isinstance(event.change, Leave)
        self.heir = event.change.neighbour
        self._send(self.heir, RemoveRequest(self._own_clients()))
        self._gone_when_empty()

    def _gone_when_empty(self) -> None:
        if not self._own_clients():
            self.neighbours.clear()

    def _connect(self, source: str, message: ConnectClient) -> None:
        """The client closes its old way, and publishes to the heir from now on."""
        self.moved.add(message.client)
        self._send(self.heir, CloseClient(message.client))
        self._say_deferred()

    def _say_deferred(self) -> None:
        ready = [one for one in self.deferred if one[0] in self.moved]
        self.deferred = [one for one in self.deferred if one[0] not in self.moved]
        for client, message in ready:
            self._send_past(self.heir, DirectSubscription(client, message))

    def _client_published(self, event: ClientPublished) -> None:
        if event.client in self.moved:
            message = Notification(event.client, event.sequence, event.attributes)
            self._send_past(self.heir, Direct(message, event.client))
        else:
            super()._client_published(event)

    def _client_subscribed(self, event: ClientSubscribed) -> None:
        key = self.tables.key(event.client, event.filter)
        self._client_said(event.client, Subscribe(key, event.filter))

    def _client_unsubscribed(self, event: ClientUnsubscribed) -> None:
        self._client_said(event.client, Unsubscribe(self.tables.key(event.client, event.filter)))

    def _client_said(self, client: str, message: Subscribe | Unsubscribe) -> None:
        if self.heir:
            self.deferred.append((client, message))
            self._say_deferred()
        else:
            self._receive(CLIENT + client, message)

    def _notified(self, source: str, message: Notification) -> None:
        if self.heir and self.is_corrected and source.startswith(CLIENT):
            self._send(self.heir, message)
        else:
            super()._notified(source, message)

    # At a

    def _requested(self, source: str, message: RemoveRequest) -> None:
        self.leaving[source] = dict(message.clients)
        for client in message.clients:
            self.homes[client] = source
            self._send_past(source, ConnectClient(client))
        self._handed_over(source)

    def _handed_over(self, broker: str) -> None:
        """When no client is left with it, a broker is gone."""
        if not self.leaving[broker]:
            del self.leaving[broker]
            self.neighbours.pop(broker, None)
            self.tables.forget(broker)

    def _take_over(self, client: str) -> None:
        """In one step: the client's entries in place of those of the broker it was with."""
        home = self.homes[client]
        entries = self.leaving[home].pop(client)
        for key, filter in entries.items():
            self.tables.add(CLIENT + client, key, filter)
        self._send(home, CloseClient(client))
        wanted = {key for others in self.leaving[home].values() for key in others}
        for key in self.tables.of(home):
            if key not in wanted:
                self.tables.remove(home, key)
        self._handed_over(home)
        self._tell()

    def _reach(self, source: str) -> set[str]:
        back = {source} if self.is_corrected and source in self.leaving else set()
        return {*super()._reach(source), *back}

    def _deliver(self, client: str, message: Notification) -> None:
        if client in self.homes:
            self._send_past(self.homes[client], Direct(message, client))
        else:
            super()._deliver(client, message)

    # On both sides

    def _close(self, source: str, message: CloseClient) -> None:
        client = message.client
        if client in self.homes:
            self._take_over(client)
        else:
            self.arrived.add(client)
            self.tables.forget(CLIENT + client)
            self._gone_when_empty()
        for one, since in self.early.pop(client, []):
            self._waited(since)
            self._take(client, one)

    def _direct(self, source: str, message: Direct) -> None:
        self._direct_one(message.client, message.notification)

    def _direct_subscription(self, source: str, message: DirectSubscription) -> None:
        self._direct_one(message.client, message.message)

    def _direct_one(self, client: str, message: Any) -> None:
        """The new way: now, if the old one is closed."""
        home = self.homes.get(client)
        is_early = client in self.leaving.get(home, {}) if home else client not in self.arrived
        if is_early:
            self.early.setdefault(client, []).append((message, self._now))
        else:
            self._take(client, message)

    def _take(self, client: str, message: Any) -> None:
        if client in self.homes:
            self._receive(CLIENT + client, message)
        else:
            self._effects.append(Deliver(client, message))
