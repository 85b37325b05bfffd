"""What a client says about its requests from time to time, so that a broker can compare.

Only the client knows what it wants. Every so often, as the broker asked for when it let the client
in, it sends a digest of its subscriptions and advertisements, in the words in which it sent them;
a broker that holds something else asks, and is told all of them. The digest is made of the ids as
the broker knows them, with the session before each.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import inf
from typing import Protocol

from msgspec.structs import replace

from sapwood.protocol.due import is_due
from sapwood.protocol.link.handshake import Welcome
from sapwood.protocol.messages import (
    Advertise,
    Message,
    Refresh,
    Repeat,
    Subscribe,
    TableName,
)
from sapwood.protocol.neighbours import REFRESH
from sapwood.protocol.stabilize.digest import digest
from sapwood.protocol.stabilize.whole import answer, can_answer

_TABLES: tuple[TableName, TableName] = ("s", "a")


class Said(Protocol):
    """A request as it was said."""

    @property
    def name(self) -> str:
        """Under which it was said."""

    @property
    def message(self) -> Subscribe | Advertise:
        """What was said."""


class InForce(Protocol):
    """All requests of a client."""

    def __iter__(self) -> Iterator[Said]:
        """All there are."""

    def in_force(self, *, subscriptions: bool) -> Iterable[Said]:
        """The subscriptions, or the advertisements, that are in force."""


class Refreshing:
    """When to compare, and with what."""

    def __init__(self, name: str, requests: InForce) -> None:
        self._name = name
        self._requests = requests
        self.seconds = 0.0
        """How often to compare, as the broker wants it; zero for never."""
        self.at = inf
        """When to compare next."""
        self._answers: list[Message] = []

    def welcomed(self, welcome: Welcome, now: float) -> None:
        """A broker lets the client in: compare at once, behind all that was sent.

        Unless nothing was ever sent: then there is time for it.
        """
        self.seconds = welcome.refresh if REFRESH in welcome.features else 0.0
        is_new = welcome.resumed is None and not any(True for _ in self._requests)
        self.at = now + self.seconds if is_new else -inf
        if not self.seconds:
            self.at = inf
        self._answers = []

    def told(self, seconds: float, now: float) -> None:
        """The broker wants comparisons in other periods from now on; zero: it says nothing."""
        if self.seconds and seconds:
            self.seconds = seconds
            self.at = min(self.at, now + seconds)

    def lost(self) -> None:
        """There is no connection: nothing is compared before the next one."""
        self.seconds, self.at = 0.0, inf
        self._answers = []

    @property
    def is_asked(self) -> bool:
        """Whether an answer is to be sent."""
        return bool(self._answers)

    def asked(self, repeat: Repeat) -> None:
        """The broker wants to be told what it does not hold; what makes no sense is ignored."""
        if not self.seconds or not can_answer(repeat):
            return
        start = len(f"{self._name}/")
        for told in answer(repeat, self._lines(repeat.table)):
            own = tuple((entry_id[start:], text) for entry_id, text in told.entries)
            self._answers.append(replace(told, entries=own))

    def due(self, now: float) -> list[Message]:
        """What has to be sent now."""
        messages, self._answers = self._answers, []
        if not self.seconds:
            self.at = inf
        elif is_due(self.at, now, self.seconds):
            self.at = now + self.seconds
            wanted, advertised = (digest(self._lines(one).items()) for one in _TABLES)
            messages.append(Refresh("", wanted, advertised))
        return messages

    def _lines(self, table: TableName) -> dict[str, str]:
        """The requests in force, as the broker is to hold them."""
        return {
            f"{self._name}/{one.name}": one.message.filter
            for one in self._requests.in_force(subscriptions=table == "s")
        }
