"""What must be true of what applications saw, worked out from what applications did.

Nothing here asks a broker. A subscription that had settled, and stayed, obliges the network to
deliver what matches it: or else to say that something was missed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from math import inf
from typing import NamedTuple

from sapwood.sim.faithful.client import Delivery, FaithfulClient, Publication, Wanted
from sapwood.trace.judge.ordering import judge_order
from sapwood.trace.judge.verdict import OUT_OF_ORDER_CAUSAL, Findings, Verdict
from sapwood.trace.schema import DELIVERED, PUBLISHED, Row


class Pair(NamedTuple):
    """A notification and a subscription."""

    publisher: str
    sequence: int
    client: str
    subscription: Wanted
    at: float
    """When it was published."""

    def __str__(self) -> str:
        where = self.subscription.name
        return f"{self.publisher}:{self.sequence} at {where}, published {self.at:.3f}"


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

    def was_whole(self, a: str, b: str, since: float, until: float) -> bool:
        """Whether the way between two brokers was there, and for some time before."""
        return not any(
            since - self._settle_seconds <= apart <= until
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
        tree: Tree,
    ) -> None:
        self._clients = clients
        self._tree = tree

    def order(self) -> Iterator[str]:
        """What was repeated, or came in the wrong order, whatever else happened.

        A client that begins anew at another broker carries what it knows past everything that is
        under way in the tree: then only the order of each publisher is promised. One that is
        handed over does not.
        """
        findings = Findings(Verdict(), violations_max=5)
        rows = {name: list(rows_of(name, client)) for name, client in self._clients.items()}
        judge_order(rows, findings)
        moved = any(
            not home.is_resumed for client in self._clients.values() for home in client.homes[1:]
        )
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
                    one.asked_at <= got.at and one.filter.matches(dict(found.attributes))
                    for one in client.all_subscriptions
                ):
                    yield f"{got.publisher}:{got.sequence} at {name}: not subscribed"

    def lost(self, since: float = 0.0) -> Iterator[Pair]:
        """What had to be delivered and was not, of what was published from a time on."""
        published = [
            (publisher, one)
            for publisher, client in self._clients.items()
            for one in client.publications
            if one.at >= since
        ]
        for name, client in self._clients.items():
            for wanted in client.subscriptions.values():
                for publisher, one in published:
                    if (publisher, one.sequence) not in wanted.got and self._obliges(
                        client, wanted, publisher, one
                    ):
                        yield Pair(publisher, one.sequence, name, wanted, one.at)

    def _obliges(
        self, client: FaithfulClient, wanted: Wanted, publisher: str, one: Publication
    ) -> bool:
        """Whether a publication must come to a subscription: it had settled, and stays.

        A publication may have waited for a broker, and the subscriber may have been handed over
        meanwhile: what counts is the way between where both are when a broker has it.
        """
        if not (
            wanted.ended_at == inf
            and wanted.filter.matches(dict(one.attributes))
            and wanted.had_settled(one.at)
        ):
            return False
        source = self._clients[publisher]
        taken_at = source.accepted_at.get(one.sequence, one.at)
        here, there = (_only_home(each, one.at, taken_at) for each in (client, source))
        return self._tree.was_whole(here, there, one.at, taken_at)

    def is_reported(self, pair: Pair) -> bool:
        """Whether the publisher or the subscriber was told of a loss."""
        publisher = self._clients[pair.publisher]
        if pair.sequence in publisher.unconfirmed:
            return True
        if publisher.failed is not None and pair.sequence > publisher.session.publishing.accepted:
            return True
        return any(report.at >= pair.at for report in pair.subscription.reports)


def _only_home(client: FaithfulClient, since: float, until: float) -> str:
    """The broker of a client's stream from one time to another; empty if it was not the same."""
    home = client.home(until)
    return home if home == client.home(since) else ""


def rows_of(name: str, client: FaithfulClient) -> Iterator[Row]:
    """What a client published and got, as rows of a trace."""
    for order, event in enumerate(client.events, 1):
        publisher = event.publisher if isinstance(event, Delivery) else name
        yield Row(
            run="faithful",
            broker="",
            session=1,
            step=order,
            at=event.at,
            kind=DELIVERED if isinstance(event, Delivery) else PUBLISHED,
            publisher=publisher,
            sequence=event.sequence,
            client=name,
            client_order=order,
        )
