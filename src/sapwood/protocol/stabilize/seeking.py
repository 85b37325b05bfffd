"""Looking for brokers that are not part of the tree any more, by addresses that were heard of.

Whoever is joined by configuration is dialled for ever; that needs no help. But a hub may be lost
for good, and sites that had joined nobody else would stay alone. So a broker keeps a *book* of
addresses, from links and from surveys of the tree. While a neighbour in the tree has been away for
long, it dials those in the book who are not on its side, one at a time. Only one end of a link need
be dialable, and any broker of a fragment may find the way: the fragment turns round behind it. A
link that was found so and turns out to lead to the same tree is closed again.
"""

from __future__ import annotations

from typing import Any, Final

from sapwood.protocol.core import Core
from sapwood.protocol.due import is_due
from sapwood.protocol.effects import CloseLink, Effect, OpenLink
from sapwood.protocol.machine import Machine
from sapwood.protocol.stabilize.tree import Tree
from sapwood.protocol.waves import OpenRequest, Wave, Waves

BOOK_MAX: Final = 256
"""Brokers whose addresses are kept; beyond it those go that were heard of least lately."""

LEARN_SOON_SECONDS: Final = 5.0
"""The same, after a link has become part of the tree."""

LEARN_SECONDS: Final = 600.0
"""How often addresses are asked for while nobody is missing."""


class Seeking(Machine):
    """The book of addresses, and whom to dial."""

    name = "seeking"
    surveys = True

    def __init__(self, core: Core, tree: Tree, waves: Waves) -> None:
        super().__init__(core)
        self.book: dict[str, tuple[str, ...]] = {}
        """Addresses by broker, those first that were heard of least lately."""
        self.seek_at: float | None = None
        """When to look round next; none before there is a tree to look round in."""
        self.sought: dict[str, float] = {}
        """Brokers that were dialled because of the book, and since when their links are there."""
        self._tree = tree
        self._waves = waves
        waves.serve(self)

    def learn(self, broker: str, addresses: tuple[str, ...]) -> None:
        """Where a broker can be reached, as somebody said."""
        if not addresses or broker == self.core.id:
            return
        self.book.pop(broker, None)
        if len(self.book) >= BOOK_MAX:
            del self.book[next(iter(self.book))]
        self.book[broker] = addresses

    def link_up(self, neighbour: str, now: float) -> list[Effect]:
        """A neighbour has said where it can be reached, and knows others."""
        if self._tree.is_partner(neighbour):
            self.seek_at = now + LEARN_SOON_SECONDS
        return self.link_aside(neighbour, now)

    def link_aside(self, neighbour: str, now: float) -> list[Effect]:
        """So has a candidate."""
        one = self.core.neighbours.get(neighbour)
        if one is not None:
            self.learn(neighbour, one.addresses)
        if neighbour in self.sought:
            self.sought[neighbour] = now
        return []

    def neighbour_gone(self, neighbour: str, now: float) -> list[Effect]:
        """A link that was looked for is gone."""
        self.sought.pop(neighbour, None)
        return []

    def tick(self, now: float) -> list[Effect]:
        """Close what leads nowhere; look round if somebody is missing, and now and then."""
        if not self._tree.is_on:
            return []
        is_missing = self._tree.has_lost_somebody(now)
        seconds = self.core.config.tree.seek_seconds if is_missing else LEARN_SECONDS
        effects = self._close_superfluous(now)
        if self.seek_at is not None and is_due(self.seek_at, now, seconds):
            self.seek_at = now + seconds
            effects += self._waves.request(self, self.core.id, 0, now)
        return effects

    def answer(self, request: OpenRequest, wave: Wave, now: float) -> list[Effect]:
        """Everybody on this side has said where it can be reached; dial one who is not here."""
        here = {report.id for report in wave.reports}
        for report in wave.reports[:BOOK_MAX]:
            self.learn(report.id, report.addresses)
        if not self._tree.has_lost_somebody(now):
            return []
        for name, addresses in self.book.items():
            if name not in here and not self._is_linked(name):
                self.learn(name, addresses)  # the next time others come first
                self.sought[name] = now
                return [OpenLink(name, addresses)]
        return []

    def give_up(self, request: OpenRequest) -> list[Effect]:
        """No answer in time: another survey follows."""
        return []

    def _is_linked(self, name: str) -> bool:
        one = self.core.neighbours.get(name)
        return one is not None and one.is_connected

    def _close_superfluous(self, now: float) -> list[Effect]:
        """End links that were looked for and lead to the same tree."""
        effects: list[Effect] = []
        patience = 2 * self.core.config.tree.beacon_seconds
        for name, since in list(self.sought.items()):
            one = self.core.neighbours.get(name)
            if one is None or one.in_tree or not self._tree.is_same_tree(name):
                continue
            if is_due(since + patience, now, patience):
                del self.sought[name]
                effects.append(CloseLink(name, "it leads to the same tree"))
        return effects

    def report(self) -> dict[str, Any]:
        """How many addresses are known."""
        return {"addresses": len(self.book), "sought": sorted(self.sought)}

    def state(self) -> Any:
        """The book, and who was dialled because of it."""
        return {"book": {name: list(one) for name, one in self.book.items()}, "sought": self.sought}
