"""The definitions of correctness once more, straight from their words.

Slow on purpose: everything is looked up by going through all rows, nothing is remembered, and the
causal order is computed as a closure of pairs. It shares nothing with the checkers but `Row` and
`Filter.matches`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import pairwise

from sapwood.filters import Filter
from sapwood.trace.schema import Row

Id = tuple[str, int]
Span = tuple[Row, Row | None]
"""The rows that began and ended a subscription or advertisement."""


def time_key(row: Row) -> tuple[float, str, int, int]:
    return (row.at, row.broker, row.session, row.step)


def id_of(row: Row) -> Id:
    assert row.publisher is not None
    assert row.sequence is not None
    return row.publisher, row.sequence


class Oracle:
    """One run."""

    def __init__(self, rows: Sequence[Row], settle: float, required: bool = False) -> None:
        self.rows = sorted(rows, key=time_key)
        self.settle = settle
        self.required = required
        self.end = max(row.at for row in rows)
        self.events = {client: self._events(client) for client in sorted(self._clients())}
        self.edges = self._closure()

    def _kind(self, *kinds: str) -> Iterator[Row]:
        return (row for row in self.rows if row.kind in kinds)

    def _clients(self) -> set[str]:
        return {row.client for row in self.rows if row.client is not None}

    def published(self) -> dict[Id, Row]:
        found: dict[Id, Row] = {}
        for row in self._kind("published"):
            found.setdefault(id_of(row), row)
        return found

    # --- subscriptions --------------------------------------------------------------------

    def _spans(self, client: str, start: str, stop: str) -> list[tuple[Span, list[Row]]]:
        """Begin and end, and the rows in between that show the declaration standing."""
        found: list[tuple[Span, list[Row]]] = []
        texts = {row.filter for row in self._kind(start) if row.client == client}
        for text in sorted(text for text in texts if text is not None):
            begun: Row | None = None
            seen: list[Row] = []
            for row in self._kind(start, stop, "settled"):
                if row.client != client or row.filter != text:
                    continue
                if row.kind == start and begun is None:
                    begun, seen = row, [row]
                elif row.kind == stop and begun is not None:
                    found.append(((begun, row), seen))
                    begun = None
                elif begun is not None and (row.kind == start or row.message in {None, start}):
                    seen.append(row)
            if begun is not None:
                found.append(((begun, None), seen))
        return found

    def _settled_since(self, span: Span, seen: list[Row]) -> float:
        said = [row.at for row in seen if row.kind == "settled"]
        return min([*said, span[0].at + self.settle])

    def matches(self, span: Span, published: Row) -> bool:
        assert span[0].filter is not None
        assert published.attributes is not None
        return Filter(span[0].filter).matches(json.loads(published.attributes))

    def obliging(self, client: str, published: Row) -> list[tuple[Span, list[Row]]]:
        """Subscriptions because of which a notification had to be delivered."""
        if published.attributes is None or published.at + self.settle > self.end:
            return []
        if self.required and not self._advertised(published):
            return []
        return [
            (span, seen)
            for span, seen in self._spans(client, "subscribed", "unsubscribed")
            if self.matches(span, published)
            and self._settled_since(span, seen) <= published.at
            and (span[1] is None or span[1].at > published.at + self.settle)
        ]

    def _advertised(self, published: Row) -> bool:
        assert published.publisher is not None
        return any(
            self.matches(span, published)
            and self._settled_since(span, seen) <= published.at
            and (span[1] is None or span[1].at >= published.at)
            for span, seen in self._spans(published.publisher, "advertised", "unadvertised")
        )

    def in_force(self, client: str, published: Row, at: float) -> bool:
        return any(
            self.matches(span, published)
            and span[0].at <= at
            and (span[1] is None or at <= span[1].at + self.settle)
            for span, _ in self._spans(client, "subscribed", "unsubscribed")
        )

    # --- order ------------------------------------------------------------------------------

    def _events(self, client: str) -> list[Row]:
        rows = [
            row
            for row in self.rows
            if (row.kind == "delivered" and row.client == client)
            or (row.kind == "published" and row.publisher == client)
        ]
        if all(row.client_order is not None for row in rows):
            return sorted(rows, key=lambda row: row.client_order or 0)
        if len({row.broker for row in rows}) == 1:
            return sorted(rows, key=lambda row: (row.session, row.step))
        return rows

    def _closure(self) -> set[tuple[Id, Id]]:
        """All pairs (a, b) with a causally before b, by Warshall."""
        ids = sorted({id_of(row) for rows in self.events.values() for row in rows})
        edges = {(a, b) for a in ids for b in ids if a[0] == b[0] and a[1] < b[1]}
        for rows in self.events.values():
            for index, row in enumerate(rows):
                if row.kind == "published" and id_of(row) not in [
                    id_of(other) for other in rows[:index] if other.kind == "published"
                ]:
                    edges |= {
                        (id_of(cause), id_of(row))
                        for cause in rows[:index]
                        if cause.kind == "delivered"
                    }
        for middle in ids:
            into = [a for a, b in edges if b == middle]
            out = [b for a, b in edges if a == middle]
            edges |= {(a, b) for a in into for b in out}
        return edges

    def deliveries(self, client: str) -> list[Row]:
        return [row for row in self.events[client] if row.kind == "delivered"]

    def firsts(self, client: str) -> list[Row]:
        rows = self.deliveries(client)
        return [
            row
            for index, row in enumerate(rows)
            if id_of(row) not in [id_of(earlier) for earlier in rows[:index]]
        ]

    def out_of_order(self, client: str) -> tuple[int, int]:
        rows = self.firsts(client)
        fifo = causal = 0
        for index, row in enumerate(rows):
            earlier = [id_of(other) for other in rows[:index]]
            publisher, sequence = id_of(row)
            fifo += any(other[0] == publisher and other[1] > sequence for other in earlier)
            causal += any((id_of(row), other) in self.edges for other in earlier)
        return fifo, causal

    # --- gaps -------------------------------------------------------------------------------

    def _gaps(self, client: str) -> list[tuple[float, float]]:
        """Gaps of the brokers a client was seen at, of all brokers if it was seen nowhere."""
        brokers = {
            row.broker
            for row in self.rows
            if row.client == client or (row.kind == "published" and row.publisher == client)
        }
        found = []
        for broker in {row.broker for row in self.rows}:
            if brokers and broker not in brokers:
                continue
            own = sorted(
                (row for row in self.rows if row.broker == broker),
                key=lambda row: (row.session, row.step),
            )
            if own[0].kind == "trace_gap":
                found.append((float("-inf"), own[0].at))
            found += [(a.at, b.at) for a, b in pairwise(own) if b.kind == "trace_gap"]
        return found

    def hidden(self, client: str, since: float, until: float) -> bool:
        return any(start <= until and end >= since for start, end in self._gaps(client))

    def _may_have_been_published(self, key: Id, delivery: Row) -> bool:
        """Whether the row that published a notification may be in a gap."""
        same = [row for row in self.published().values() if row.publisher == key[0]]
        before = [row for row in same if (row.sequence or 0) < key[1]]
        after = [row for row in same if (row.sequence or 0) > key[1]]
        since = max(before, key=id_of).at if before else float("-inf")
        until = min(after, key=id_of).at if after else delivery.at
        return self.hidden(key[0], since, min(until, delivery.at))

    # --- the counts -------------------------------------------------------------------------

    def counts(self) -> dict[str, int]:
        names = (
            "published expected delivered lost duplicated early unexpected "
            "out_of_order_fifo out_of_order_causal unjudged"
        )
        counts = dict.fromkeys(names.split(), 0)
        published = self.published()
        counts["published"] = len(published)
        for client in self.events:
            fifo, causal = self.out_of_order(client)
            counts["out_of_order_fifo"] += fifo
            counts["out_of_order_causal"] += causal
            firsts = {id_of(row): row for row in self.firsts(client)}
            repeated = len(self.deliveries(client)) - len(firsts)
            counts["duplicated"] += repeated
            counts["delivered"] += repeated
            for key in {*published, *firsts}:
                for name in self._classes(client, published.get(key), firsts.get(key)):
                    counts[name] += 1
        return counts

    def _classes(self, client: str, published: Row | None, first: Row | None) -> list[str]:
        """The counts that one pair belongs to."""
        if published is None:
            assert first is not None
            missing = self._may_have_been_published(id_of(first), first)
            return ["unjudged"] if missing else ["unexpected", "delivered"]
        obliging = self.obliging(client, published)
        if obliging and first is not None:
            return ["expected", "delivered"]
        if obliging:
            since = max(row.at for _, seen in obliging for row in seen if row.at <= published.at)
            missing = self.hidden(client, since, published.at + self.settle)
            return ["unjudged"] if missing else ["expected", "lost"]
        if first is None:
            return []
        if published.attributes is None:
            return ["unjudged"]
        if self.in_force(client, published, first.at):
            return ["early", "delivered"]
        missing = self.hidden(client, float("-inf"), first.at)
        return ["unjudged"] if missing else ["unexpected", "delivered"]
