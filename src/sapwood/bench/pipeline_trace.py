"""Large traces for `sapwood bench pipeline`, with planted faults if wanted.

A tree of brokers; some publishers, many subscribers of which a few publish, too; publications have
a class, and a subscriber wants some classes. A notification takes a fixed time per hop, so order is
kept, causal order too. Written as brokers do, a file per broker and stretch of time.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sapwood.trace.schema import RunSettings

BROKERS = 10
PUBLISHERS = 50
SUBSCRIBERS = 200
AUTHORS = 4
"""Subscribers that publish, too."""

CLASSES = 100
WANTED = 20
"""Classes that each subscriber wants: a publication reaches 40 subscribers on average."""

_HOP_SECONDS = 0.002
_STRETCH = 20_000
_FILE_STRETCHES = 4
_SETTLE = 2.0
_PER_PUBLICATION = SUBSCRIBERS * WANTED // CLASSES


class Fault(NamedTuple):
    """What was planted."""

    kind: str
    notification: str
    client: str


class _Events(NamedTuple):
    """Events of a stretch of time, as arrays; a client that published is its own publisher."""

    at: Any
    client: Any
    publisher: Any
    sequence: Any
    kind: Any
    """0 published, 1 delivered."""
    topic: Any


def write_trace(directory: Path, deliveries: int, seed: int, faults: int = 0) -> list[Fault]:
    """Write a trace of about so many deliveries, and some faults of each kind; which they are."""
    return _Maker(directory, seed, faults).make(max(1, deliveries // _PER_PUBLICATION))


class _Maker:
    """A trace in the making."""

    def __init__(self, directory: Path, seed: int, faults: int) -> None:
        self._directory = directory
        self._random = np.random.default_rng(seed)
        self._faults = faults
        self._planted: list[Fault] = []
        clients = PUBLISHERS + SUBSCRIBERS
        self._names = pa.array(
            [f"p{number}.1" for number in range(PUBLISHERS)]
            + [f"s{number}.1" for number in range(SUBSCRIBERS)]
        )
        self._broker = np.arange(clients) % BROKERS
        self._wants = np.stack(
            [self._random.permutation(CLASSES)[:WANTED] for _ in range(SUBSCRIBERS)]
        )
        wanting = [np.flatnonzero((self._wants == one).any(axis=1)) for one in range(CLASSES)]
        self._starts = np.concatenate(([0], np.cumsum([len(found) for found in wanting])))
        self._wanting = np.concatenate(wanting) + PUBLISHERS
        self._hops = _hops()
        self._sequences = np.zeros(clients, np.int64)
        self._orders = np.zeros(clients, np.int64)
        self._steps = np.zeros(BROKERS, np.int64)
        self._now = 0.0
        self._files = 0
        self._waiting: list[list[Any]] = [[] for _ in range(BROKERS)]

    def make(self, publications: int) -> list[Fault]:
        """The whole trace."""
        self._directory.mkdir(parents=True, exist_ok=True)
        self._subscribe()
        stretches = -(-publications // _STRETCH)
        for number in range(stretches):
            count = min(_STRETCH, publications - number * _STRETCH)
            share = self._faults * (number + 1) // stretches - self._faults * number // stretches
            self._record(self._plant(self._stretch(count), share))
            if number % _FILE_STRETCHES == _FILE_STRETCHES - 1:
                self._flush()
        self._end()
        return self._planted

    def _subscribe(self) -> None:
        for client in range(SUBSCRIBERS):
            number = PUBLISHERS + client
            filters = [f"class = {topic}" for topic in sorted(self._wants[client].tolist())]
            self._add(int(self._broker[number]), "subscribed", [number] * WANTED, filters)
        self._now = _SETTLE + 1

    def _end(self) -> None:
        self._now += _SETTLE + 1
        for broker in range(BROKERS):
            self._add(broker, "clock", [None], [None])
        self._flush()

    def _add(self, broker: int, kind: str, clients: list[Any], filters: list[Any]) -> None:
        count = len(clients)
        named = [None if client is None else self._names[client].as_py() for client in clients]
        columns = {
            "at": pa.array([self._now] * count, pa.float64()),
            "kind": pa.array([kind] * count),
            "publisher": pa.nulls(count, pa.string()),
            "sequence": pa.nulls(count, pa.int64()),
            "client": pa.array(named, pa.string()),
            "client_order": pa.nulls(count, pa.int64()),
            "attributes": pa.nulls(count, pa.string()),
            "filter": pa.array(filters, pa.string()),
        }
        self._keep(broker, columns, count)

    def _stretch(self, count: int) -> _Events:
        """Publications one after the other, and all deliveries of them."""
        authors = np.concatenate((np.arange(PUBLISHERS), PUBLISHERS + np.arange(AUTHORS)))
        publisher = authors[self._random.integers(0, len(authors), count)]
        topic = self._random.integers(0, CLASSES, count)
        at = self._now + np.arange(count) * 1e-3
        order = np.argsort(publisher, kind="stable")
        ranked = publisher[order]
        first = np.searchsorted(ranked, ranked)
        sequence = np.empty(count, np.int64)
        sequence[order] = self._sequences[ranked] + np.arange(count) - first + 1
        np.maximum.at(self._sequences, publisher, sequence)
        fans = self._starts[topic + 1] - self._starts[topic]
        row = np.repeat(np.arange(count), fans)
        offset = np.arange(len(row)) - np.repeat(np.cumsum(fans) - fans, fans)
        client = self._wanting[self._starts[topic[row]] + offset]
        hops = self._hops[self._broker[publisher[row]], self._broker[client]]
        arrives = at[row] + (hops + 1) * _HOP_SECONDS
        self._now = float(at[-1]) + 1.0
        return _Events(
            at=np.concatenate((at, arrives)),
            client=np.concatenate((publisher, client)),
            publisher=np.concatenate((publisher, publisher[row])),
            sequence=np.concatenate((sequence, sequence[row])),
            kind=np.concatenate((np.zeros(count, np.int8), np.ones(len(row), np.int8))),
            topic=np.concatenate((topic, topic[row])),
        )

    def _plant(self, events: _Events, count: int) -> _Events:
        """Lose, repeat and swap some deliveries of publishers that do not listen."""
        order = np.lexsort((events.kind, events.at))
        events = _Events(*(column[order] for column in events))
        if not count:
            return events
        chosen = events.kind == 1
        chosen &= events.publisher < PUBLISHERS
        places = self._random.permutation(np.flatnonzero(chosen))[: 2 * count]
        lost, repeated = places[:count], places[count:]
        self._note("lost", events, lost)
        self._note("duplicated", events, repeated)
        swapped = self._swap(events, set(places.tolist()), count)
        kept = np.ones(len(events.at), bool)
        kept[lost] = False
        again = np.concatenate((np.flatnonzero(kept), repeated))
        again.sort(kind="stable")
        # A repeated delivery comes right after the first; swapping does not touch either.
        return _Events(*(column[again] for column in swapped))

    def _swap(self, events: _Events, taken: set[int], count: int) -> _Events:
        """Let neighbours of one publisher change places at one client: the earlier comes late.

        Not at a client that publishes: what it published in between would follow the later one, and
        come too early wherever that has not arrived. That would be right to report, too.
        """
        delivered = np.flatnonzero(events.kind == 1)
        order = delivered[
            np.lexsort((delivered, events.publisher[delivered], events.client[delivered]))
        ]
        same = (events.client[order][1:] == events.client[order][:-1]) & (
            events.publisher[order][1:] == events.publisher[order][:-1]
        )
        same &= events.publisher[order][1:] < PUBLISHERS
        same &= events.client[order][1:] >= PUBLISHERS + AUTHORS
        candidates = self._random.permutation(np.flatnonzero(same))
        publisher, sequence, topic = (
            column.copy() for column in (events.publisher, events.sequence, events.topic)
        )
        found = 0
        for candidate in candidates.tolist():
            one, other = int(order[candidate]), int(order[candidate + 1])
            around = {int(place) for place in order[max(candidate - 2, 0) : candidate + 4]}
            if around & taken:
                continue
            taken |= around
            late = np.array([one])
            self._note("out_of_order_fifo", events, late)
            self._note("out_of_order_causal", events, late)
            for column in (publisher, sequence, topic):
                column[one], column[other] = column[other], column[one]
            found += 1
            if found == count:
                break
        return events._replace(publisher=publisher, sequence=sequence, topic=topic)

    def _note(self, kind: str, events: _Events, places: Any) -> None:
        for place in places.tolist():
            publisher = self._names[int(events.publisher[place])].as_py()
            client = self._names[int(events.client[place])].as_py()
            self._planted.append(Fault(kind, f"{publisher}:{events.sequence[place]}", client))

    def _record(self, events: _Events) -> None:
        """Count each client's events, and hand each broker its rows."""
        by_client = np.argsort(events.client, kind="stable")
        ranked = events.client[by_client]
        own = np.empty(len(ranked), np.int64)
        own[by_client] = (
            self._orders[ranked] + np.arange(len(ranked)) - np.searchsorted(ranked, ranked) + 1
        )
        np.maximum.at(self._orders, events.client, own)
        at_broker = self._broker[events.client]
        kinds = pa.array(["published", "delivered"])
        texts = pa.array([f'{{"class": {topic}}}' for topic in range(CLASSES)])
        for broker in range(BROKERS):
            here = np.flatnonzero(at_broker == broker)
            published = pa.array(np.where(events.kind[here] == 0, events.topic[here], -1))
            topics = pa.compute.if_else(
                pa.compute.equal(published, -1), pa.scalar(None, pa.int64()), published
            )
            columns = {
                "at": pa.array(events.at[here]),
                "kind": kinds.take(pa.array(events.kind[here])),
                "publisher": self._names.take(pa.array(events.publisher[here])),
                "sequence": pa.array(events.sequence[here]),
                "client": self._names.take(pa.array(events.client[here])),
                "client_order": pa.array(own[here]),
                "attributes": texts.take(topics),
                "filter": pa.nulls(len(here), pa.string()),
            }
            self._keep(broker, columns, len(here))

    def _keep(self, broker: int, columns: dict[str, Any], count: int) -> None:
        step = self._steps[broker]
        self._steps[broker] += count
        place = {
            "run": pa.repeat(pa.scalar("bench"), count),
            "broker": pa.repeat(pa.scalar(f"B{broker + 1}"), count),
            "session": pa.array(np.ones(count, np.int64)),
            "step": pa.array(np.arange(step, step + count, dtype=np.int64)),
        }
        self._waiting[broker].append(pa.table({**place, **columns}))

    def _flush(self) -> None:
        metadata = RunSettings(settle_seconds=_SETTLE).metadata()
        for broker, waiting in enumerate(self._waiting):
            if waiting:
                table = pa.concat_tables(waiting).replace_schema_metadata(metadata)
                name = f"B{broker + 1}-{self._files:06}.parquet"
                pq.write_table(table, self._directory / name, compression="snappy")
                waiting.clear()
        self._files += 1


def _hops() -> Any:
    """Hops between brokers of a tree in which the parent of i is i // 2, counted from 1."""
    hops = np.zeros((BROKERS, BROKERS))
    for one in range(1, BROKERS + 1):
        for other in range(1, BROKERS + 1):
            left, right, count = one, other, 0
            while left != right:
                left, right = (left // 2, right) if left > right else (left, right // 2)
                count += 1
            hops[one - 1, other - 1] = count
    return hops
