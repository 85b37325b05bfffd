"""Looking for brokers that are not part of the tree any more, by addresses that were heard of.

Whoever is joined by configuration is dialled for ever; that needs no help. But a hub may be lost
for good, and sites that had joined nobody else would stay alone. So a broker keeps a *book* of
addresses, from links and from surveys of the tree. While a neighbour in the tree has been away for
long, it dials those in the book who are not on its side, one at a time. Only one end of a link need
be dialable, and any broker of a fragment may find the way: the fragment turns round behind it. A
link that was found so and turns out to lead to the same tree is closed again.

The book outlives a restart, in the data directory. So a site that is restarted while its only hub
is gone for good looks for the others, as it would have done without the restart: neighbours that it
had and that do not come back count as lost.
"""

from __future__ import annotations

from typing import Any, Final

from sapwood.protocol.core import Core
from sapwood.protocol.due import is_due
from sapwood.protocol.effects import CloseLink, Effect, OpenLink, SaveBook
from sapwood.protocol.machine import Machine
from sapwood.protocol.stabilize.book import BOOK_MAX, Book
from sapwood.protocol.stabilize.tree import Tree
from sapwood.protocol.waves import OpenRequest, Wave, Waves

LEARN_SOON_SECONDS: Final = 5.0
"""The same, after a link has become part of the tree."""

LEARN_SECONDS: Final = 600.0
"""How often addresses are asked for while nobody is missing."""

SAVE_SOON_SECONDS: Final = 5.0
"""The shortest time between two books that are saved for the next start."""

SAVE_SECONDS: Final = 3600.0
"""How often the book is saved though nothing but its times has changed."""


class Seeking(Machine):
    """The book of addresses, and whom to dial."""

    name = "seeking"
    surveys = True

    def __init__(self, core: Core, tree: Tree, waves: Waves) -> None:
        super().__init__(core)
        self.book = Book()
        self.hints = core.config.book
        """What the session before had heard, until there is a time to enter it at."""
        self.awaited = dict.fromkeys(core.config.expected, float("-inf"))
        """Neighbours of the session before that were not seen in this one, and since when."""
        self.save_at = float("-inf")
        """When the book may be saved for the next start again."""
        self.saved_at = float("-inf")
        """When it was saved last."""
        self.saved: dict[str, tuple[str, ...]] = {}
        """The addresses that were saved then."""
        self.seek_at: float | None = None
        """When to look round next; none before there is a tree to look round in."""
        self.sought: dict[str, float] = {}
        """Brokers that were dialled because of the book, and since when their links are there."""
        self._tree = tree
        self._waves = waves
        waves.serve(self)

    def learn(self, broker: str, addresses: tuple[str, ...], now: float) -> None:
        """Where a broker can be reached, as somebody said."""
        if addresses and broker != self.core.id:
            self.book.learn(broker, addresses, now)

    def link_up(self, neighbour: str, now: float) -> list[Effect]:
        """A neighbour has said where it can be reached, and knows others."""
        if self._tree.is_partner(neighbour):
            self.seek_at = now + LEARN_SOON_SECONDS
        return self.link_aside(neighbour, now)

    def link_aside(self, neighbour: str, now: float) -> list[Effect]:
        """So has a candidate."""
        one = self.core.neighbours.get(neighbour)
        if one is not None:
            self.learn(neighbour, one.addresses, now)
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
        if self.hints:
            self.book.take(self.hints, now)
            self.hints = ()
        is_missing = self._is_missing(now)
        seconds = self.core.config.tree.seek_seconds if is_missing else LEARN_SECONDS
        effects = [*self._close_superfluous(now), *self._save(now)]
        if is_missing and self.seek_at is None:
            self.seek_at = now
        if self.seek_at is not None and is_due(self.seek_at, now, seconds):
            self.seek_at = now + seconds
            effects += self._waves.request(self, self.core.id, 0, now)
        return effects

    def answer(self, request: OpenRequest, wave: Wave, now: float) -> list[Effect]:
        """Everybody on this side has said where it can be reached; dial one who is not here."""
        here = {report.id for report in wave.reports}
        for report in wave.reports[:BOOK_MAX]:
            self.learn(report.id, report.addresses, now)
            self.awaited.pop(report.id, None)
        if not self._is_missing(now):
            return []
        self.book.forget_old(now)
        for name, known in self.book.items():
            if name not in here and not self._is_linked(name):
                self.book.put_last(name)
                self.sought[name] = now
                return [OpenLink(name, known.addresses)]
        return []

    def _is_missing(self, now: float) -> bool:
        """Whether a neighbour in the tree has been away for long, or is not back after a restart.

        One that is not back is looked for as long as one that is away is kept.
        """
        patience, longest = self._tree.patience, self.core.config.away_seconds
        for name, since in list(self.awaited.items()):
            if name in self.core.neighbours:
                del self.awaited[name]
            elif not float("-inf") < since <= now:
                self.awaited[name] = now
            elif now - since > longest:
                del self.awaited[name]
        return self._tree.has_lost_somebody(now) or any(
            patience < now - since for since in self.awaited.values()
        )

    def _save(self, now: float) -> list[Effect]:
        """Let the book be saved for the next start, if it says something new, and now and then."""
        if not is_due(self.save_at, now, SAVE_SOON_SECONDS):
            return []
        self.save_at = now + SAVE_SOON_SECONDS
        addresses = {name: known.addresses for name, known in self.book.items()}
        is_old = is_due(self.saved_at + SAVE_SECONDS, now, SAVE_SECONDS)
        if addresses == self.saved and (not is_old or not addresses):
            return []
        self.saved, self.saved_at = addresses, now
        return [SaveBook(tuple(self.book.hints(now)))]

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
        return {
            "book": {name: list(known.addresses) for name, known in self.book.items()},
            "sought": self.sought,
            "awaited": list(self.awaited),
        }
