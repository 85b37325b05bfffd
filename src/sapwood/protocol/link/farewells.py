"""Clients that are gone and claimed much: what they claimed ends in parts.

To end one subscription takes as long as to begin it. A client may have thousands, and when it goes
nobody else is to wait for that. So it stays a client of the broker, though nobody is there any
more, until a part every few milliseconds has ended all it claimed. Meanwhile nothing is sent to it,
and neighbours may send what nobody wants any longer. In the trace everything ends when it left.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sapwood.protocol.due import is_due
from sapwood.protocol.events import ClientDown
from sapwood.protocol.ports import ClientOrder

if TYPE_CHECKING:
    from sapwood.protocol.node import Node

PART: Final = 64
"""Claims that end together."""

PART_SECONDS: Final = 0.02
"""Time between two parts."""


class Farewells:
    """The clients of a node that are gone, and not forgotten yet."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self.leaving: dict[str, float] = {}
        """Since when each is gone."""
        self.part_at = float("-inf")
        """When the next part is due."""

    def forget_everything(self) -> None:
        """Begin anew: nobody is here."""
        self.leaving = {}

    def begin(self, client: str, since: float, now: float) -> None:
        """A client is gone: forget it, at once if it claims little."""
        self.leaving[client] = since
        self._end_part(client, now)

    def came(self, client: str, now: float) -> None:
        """A client begins here that may not be forgotten yet: then it is now."""
        if client in self.leaving:
            self._end(client, now)

    def end_all(self, now: float) -> None:
        """Forget all of them: this broker is about to leave."""
        for client in list(self.leaving):
            self._end(client, now)

    @property
    def next_at(self) -> float:
        """When the next part is due."""
        return self.part_at if self.leaving else float("inf")

    def tick(self, now: float) -> None:
        """End a part of what those claim that are gone, in turn."""
        if not self.leaving or not is_due(self.part_at, now, PART_SECONDS):
            return
        client = next(iter(self.leaving))
        self.leaving[client] = self.leaving.pop(client)  # the others come first
        self._end_part(client, now)

    def _end_part(self, client: str, now: float) -> None:
        node = self._node
        count = node.broker.clients.count(client)
        if count > PART:
            self.part_at = now + PART_SECONDS
            since = self.leaving[client]
            node.carry_out(node.broker.end_claims(client, PART, now), now, None, since)
            if node.broker.clients.count(client) < count:
                return
        self._end(client, now)

    def _end(self, client: str, now: float) -> None:
        node = self._node
        since = self.leaving.pop(client)
        if client in node.broker.clients:
            node.bring(ClientDown(client), now, recorded_at=since)
        if node.config.recording:
            node.do(ClientOrder(client, None))
