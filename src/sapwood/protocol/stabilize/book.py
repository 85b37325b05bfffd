"""The book of addresses: where brokers that were heard of can be reached.

It is bounded in size and time. A driver may keep it for the next start, as a hint and no more:
whoever answers there is asked who it is, like anybody else.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from sapwood.protocol.ports import Hint

BOOK_MAX: Final = 256
"""Brokers whose addresses are kept; beyond it those go that were heard of least lately."""

BOOK_SECONDS: Final = 7 * 86_400.0
"""How long an address is kept that was not heard of again."""


class Known(NamedTuple):
    """Where a broker can be reached, and when that was last heard."""

    addresses: tuple[str, ...]
    heard_at: float


class Book(dict[str, Known]):
    """Addresses by broker, those first that were heard of least lately."""

    __slots__ = ()

    def learn(self, broker: str, addresses: tuple[str, ...], now: float) -> None:
        """Somebody said where a broker can be reached."""
        self.pop(broker, None)
        if len(self) >= BOOK_MAX:
            del self[next(iter(self))]
        self[broker] = Known(addresses, now)

    def put_last(self, broker: str) -> None:
        """Let others come first the next time, though nothing was heard."""
        self[broker] = self.pop(broker)

    def take(self, hints: Iterable[Hint], now: float) -> None:
        """Enter what an earlier session had heard, behind what was heard since."""
        old = [one for one in hints if 0.0 <= one.age <= BOOK_SECONDS and one.broker not in self]
        since = dict(self)
        self.clear()
        for one in sorted(old, key=lambda hint: -hint.age)[-BOOK_MAX:]:
            self[one.broker] = Known(one.addresses, now - one.age)
        for broker, known in since.items():
            self.learn(broker, known.addresses, known.heard_at)

    def forget_old(self, now: float) -> None:
        """Remove what was not heard of again for long; a time to come is none."""
        for broker, known in list(self.items()):
            if not now - known.heard_at <= BOOK_SECONDS:
                del self[broker]
            elif known.heard_at > now:
                self[broker] = known._replace(heard_at=now)

    def hints(self, now: float) -> Iterator[Hint]:
        """All of it, for the next session."""
        for broker, known in self.items():
            yield Hint(broker, known.addresses, max(0.0, now - known.heard_at))
