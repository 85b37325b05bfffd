"""What must be true of what applications saw, worked out from what applications did.

Nothing here asks a broker. A subscription that had settled, and stayed, obliges the network to
deliver what matches it: or else to say that something was missed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from sapwood.filters.filter import Filter
from sapwood.filters.values import Value
from sapwood.sim.faithful.client import Delivery, FaithfulClient, Publication
from sapwood.trace.ordering import judge_order
from sapwood.trace.schema import DELIVERED, PUBLISHED, Row
from sapwood.trace.verdict import Findings, Verdict

_filters: dict[str, Filter] = {}


class Subscription:
    """What a client wanted, from when to when."""

    def __init__(self, client: str, filter: str, request: int, asked_at: float) -> None:
        self.client = client
        self.text = filter
        self.request = request
        self.asked_at = asked_at
        self.ended_at = float("inf")

    def matches(self, attributes: Mapping[str, Value]) -> bool:
        """Whether it is about a notification."""
        filter = _filters.get(self.text)
        if filter is None:
            filter = _filters[self.text] = Filter(self.text)
        return filter.matches(dict(attributes))


class Pair(NamedTuple):
    """A notification and a client."""

    publisher: str
    sequence: int
    client: str
    at: float
    """When it was published."""

    def __str__(self) -> str:
        return f"{self.publisher}:{self.sequence} at {self.client}, published {self.at:.3f}"


class Oracle:
    """Judges what all clients of a run have done and seen."""

    def __init__(
        self, clients: Mapping[str, FaithfulClient], subscriptions: Iterable[Subscription]
    ) -> None:
        self._clients = clients
        self._subscriptions: dict[str, list[Subscription]] = {name: [] for name in clients}
        for subscription in subscriptions:
            self._subscriptions[subscription.client].append(subscription)
        self._got = {
            name: {(one.publisher, one.sequence) for one in client.deliveries}
            for name, client in clients.items()
        }

    def order(self) -> Iterator[str]:
        """What was repeated, or came in the wrong order, whatever else happened."""
        findings = Findings(Verdict(), violations_max=5)
        rows = {name: list(_rows(name, client)) for name, client in self._clients.items()}
        judge_order(rows, findings)
        yield from (str(violation) for violation in findings.finish().violations)

    def unexpected(self) -> Iterator[str]:
        """What nobody had published, or was not subscribed to."""
        published = {
            (name, one.sequence): one
            for name, client in self._clients.items()
            for one in client.publications
        }
        for name, client in self._clients.items():
            for got in client.deliveries:
                found = published.get((got.publisher, got.sequence))
                if found is None:
                    yield f"{got.publisher}:{got.sequence} at {name}: nobody has published that"
                elif not any(
                    one.asked_at <= got.at and one.matches(found.attributes)
                    for one in self._subscriptions[name]
                ):
                    yield f"{got.publisher}:{got.sequence} at {name}: not subscribed"

    def lost(self) -> Iterator[Pair]:
        """What had to be delivered and was not."""
        for publisher, client in self._clients.items():
            for one in client.publications:
                for name in self._clients:
                    key = (publisher, one.sequence)
                    if key not in self._got[name] and self._obliges(name, one):
                        yield Pair(publisher, one.sequence, name, one.at)

    def _obliges(self, name: str, one: Publication) -> bool:
        client = self._clients[name]
        for subscription in self._subscriptions[name]:
            settled_at, is_settled = client.settled.get(subscription.request, (0.0, False))
            if (
                is_settled
                and settled_at <= one.at
                and subscription.ended_at == float("inf")
                and subscription.matches(one.attributes)
            ):
                return True
        return False

    def is_reported(self, pair: Pair) -> bool:
        """Whether the publisher or the subscriber was told of a loss."""
        if pair.sequence in self._clients[pair.publisher].unconfirmed:
            return True
        return any(report.at >= pair.at for report in self._clients[pair.client].reports)


def _rows(name: str, client: FaithfulClient) -> Iterator[Row]:
    """What a client published and got, as rows of a trace."""
    for order, event in enumerate(client.events, 1):
        is_delivery = isinstance(event, Delivery)
        yield Row(
            run="faithful",
            broker="",
            session=1,
            step=order,
            at=event.at,
            kind=DELIVERED if is_delivery else PUBLISHED,
            publisher=event.publisher if is_delivery else name,
            sequence=event.sequence,
            client=name,
            client_order=order,
        )
