"""Gaps that subscribers are told of, put together: one event for what has one reason."""

from __future__ import annotations

from collections.abc import Callable

from sapwood.demo.workload import Subscriber
from sapwood.runtime.client import Gap


class GapNews:
    """Collects gaps, and tells of them when asked to."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self.count = 0
        """How many gaps were reported to subscribers so far."""
        self._say = say
        self._new: dict[str, list[Subscriber]] = {}

    def add(self, subscriber: Subscriber, gap: Gap) -> None:
        """A subscriber was told that something may be missing."""
        self.count += 1
        self._new.setdefault(gap.reason, []).append(subscriber)

    def tell(self) -> None:
        """Say what was collected."""
        for reason, concerned in self._new.items():
            brokers = sorted({one.broker for one in concerned})
            where = brokers[0] if len(brokers) == 1 else f"{len(brokers)} brokers"
            who = f"{len(concerned)} subscriber{'s' if len(concerned) > 1 else ''} of {where}"
            self._say(f"GAP   reported to {who}: {reason}")
        self._new.clear()
