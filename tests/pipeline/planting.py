"""Traces with planted faults: what is wrong is known, and nothing else is."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pyarrow.parquet as pq

from sapwood.trace import Row, RunSettings
from sapwood.trace.files import arrow
from tracing.making import Recorder

SETTLE = 1.0
Fault = tuple[str, str, str]
"""Kind, notification, client."""

BROKERS = ("B1", "B2", "B3")


def write_run(
    directory: Path,
    rows: Iterable[Row],
    *,
    parts: int = 1,
    without: Iterable[str] = (),
    settings: RunSettings | None = None,
) -> None:
    """Write rows into some files, in an order that nobody should rely on."""
    listed = list(rows)
    for part in range(parts):
        name = f"{listed[0].run}-{parts - part}.parquet"
        write_file(directory / name, listed[part::parts], without=without, settings=settings)


def write_file(
    path: Path,
    rows: list[Row],
    *,
    without: Iterable[str] = (),
    settings: RunSettings | None = None,
) -> None:
    """Write one file, perhaps without some columns."""
    path.parent.mkdir(parents=True, exist_ok=True)
    metadata = (settings or RunSettings(settle_seconds=SETTLE)).metadata()
    pq.write_table(arrow.to_table(rows, metadata).drop_columns(list(without)), path)


class Planted:
    """A small network without delays whose faults are made on purpose.

    Publishers p1 and p2 publish to everybody, at different brokers; subscribers are at all three
    brokers. Rows are recorded in the order of time; `wrong` lists what was planted.
    """

    def __init__(self, run: str, *, counts: bool = True, rounds: int = 12) -> None:
        self.run = run
        self.wrong: list[Fault] = []
        self._rounds = rounds
        self._trace = Recorder(run=run, counts=counts)
        self._now = 0.0
        self._held: list[int] = []
        self._sessions = dict.fromkeys(BROKERS, 1)
        self._at = {"p1.1": "B1", "p2.1": "B2", "s1.1": "B1", "s2.1": "B2", "s3.1": "B3"}

    @property
    def rows(self) -> list[Row]:
        return self._trace.rows

    def where(self, client: str) -> dict[str, Any]:
        broker = self._at[client]
        return {"broker": broker, "session": self._sessions[broker]}

    def tick(self, seconds: float = 0.25) -> float:
        self._now += seconds
        return self._now

    def subscribe(self, client: str, filter: str = "exists topic", broker: str = "B3") -> None:
        self._at.setdefault(client, broker)
        self._trace.subscribe(self.tick(), client, filter, **self.where(client))

    def publish(self, client: str, sequence: int, topic: str = "news", broker: str = "B1") -> None:
        self._at.setdefault(client, broker)
        text = f'{{"topic": "{topic}"}}'
        self._trace.publish(self.tick(), client, sequence, text, **self.where(client))

    def deliver(self, client: str, publisher: str, sequence: int) -> None:
        self._trace.deliver(self.tick(), client, publisher, sequence, **self.where(client))

    def restart(self, broker: str) -> None:
        self._sessions[broker] += 1

    def move(self, client: str, broker: str) -> None:
        self._at[client] = broker

    def end(self) -> list[Row]:
        self._trace.clock(self.tick(SETTLE + 1))
        return self.rows

    def usual(self, faults: dict[int, str], restarts: bool = False) -> list[Row]:
        """Rounds of publications to all subscribers; `faults` says in which round what is wrong.

        The fault hits s2 and p1's notification of the round.
        """
        subscribers = ("s1.1", "s2.1", "s3.1")
        for client in subscribers:
            self.subscribe(client, "topic = 'news'")
        self.tick(SETTLE)
        for number in range(1, self._rounds + 1):
            self.publish("p1.1", number)
            self.publish("p2.1", number)
            for client in subscribers:
                fault = faults.get(number, "") if client == "s2.1" else ""
                for publisher, sequence in self._due(client, number, fault):
                    self.deliver(client, publisher, sequence)
            if restarts and number % 5 == 0:
                self.restart("B2")
                self.move("s2.1", BROKERS[number % 3])
        self._late_ones(subscribers)
        return self.end()

    def _due(self, client: str, number: int, fault: str) -> list[tuple[str, int]]:
        """What a client is delivered in a round."""
        first, second = ("p1.1", number), ("p2.1", number)
        if fault == "lost":
            self.wrong.append((fault, f"p1.1:{number}", client))
            return [second]
        if fault == "duplicated":
            self.wrong.append((fault, f"p1.1:{number}", client))
            return [first, second, first]
        if fault == "unexpected":
            self.wrong.append((fault, f"ghost.1:{number}", client))
            return [first, second, ("ghost.1", number)]
        if fault == "reordered":
            self._held.append(number)
            self.wrong += [
                (kind, f"p1.1:{number}", client)
                for kind in ("out_of_order_fifo", "out_of_order_causal")
            ]
            return [second]
        late = [("p1.1", held) for held in self._held] if client == "s2.1" else []
        if late:
            self._held.clear()
        return [first, *late, second]

    def _late_ones(self, subscribers: Iterable[str]) -> None:
        """What is still held back comes after one more notification, as the very last row."""
        if self._held:
            self.publish("p1.1", self._rounds + 1)
            for client in sorted(subscribers, key=lambda name: name == "s2.1"):
                self.deliver(client, "p1.1", self._rounds + 1)
            self.deliver("s2.1", "p1.1", self._held.pop())

    def edges(self) -> list[Row]:
        """The very first row is wrong, and the very last."""
        self.deliver("s3.1", "ghost.1", 1)
        self.wrong.append(("unexpected", "ghost.1:1", "s3.1"))
        self.subscribe("s3.1")
        self.tick(SETTLE)
        self.publish("p1.1", 1)
        self.deliver("s3.1", "p1.1", 1)
        self.end()
        self.deliver("s3.1", "p1.1", 1)
        self.wrong.append(("duplicated", "p1.1:1", "s3.1"))
        return self.rows

    def chain(self, intermediates: int, *, late: bool) -> list[Row]:
        """A chain of causes: `first` publishes, and each of some clients hears the one before it.

        `judged` hears only the first and the last of these, in the wrong order if `late`.
        """
        names = [f"i{number}.1" for number in range(intermediates)]
        self.subscribe("judged.1", "topic = 'first' or topic = 'last'")
        topics = ["first", *(f"t{number}" for number in range(intermediates - 1)), "last"]
        for name, heard in zip(names, topics, strict=False):
            self.subscribe(name, f"topic = '{heard}'", broker=BROKERS[len(name) % 3])
        self.tick(SETTLE)
        authors = ["first.1", *names]
        for author, topic, hearer in zip(authors, topics, [*names, None], strict=True):
            self.publish(author, 1, topic)
            if hearer is not None:
                self.deliver(hearer, author, 1)
        order = [names[-1], "first.1"] if late else ["first.1", names[-1]]
        for publisher in order:
            self.deliver("judged.1", publisher, 1)
        if late:
            self.wrong.append(("out_of_order_causal", "first.1:1", "judged.1"))
        return self.end()


def shuffled(rows: Iterable[Row], seed: int) -> list[Row]:
    listed = list(rows)
    Random(seed).shuffle(listed)
    return listed


def renamed(rows: Iterable[Row], run: str) -> list[Row]:
    return [msgspec.structs.replace(row, run=run) for row in rows]


def write_faults(directory: Path) -> None:
    """Three runs, in several files: one is right, one has most faults, one the causal one.

    What an audit has to say of them is in `faults.json`, wherever Spark runs.
    """
    faults = {2: "lost", 4: "duplicated", 6: "unexpected", 8: "reordered"}
    write_run(directory, Planted("fine").usual({}, restarts=True), parts=3)
    write_run(directory, Planted("broken").usual(faults, restarts=True), parts=3)
    write_run(directory, Planted("chain").chain(3, late=True), parts=2)


def expected_of_faults() -> dict[str, Any]:
    """The report on them, but for the directory."""
    expected: dict[str, Any] = json.loads(Path(__file__).with_name("faults.json").read_bytes())
    return expected
