"""Graceful restart of tables, as BGP has it (RFC 4724).

When a broker restarts, its neighbours must not unsubscribe upstream what it wanted, only to
subscribe it again, and the broker must not route by half a table.

A neighbour that knows that the broker was restarted keeps its entries and routes by them, but marks
them as *stale*. What the broker tells again is not stale any more; when it says that its table is
complete, or after a time, what is still stale is removed as one change.

A restarted broker expects the neighbours it had. It is *restoring* until each of them has said that
its table is complete, or for a limited time. Its own table is complete for a neighbour when all
others it expects have said so: what it owes one follows from the entries of the others, so a chain
of restarted brokers does not wait for each other. Where subscriptions travel only towards
advertisements, what it owes one also follows from the advertisements of this one. So advertisements
are completed first, by themselves; they follow from those of the others alone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

import msgspec

from sapwood.protocol.core import Core
from sapwood.protocol.due import is_due
from sapwood.protocol.effects import Effect, Send
from sapwood.protocol.machine import Machine, MessageHandler
from sapwood.protocol.messages import (
    Advertise,
    Missed,
    Subscribe,
    TableComplete,
    Unadvertise,
    Unsubscribe,
)


class Stale(msgspec.Struct):
    """The entries of a restarted neighbour that it has not told again, by id."""

    until: float
    subscriptions: dict[str, None]
    advertisements: dict[str, None]


class Restoration(Machine):
    """Whose table is still to come, who is still to be told that ours is complete, and when."""

    name = "restoration"

    def __init__(self, core: Core) -> None:
        super().__init__(core)
        self.missing: dict[str, None] = dict.fromkeys(core.config.expected)
        """Expected neighbours whose table is not complete yet."""
        self.missing_advertisements: dict[str, None] = {}
        """Those of them whose advertisements are not complete yet, where they matter."""
        if core.config.spreads_advertisements:
            self.missing_advertisements.update(self.missing)
        self.late: dict[str, None] = {}
        """Those whose table was not complete in time: they miss what is forwarded without it."""
        self.until: float | None = None
        """When waiting for them ends; nothing has happened yet if there is no such time."""
        self.untold: dict[str, None] = {}
        """Neighbours that have not been told that our table is complete."""
        self.untold_advertisements: dict[str, None] = {}
        """Those of them that have not been told that our advertisements are complete."""
        self.stale: dict[str, Stale] = {}

    @property
    def is_active(self) -> bool:
        """Whether this broker is restoring its tables."""
        return bool(self.missing)

    def expected(self) -> list[str]:
        """Neighbours that this broker had before it was restarted, and that are not back."""
        return [*self.missing, *self.late]

    def from_neighbours(self) -> Mapping[type, MessageHandler]:
        """What a neighbour tells again is not stale any more."""
        return {
            Subscribe: self._told_subscription,
            Unsubscribe: self._told_subscription,
            Advertise: self._told_advertisement,
            Unadvertise: self._told_advertisement,
            TableComplete: self._completed,
        }

    def stale_ids(self, neighbour: str, *, advertisements: bool) -> Collection[str]:
        """The entries of a neighbour that it has not told since its restart."""
        stale = self.stale.get(neighbour)
        if stale is None:
            return ()
        return (stale.advertisements if advertisements else stale.subscriptions).keys()

    def told_again(self, neighbour: str, entry_id: str, *, advertisements: bool) -> None:
        """An entry of a neighbour is not stale any more."""
        stale = self.stale.get(neighbour)
        if stale is not None:
            (stale.advertisements if advertisements else stale.subscriptions).pop(entry_id, None)

    # Links

    def link_up(self, neighbour: str, now: float) -> list[Effect]:
        """A neighbour has been told our table as far as it is known."""
        self._begin(now)
        if self.core.neighbours.is_restartable(neighbour):
            self.untold[neighbour] = None
            if self.core.config.spreads_advertisements:
                self.untold_advertisements[neighbour] = None
        else:
            self._expect_no_more(neighbour)
            return [*self._told_late(neighbour), *self._tell()]
        return self._tell()

    def link_aside(self, neighbour: str, now: float) -> list[Effect]:
        """A neighbour outside the tree has no table for this broker."""
        self._begin(now)
        self._expect_no_more(neighbour)
        return self._tell()

    def link_down(self, neighbour: str, now: float) -> list[Effect]:
        """A neighbour is gone, and its entries.

        If it came late and was let go since, it is expected no more: two brokers that went on
        expecting each other would take every new link for part of the tree, and give it up again.
        """
        self.late.pop(neighbour, None)
        self.untold.pop(neighbour, None)
        self.untold_advertisements.pop(neighbour, None)
        self.stale.pop(neighbour, None)
        return []

    def link_restarted(self, neighbour: str, now: float) -> list[Effect]:
        """A neighbour will tell its table again: what it does not tell is going to be removed."""
        ids = [{entry.id: None for entry in table.of(neighbour)} for table in self.core.tables]
        self.stale[neighbour] = Stale(now + self.core.config.stale_seconds, *ids)
        return self.link_up(neighbour, now)

    def link_back(self, neighbour: str, now: float) -> list[Effect]:
        """A neighbour has been told what was withheld."""
        return self._tell()

    def link_thawed(self, neighbour: str, now: float) -> list[Effect]:
        """The same after a change of the tree."""
        return self._tell()

    # Messages

    def _told_subscription(
        self, source: str, message: Subscribe | Unsubscribe, now: float
    ) -> list[Effect]:
        self.told_again(source, message.id, advertisements=False)
        return []

    def _told_advertisement(
        self, source: str, message: Advertise | Unadvertise, now: float
    ) -> list[Effect]:
        self.told_again(source, message.id, advertisements=True)
        return []

    def _completed(self, source: str, message: TableComplete, now: float) -> list[Effect]:
        if not message.advertisements_only:
            return self.completed(source)
        self.missing_advertisements.pop(source, None)
        return [*self._sweep(source, advertisements_only=True), *self._tell()]

    def completed(self, source: str) -> list[Effect]:
        """A neighbour has told its whole table."""
        self._expect_no_more(source)
        return [*self._sweep(source), *self._told_late(source), *self._tell()]

    def has_told(self, neighbour: str) -> bool:
        """Whether a neighbour was told that our table is complete, or never needs to be."""
        return neighbour not in self.untold

    def _told_late(self, neighbour: str) -> list[Effect]:
        """Tell a neighbour whose table comes too late that something may have gone without it."""
        if neighbour not in self.late:
            return []
        del self.late[neighbour]
        return [Send(neighbour, Missed(0, f"{self.core.id}-{neighbour}"))]

    # Time

    @property
    def next_at(self) -> float | None:
        """When stale entries are removed, or waiting for tables ends."""
        if not self.stale and not self.missing:
            return None
        times = [stale.until for stale in self.stale.values()]
        if self.missing:
            times.append(float("-inf") if self.until is None else self.until)
        return min(times)

    def tick(self, now: float) -> list[Effect]:
        """Remove what was not told again in time, and wait for no table any longer than that."""
        self._begin(now)
        self._forget_strangers()
        if self.until is not None and is_due(self.until, now, self.core.config.restore_seconds):
            self.late.update(self.missing)
            self.missing.clear()
            self.missing_advertisements.clear()
        effects: list[Effect] = []
        for name, stale in list(self.stale.items()):
            if is_due(stale.until, now, self.core.config.stale_seconds):
                effects += self._sweep(name)
        return [*effects, *self._tell()]

    def _begin(self, now: float) -> None:
        if self.until is None:
            self.until = now + self.core.config.restore_seconds

    def _forget_strangers(self) -> None:
        """Nothing is to be told to, or removed for, those who are not linked."""
        for names in (self.untold, self.untold_advertisements, self.stale):
            for name in [one for one in names if not self.core.neighbours.is_in_tree(one)]:
                del names[name]

    def renounce(self) -> None:
        """Wait for nobody's table any more: what this broker holds is what it goes on with."""
        self.missing.clear()
        self.missing_advertisements.clear()

    def _expect_no_more(self, neighbour: str) -> None:
        """The table of a neighbour is complete, or never will be said to be."""
        self.missing.pop(neighbour, None)
        self.missing_advertisements.pop(neighbour, None)

    def _sweep(self, neighbour: str, *, advertisements_only: bool = False) -> list[Effect]:
        """Remove what a neighbour has not told again, as one change."""
        stale = self.stale.get(neighbour)
        if stale is None:
            return []
        core = self.core
        for entry_id in stale.advertisements:
            core.remove(core.advertisements, neighbour, entry_id)
        stale.advertisements = {}
        if not advertisements_only:
            for entry_id in stale.subscriptions:
                core.remove(core.subscriptions, neighbour, entry_id)
            del self.stale[neighbour]
        return core.tell_all()

    def _tell(self) -> list[Effect]:
        """Say that the table is complete to those for whom it is."""
        effects: list[Effect] = []
        for name in list(self.untold_advertisements):
            if self._are_advertisements_complete(name):
                del self.untold_advertisements[name]
                effects.append(Send(name, TableComplete(advertisements_only=True)))
        for name in list(self.untold):
            if self._is_complete(name):
                del self.untold[name]
                effects.append(Send(name, TableComplete()))
        return effects

    def _are_advertisements_complete(self, neighbour: str) -> bool:
        """Whether a neighbour has been told all advertisements it is owed."""
        one = self.core.neighbours.get(neighbour)
        if one is None or one.is_withheld:
            return False
        return not self.missing_advertisements.keys() - {neighbour}

    def _is_complete(self, neighbour: str) -> bool:
        """Whether a neighbour has been told everything it is owed."""
        one = self.core.neighbours.get(neighbour)
        if one is None or one.is_withheld:
            return False
        if neighbour in self.missing_advertisements or neighbour in self.untold_advertisements:
            return False
        return not self.missing.keys() - {neighbour}

    # Looking

    def report(self) -> dict[str, Any]:
        """Whose table is missing, and how many entries are stale."""
        return {
            "missing": list(self.missing),
            "stale": {
                name: len(stale.subscriptions) + len(stale.advertisements)
                for name, stale in self.stale.items()
            },
        }

    def state(self) -> Any:
        """Who is waited for, who has to be told, what is stale."""
        return {
            "missing": sorted(self.missing),
            "missing_advertisements": sorted(self.missing_advertisements),
            "late": sorted(self.late),
            "until": self.until,
            "untold": sorted(self.untold),
            "untold_advertisements": sorted(self.untold_advertisements),
            "stale": {
                name: [stale.until, sorted(stale.subscriptions), sorted(stale.advertisements)]
                for name, stale in sorted(self.stale.items())
            },
        }

    def problems(self) -> Iterator[str]:
        """Only entries that are there can be stale, and whoever can be told has been told."""
        core = self.core
        for name, stale in self.stale.items():
            ids_by_table = (stale.subscriptions, stale.advertisements)
            for table, ids in zip(core.tables, ids_by_table, strict=True):
                for entry_id in ids:
                    if table.get(name, entry_id) is None:
                        yield f"{entry_id} of {name} is stale, and not in the table"
        for name in self.untold:
            neighbour = core.neighbours.get(name)
            if neighbour is None or not neighbour.in_tree:
                yield f"{name} waits for a complete table, and is no neighbour"
            elif self._is_complete(name):
                yield f"{name} was not told that the table is complete"
