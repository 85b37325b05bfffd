"""Tell the story of a violation: run the same again, and watch one notification closely.

A seed gives the same run every time, so nothing has to be kept while a run is still good. The
second time, every broker that the notification meets is asked for the entries of its routing table
that match, so one sees at which broker it went wrong: it was not sent on, or sent on too often.
"""

from __future__ import annotations

from collections.abc import Iterator

from sapwood.filters.values import Value
from sapwood.protocol.broker import Broker
from sapwood.protocol.events import Event, FramesReceived
from sapwood.sim.network import Direction, Network
from sapwood.sim.run import Simulation
from sapwood.sim.scenario import Scenario
from sapwood.trace.judge.story import story
from sapwood.trace.judge.verdict import Violation
from sapwood.trace.schema import Row
from sapwood.wire.frames import decode_envelope, decode_head, split

TABLE = "table"
"""Kind of the rows that show what a broker's table says about the notification."""


class Watcher:
    """Keeps the rows that a story may need."""

    def __init__(self, notification: str) -> None:
        self.rows: list[Row] = []
        self._notification = notification

    def add(self, row: Row) -> None:
        """Take a row."""
        if row.notification is None or row.notification == self._notification:
            self.rows.append(row)


def watched_network(notification: str) -> type[Network]:
    """A network that records what the tables say about one notification wherever it arrives."""

    class WatchedNetwork(Network):
        def _arrive(self, direction: Direction, event: Event) -> None:
            if direction.up:
                self._look(direction.target.broker.id, event)
            super()._arrive(direction, event)

        def _look(self, name: str, event: Event) -> None:
            if not isinstance(event, FramesReceived) or self._record is None:
                return
            for publisher, sequence, attributes in _notifications(event.data):
                if f"{publisher}:{sequence}" == notification:
                    entries = matching_entries(self.brokers[name], attributes)
                    self._record(
                        name,
                        TABLE,
                        publisher=publisher,
                        sequence=sequence,
                        source=event.source,
                        filter="; ".join(entries) or "no entry matches",
                    )

    return WatchedNetwork


def matching_entries(broker: Broker, attributes: dict[str, Value]) -> list[str]:
    """The lines of a routing table that match, and the neighbours that get everything."""
    entries = [
        f"{entry.destination} wants {entry.filter}"
        for entry in broker.subscriptions
        if entry.filter.matches(attributes)
    ]
    flooded = [name for name, one in broker.neighbours.items() if one.receives == "flooding"]
    return entries + [f"{name} is flooded" for name in flooded]


def _notifications(data: bytes) -> Iterator[tuple[str, int, dict[str, Value]]]:
    for _, head, body in split(data):
        publisher, attributes = decode_head(head)
        yield publisher, decode_envelope(body).sequence, attributes


def explain(scenario: Scenario, seed: int, violation: Violation) -> str:
    """What happened to the notification of a violation."""
    watcher = Watcher(violation.notification)

    class Watched(Simulation):
        network_type = watched_network(violation.notification)

    Watched(scenario, seed, check=False, digest=False, sinks=[watcher.add]).run()
    return f"{violation}\n{story(watcher.rows, violation.notification, violation.client)}"
