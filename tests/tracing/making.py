"""Rows for tests: a recorder that counts steps and client events by itself."""

from __future__ import annotations

from typing import Any

from sapwood.trace.schema import Row

ANY = "true"
"""A filter that matches everything."""


class Recorder:
    """Makes the rows of a run, as its brokers would record them."""

    def __init__(self, run: str = "r", broker: str = "B1", counts: bool = True) -> None:
        self.rows: list[Row] = []
        self._run = run
        self._broker = broker
        self._counts = counts
        self._steps: dict[tuple[str, int], int] = {}
        self._orders: dict[str, int] = {}

    def add(self, at: float, kind: str, **columns: Any) -> Row:
        """Any row; broker and session may be given."""
        broker, session = columns.pop("broker", self._broker), columns.pop("session", 1)
        step = self._steps[broker, session] = self._steps.get((broker, session), 0) + 1
        row = Row(
            run=self._run, broker=broker, session=session, step=step, at=at, kind=kind, **columns
        )
        self.rows.append(row)
        return row

    def publish(
        self, at: float, publisher: str, sequence: int, text: str | None = "{}", **more: Any
    ) -> Row:
        """`publisher` publishes."""
        return self._event(at, "published", publisher, publisher, sequence, attributes=text, **more)

    def deliver(self, at: float, client: str, publisher: str, sequence: int, **more: Any) -> Row:
        """`client` is delivered a notification."""
        return self._event(at, "delivered", client, publisher, sequence, **more)

    def subscribe(self, at: float, client: str, filter: str = ANY, **more: Any) -> Row:
        """`client` subscribes."""
        return self.add(at, "subscribed", client=client, filter=filter, **more)

    def unsubscribe(self, at: float, client: str, filter: str = ANY, **more: Any) -> Row:
        """`client` unsubscribes."""
        return self.add(at, "unsubscribed", client=client, filter=filter, **more)

    def settle(self, at: float, client: str, filter: str = ANY, **more: Any) -> Row:
        """A subscription (or advertisement) is in effect everywhere."""
        return self.add(at, "settled", client=client, filter=filter, **more)

    def clock(self, at: float, **more: Any) -> Row:
        """The trace goes on to this time."""
        return self.add(at, "clock", **more)

    def _event(
        self, at: float, kind: str, client: str, publisher: str, sequence: int, **more: Any
    ) -> Row:
        if self._counts:
            self._orders[client] = self._orders.get(client, 0) + 1
            more.setdefault("client_order", self._orders[client])
        return self.add(at, kind, client=client, publisher=publisher, sequence=sequence, **more)
