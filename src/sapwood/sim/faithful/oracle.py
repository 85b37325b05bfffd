"""What must be true of what applications saw, worked out from what applications did.

Nothing here asks a broker. A subscription that had settled, and stayed, obliges the network to
deliver what matches it: or else to say that something was missed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from sapwood.filters.filter import Filter
from sapwood.filters.values import Value
from sapwood.sim.faithful.client import Delivery, FaithfulClient, Publication
from sapwood.trace.ordering import judge_order
from sapwood.trace.schema import DELIVERED, PUBLISHED, Row
from sapwood.trace.verdict import OUT_OF_ORDER_CAUSAL, Findings, Verdict

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


class Tree:
    """Which brokers took each other for neighbours, over time.

    A broker at the edge that ends in an orderly way leaves the tree; when it comes back, what it
    is told and tells needs a moment.
    """

    def __init__(self, edges: Iterable[tuple[str, str]], settle_seconds: float) -> None:
        self._edges = tuple(edges)
        self._settle_seconds = settle_seconds
        self._apart: dict[tuple[str, str], list[float]] = {edge: [] for edge in self._edges}

    def look(self, is_formed: Callable[[str, str], bool], now: float) -> None:
        """Note which edges are not there now."""
        for edge in self._edges:
            if not is_formed(*edge):
                self._apart[edge].append(now)

    def was_whole(self, a: str, b: str, at: float) -> bool:
        """Whether the way between two brokers was there for some time before a time."""
        return not any(
            at - self._settle_seconds <= apart <= at
            for edge in self._path(a, b)
            for apart in self._apart[edge]
        )

    def _path(self, a: str, b: str) -> list[tuple[str, str]]:
        """The edges between two brokers; all of them if one is not known."""
        if not a or not b:
            return list(self._edges)
        waiting: list[tuple[str, list[tuple[str, str]]]] = [(a, [])]
        for name, path in waiting:
            if name == b:
                return path
            for edge in self._edges:
                if name in edge and edge not in path:
                    other = edge[1] if edge[0] == name else edge[0]
                    waiting.append((other, [*path, edge]))
        return list(self._edges)


class Oracle:
    """Judges what all clients of a run have done and seen."""

    def __init__(
        self,
        clients: Mapping[str, FaithfulClient],
        subscriptions: Iterable[Subscription],
        tree: Tree,
    ) -> None:
        self._clients = clients
        self._tree = tree
        self._subscriptions: dict[str, list[Subscription]] = {name: [] for name in clients}
        for subscription in subscriptions:
            self._subscriptions[subscription.client].append(subscription)
        self._got = {
            name: {(one.publisher, one.sequence) for one in client.deliveries}
            for name, client in clients.items()
        }

    def order(self) -> Iterator[str]:
        """What was repeated, or came in the wrong order, whatever else happened.

        A client that goes to another broker carries what it knows past everything that is under
        way in the tree: then only the order of each publisher is promised.
        """
        findings = Findings(Verdict(), violations_max=5)
        rows = {name: list(_rows(name, client)) for name, client in self._clients.items()}
        judge_order(rows, findings)
        moved = any(len(client.homes) > 1 for client in self._clients.values())
        for violation in findings.finish().violations:
            if violation.kind != OUT_OF_ORDER_CAUSAL or not moved:
                yield str(violation)

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

    def lost(self, since: float = 0.0) -> Iterator[Pair]:
        """What had to be delivered and was not, of what was published from a time on."""
        for publisher, client in self._clients.items():
            for one in client.publications:
                if one.at < since:
                    continue
                for name in self._clients:
                    key = (publisher, one.sequence)
                    if key not in self._got[name] and self._obliges(name, publisher, one):
                        yield Pair(publisher, one.sequence, name, one.at)

    def _obliges(self, name: str, publisher: str, one: Publication) -> bool:
        client = self._clients[name]
        return any(
            subscription.ended_at == float("inf")
            and subscription.matches(one.attributes)
            and self._had_settled(client, subscription, one.at)
            for subscription in self._subscriptions[name]
        ) and self._tree.was_whole(
            client.home(one.at), self._clients[publisher].home(one.at), one.at
        )

    def _had_settled(
        self, client: FaithfulClient, subscription: Subscription, at: float
    ) -> bool:
        """Whether a subscription was settled at a time, at the broker the client had then."""
        answers = [one for one in client.answers if one.request == subscription.request]
        before = [one for one in answers if one.at <= at]
        begun_at = max((home.at for home in client.homes if home.at <= at), default=0.0)
        return any(one.is_settled and one.at >= begun_at for one in before)

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
