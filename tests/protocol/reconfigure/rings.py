"""Brokers on a ring: links as queues, one link more than the tree has, and a change under way."""

from __future__ import annotations

from collections import Counter, deque
from typing import Any

from protocol.wiring import Wired, line
from sapwood.protocol.effects import CloseLink, Effect, OpenLink
from sapwood.protocol.events import ChangeRequested, LinkDown, LinkUp
from sapwood.protocol.messages import Message
from sapwood.protocol.reconfigure.messages import (
    Accept,
    Ask,
    ChangeEnded,
    Collect,
    Done,
    Flush,
    Lock,
    Offer,
    Paint,
    Turn,
    Undo,
)

WAVES = (Lock, Collect, Offer, Accept, Turn, Flush)
"""The messages that every change takes."""

CHANGE = (*WAVES, Paint, Undo, Ask, Done)


class Ringed(Wired):
    """Brokers whose links can be dialled and closed, as they ask."""

    def __init__(self, links: list[tuple[str, str]], **options: Any) -> None:
        self.opened: list[tuple[str, str]] = []
        super().__init__(links, **options)

    def add_broker(self, name: str) -> Any:
        self._config["addresses"] = (f"test://{name}",)
        return super().add_broker(name)

    def candidate(self, a: str, b: str) -> None:
        """Link two brokers, outside the tree."""
        for here, there in ((a, b), (b, a)):
            self.queues[here, there] = deque()
        for here, there in ((a, b), (b, a)):
            up = self.link_up(here, there)
            self.handle(here, LinkUp(there, in_tree=False, sends=up.sends, receives=up.receives))

    def _do(self, name: str, effect: Effect) -> None:
        if isinstance(effect, OpenLink):
            self.opened.append((name, effect.broker))
            self.candidate(name, effect.broker)
        elif isinstance(effect, CloseLink):
            self.close(name, effect.neighbour)
        else:
            super()._do(name, effect)

    def close(self, a: str, b: str) -> None:
        """A link ends, by both ends; what was under way is lost."""
        for here, there in ((a, b), (b, a)):
            self.queues.pop((here, there), None)
        for here, there in ((a, b), (b, a)):
            if there in self.brokers[here].neighbours:
                self.handle(here, LinkDown(there))

    def exchange(
        self, asker: str, old: tuple[str, str], new: tuple[str, str], request: int = 1
    ) -> None:
        """Ask a broker for a change."""
        self.answers.setdefault(asker, [])
        self.handle(asker, ChangeRequested(request, old, new))

    def ended(self, asker: str) -> list[ChangeEnded]:
        """How the changes ended that a broker asked for."""
        return [one for one in self.answers.get(asker, []) if isinstance(one, ChangeEnded)]

    @property
    def tree(self) -> set[tuple[str, str]]:
        """The links that both ends take for part of the tree."""
        return {
            (name, other)
            for name, broker in self.brokers.items()
            for other in broker.neighbours.tree()
            if name < other and self.brokers[other].neighbours.is_in_tree(name)
        }

    def messages(self, *kinds: type[Message]) -> Counter[str]:
        """How many messages of a change were sent, by kind."""
        kinds = kinds or CHANGE
        return Counter(type(one).__name__ for *_, one in self.sent if isinstance(one, kinds))


def ring(n: int, **options: Any) -> Ringed:
    """B1 - B2 - … - Bn with a client at each, which wants everything."""
    brokers = Ringed(line(n), **options)
    for number in range(1, n + 1):
        brokers.connect(f"C{number}", f"B{number}")
    return brokers
