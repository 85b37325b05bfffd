"""A simulated client: what a client library keeps, without a network."""

from __future__ import annotations

from collections.abc import Mapping

from sapwood.filters.values import Value
from sapwood.protocol.messages import Message, Refused, Settled
from sapwood.wire.frames import encode_head, encode_notification


class SimulatedClient:
    """One session of a client: its counts, and the answers it got."""

    def __init__(self, session: str, broker: str) -> None:
        self.session = session
        self.broker = broker
        self.order = 0
        self.settled: dict[int, bool] = {}
        """By request: whether what was asked has taken effect, once that was answered."""
        self.refused: list[Refused] = []
        self._sequence = 0
        self._requests = 0

    def next_request(self) -> int:
        """A number for a request to be told."""
        self._requests += 1
        return self._requests

    def next_order(self) -> int:
        """The place of what it publishes or gets now, in its own order."""
        self.order += 1
        return self.order

    def answer(self, message: Message) -> None:
        """Take what the broker says to it."""
        if isinstance(message, Settled):
            self.settled[message.request] = message.settled
        elif isinstance(message, Refused):
            self.refused.append(message)

    def notification(
        self, attributes: Mapping[str, Value], now: float, payload: bytes, expires_at: float
    ) -> tuple[int, bytes]:
        """The next notification it publishes: sequence and frame."""
        head = encode_head(self.session, attributes)
        self._sequence += 1
        return self._sequence, encode_notification(head, self._sequence, now, payload, expires_at)
