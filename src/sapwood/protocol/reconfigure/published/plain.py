"""A broker that routes and does nothing else: what all published ways are built on."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from sapwood.errors import TopologyError
from sapwood.protocol.reconfigure.published.messages import (
    CLIENT,
    ChangeAsked,
    ClientPublished,
    ClientSubscribed,
    ClientUnsubscribed,
    Deliver,
    Effect,
    Event,
    Notification,
    Received,
    Routed,
    Send,
    Subscribe,
    Tick,
    Unsubscribe,
    Waited,
)
from sapwood.protocol.reconfigure.published.tables import IDENTITY, ParseFilter, Tables

HOPS_MAX = 128
"""What has passed more links goes round in a ring."""

Handler: TypeAlias = Callable[[str, Any], None]


class PlainBroker:
    """One broker: neighbours, tables, and the effects of what it is doing."""

    def __init__(
        self,
        id: str,  # noqa: A002 - the word of the domain
        neighbours: Iterable[str],
        parse: ParseFilter,
        algorithm: str = IDENTITY,
    ) -> None:
        self.id = id
        self.neighbours: dict[str, None] = dict.fromkeys(neighbours)
        self.tables = Tables(parse, algorithm)
        self.strangers = 0
        """Messages over links that were not there any more, or not yet."""
        self._now = 0.0
        self._effects: list[Effect] = []
        self._events: dict[type, Callable[[Any], None]] = {
            Received: lambda event: self._receive(event.source, event.message),
            ClientSubscribed: self._client_subscribed,
            ClientUnsubscribed: self._client_unsubscribed,
            ClientPublished: self._client_published,
            ChangeAsked: self._asked,
            Tick: lambda event: self._tick(),
        }
        self._messages: dict[type, Handler] = {
            Notification: self._notified,
            Subscribe: self._subscribed,
            Unsubscribe: self._unsubscribed,
        }

    @property
    def next_at(self) -> float:
        """When something is due."""
        return math.inf

    @property
    def is_busy(self) -> bool:
        """Whether it takes part in a change."""
        return False

    def handle(self, event: Event, now: float) -> list[Effect]:
        """What the broker does about an event."""
        self._now, self._effects = now, []
        self._events[type(event)](event)
        return self._effects

    # Clients

    def _client_subscribed(self, event: ClientSubscribed) -> None:
        key = self.tables.key(event.client, event.filter)
        self._receive(CLIENT + event.client, Subscribe(key, event.filter))

    def _client_unsubscribed(self, event: ClientUnsubscribed) -> None:
        key = self.tables.key(event.client, event.filter)
        self._receive(CLIENT + event.client, Unsubscribe(key))

    def _client_published(self, event: ClientPublished) -> None:
        message = Notification(event.client, event.sequence, event.attributes)
        self._receive(CLIENT + event.client, message)

    # Messages

    def _receive(self, source: str, message: Any) -> None:
        """Take a message; what is routed is taken from neighbours and clients only."""
        is_known = source in self.neighbours or source.startswith(CLIENT)
        if isinstance(message, Routed) and not is_known:
            self.strangers += 1
        else:
            self._process(source, message)

    def _process(self, source: str, message: Any) -> None:
        """Do what a message asks."""
        self._messages[type(message)](source, message)

    def _notified(self, source: str, message: Notification) -> None:
        onward = Notification(
            message.publisher, message.sequence, message.attributes, message.hops + 1, message.gray
        )
        for destination in self.tables.wanting(message.attributes):
            if destination.startswith(CLIENT):
                self._deliver(destination.removeprefix(CLIENT), message)
            elif destination in self._reach(source) and onward.hops <= HOPS_MAX:
                self._send(destination, onward)

    def _reach(self, source: str) -> set[str]:
        """The neighbours that something from a source may go to."""
        return self.neighbours.keys() - {source}

    def _deliver(self, client: str, message: Notification) -> None:
        """Hand a notification to a client."""
        self._effects.append(Deliver(client, message))

    def _subscribed(self, source: str, message: Subscribe) -> None:
        self.tables.add(source, message.key, message.filter)
        self._tell(message.gray)

    def _unsubscribed(self, source: str, message: Unsubscribe) -> None:
        self.tables.remove(source, message.key)
        self._tell(message.gray)

    def _tell(self, gray: bool = False) -> None:
        """Send every neighbour the difference, what is wanted before what is not."""
        for neighbour in self.neighbours:
            self._tell_one(neighbour, gray)

    def _tell_one(self, neighbour: str, gray: bool = False) -> None:
        difference = self.tables.difference(neighbour)
        for key, filter in difference.added:
            self._send(neighbour, Subscribe(key, filter, gray))
        for key in difference.removed:
            self._send(neighbour, Unsubscribe(key, gray))

    def _send(self, destination: str, message: Any) -> None:
        """Send something over a link."""
        self._effects.append(Send(destination, message))

    def _send_past(self, destination: str, message: Any) -> None:
        """Send something past the links."""
        self._effects.append(Send(destination, message, out_of_band=True))

    def _waited(self, since: float) -> None:
        """A notification has waited until now."""
        self._effects.append(Waited(self._now - since))

    # Links

    def _link_added(self, neighbour: str) -> None:
        """A link is there: the other end is told everything."""
        self.neighbours[neighbour] = None
        self._tell()

    def _link_removed(self, neighbour: str) -> None:
        """A link is gone, and with it what was wanted over it."""
        self.neighbours.pop(neighbour, None)
        self.tables.forget(neighbour)
        self._tell()

    # Changes

    def _asked(self, event: ChangeAsked) -> None:
        """A broker that only routes changes nothing, and says so."""
        raise TopologyError(
            f"{self.id} only routes and cannot change the tree; choose one of the published ways"
        )

    def _tick(self) -> None:
        """Nothing is ever due."""

    @staticmethod
    def initiators(change: Any) -> tuple[str, ...]:
        """The brokers that are asked for a change."""
        return (*change.old, *change.new)
