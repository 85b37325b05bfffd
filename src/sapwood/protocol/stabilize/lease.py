"""Leases from hop to hop: every entry is told again every period, or it is removed.

Each sender renews by its own clock all that it owes, whatever the algorithm, so nothing has to be
renewed end to end (compare Jaeger 2007, 3.3). The receiver has a flag for each entry, set when the
entry is told. When a lease period is over, entries without flag are removed, and the flags of the
others are taken away: a second chance. The period is longer than the sender's by as much as links
vary; a link that is slower than that makes entries expire that nobody has given up.
"""

from __future__ import annotations

from collections.abc import Collection

from sapwood.protocol.core import Core, neighbour_routing
from sapwood.protocol.effects import Effect, Send
from sapwood.protocol.messages import Advertise, Subscribe, TableName
from sapwood.protocol.stabilize.edge_tables import TABLES, EdgeTables
from sapwood.protocol.stabilize.whole import Partial


def renewal(core: Core, tables: EdgeTables, neighbour: str) -> list[Effect]:
    """Tell a neighbour once more what it is owed, entry by entry."""
    effects: list[Effect] = [Send(neighbour, neighbour_routing(core.neighbours[neighbour]))]
    for entry_id, text in tables.owed(neighbour, "a").items():
        effects.append(Send(neighbour, Advertise(entry_id, text)))
    for entry_id, text in tables.owed(neighbour, "s").items():
        effects.append(Send(neighbour, Subscribe(entry_id, text)))
    return effects


class Leases:
    """The flags of the entries of all neighbours."""

    def __init__(self, tables: EdgeTables) -> None:
        self._tables = tables
        self.flags: dict[str, dict[tuple[TableName, str], None]] = {}
        """By neighbour: the entries that were told in this period."""

    def told(self, source: str, name: TableName, entry_id: str) -> None:
        """An entry was told, for the first time or again."""
        self.flags.setdefault(source, {})[name, entry_id] = None

    def begin(self, source: str) -> None:
        """Give everything that a neighbour has told a whole period from now on."""
        self.flags[source] = {
            (name, entry_id): None
            for name in TABLES
            for entry_id in self._tables.held(source, name)
        }

    def expire(self, sources: Collection[str]) -> tuple[list[Effect], int]:
        """A period is over for some neighbours: remove what was not told in it; how many."""
        effects: list[Effect] = []
        expired = 0
        for source in sources:
            flags = self.flags.pop(source, {})
            for name in TABLES:
                held = self._tables.held(source, name)
                kept = [line for line in held.items() if (name, line[0]) in flags]
                if len(kept) < len(held):
                    told, changed = self._tables.replace(source, Partial(name, 0, 1, 1, 1, kept))
                    effects += told
                    expired += changed
        return effects, expired

    def forget_all_but(self, sources: Collection[str]) -> None:
        """Forget the flags of those who are gone."""
        self.flags = {name: one for name, one in self.flags.items() if name in sources}
