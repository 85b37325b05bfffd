"""What the two ends of an edge compare: what one owes, and what the other holds of it.

The sender's side is what the routing algorithm says it owes, the receiver's side the entries
themselves: never a digest or a set that was kept, since that may be what is wrong.

Entries of a neighbour that was restarted stay for a while though it has not told them again
(``restoration``). They are no part of what it owes, so they are neither compared nor replaced:
what is compared is what it has told since. They go as before, when it says that its table is
complete, or in time. Each comparison says that once more, so that entries which are taken for stale
by mistake do not stay. A broker that is restoring its own tables owes little yet, has told just
that, and is compared by just that. So a restart is no reason to wait, and none to ask again.
"""

from __future__ import annotations

from sapwood.errors import SapwoodError
from sapwood.filters.filter import Filter
from sapwood.protocol.clients import ADVERTISED, SUBSCRIBED
from sapwood.protocol.core import Core
from sapwood.protocol.drops import Drop
from sapwood.protocol.effects import Effect, Send
from sapwood.protocol.gaps import FILTERS_MAX
from sapwood.protocol.messages import Missed, TableName
from sapwood.protocol.restoration import Restoration
from sapwood.protocol.stabilize.digest import bucket_of, divided
from sapwood.protocol.stabilize.whole import Partial
from sapwood.protocol.subscribing import Subscribing
from sapwood.routing.strategy import Entry
from sapwood.routing.table import RoutingTable

TABLES: tuple[TableName, TableName] = ("s", "a")
"""Subscriptions and advertisements."""

_KINDS: dict[TableName, str] = {"s": SUBSCRIBED, "a": ADVERTISED}


class EdgeTables:
    """The tables of a broker, edge by edge."""

    def __init__(self, core: Core, subscribing: Subscribing, restoration: Restoration) -> None:
        self._core = core
        self._subscribing = subscribing
        self._restoration = restoration
        self._tables: dict[TableName, RoutingTable] = {
            "s": core.subscriptions,
            "a": core.advertisements,
        }

    # What is owed

    def owed(self, neighbour: str, name: TableName) -> dict[str, str]:
        """What a neighbour is owed, as it is told."""
        ledger = self._tables[name].ledgers.get(neighbour)
        if ledger is None:
            return {}
        return {entry_id: str(filter) for entry_id, filter in ledger.owed().items()}

    def presume(self, neighbour: str) -> None:
        """Take a neighbour to have what it is owed: it is about to compare, or to be told all."""
        for table in self._tables.values():
            table.presume(neighbour)

    # What is held

    def held(self, source: str, name: TableName) -> dict[str, str]:
        """What a source has told, word for word, but for what is stale."""
        texts = self._tables[name].texts(source)
        for entry_id in self._restoration.stale_ids(source, advertisements=name == "a"):
            texts.pop(entry_id, None)
        return texts

    def entry_id(self, source: str, said_id: str) -> str:
        """Under which id something stands that a source has told under an id of its own."""
        return self._subscribing.entry_id(source, said_id)

    def replace(self, source: str, partial: Partial) -> tuple[list[Effect], int]:
        """Let a source have in a bucket just what it told; and how many entries that changed.

        It is one change: first what is new, then what is gone, then one difference to each
        neighbour. So nobody unsubscribes what he is going to subscribe to again. What a source
        wanted and this broker did not know of was not sent there: the source is told so.
        """
        name, bucket, buckets = partial.table, partial.bucket, partial.buckets
        kind, table = _KINDS[name], self._tables[name]
        held = divided(self.held(source, name), buckets)[bucket]
        told: set[str] = set()
        effects: list[Effect] = []
        changed = 0
        unknown: list[str] = []
        for entry_id, text in partial.lines:
            if bucket_of(entry_id, buckets) != bucket:
                effects += self._core.drops.count(Drop.MALFORMED, source)
                continue
            filter = self._parsed(text)
            if filter is None:
                effects += self._core.drops.count(Drop.MALFORMED, source)
                continue
            if self._core.claim_refusal(source, kind, entry_id, filter):
                effects += self._core.drops.count(Drop.REFUSED, source)
                continue
            told.add(entry_id)
            self._restoration.told_again(source, entry_id, advertisements=name == "a")
            if table.get(source, entry_id) != filter:
                effects += self._subscribing.enter(source, entry_id, kind, filter, text)
                changed += 1
                unknown.append(text)
            elif held.get(entry_id) != text:
                table.add(Entry(source, entry_id, filter), text)
                changed += 1
        for entry_id in held:
            if entry_id not in told:
                effects += self._subscribing.leave(source, entry_id, kind) or []
                changed += 1
        missed = self._missed(source, unknown) if name == "s" else []
        return [*effects, *self._core.tell_all(), *missed], changed

    def _missed(self, source: str, texts: list[str]) -> list[Effect]:
        """Tell a source that some of what matches these filters did not come to it."""
        if not texts:
            return []
        bounds = tuple(texts) if len(texts) <= FILTERS_MAX else ()
        return [Send(source, Missed(0, f"{self._core.id}-{source}", bounds))]

    def _parsed(self, text: str) -> Filter | None:
        try:
            return self._core.parse(text)
        except SapwoodError:
            return None

    def remove_strays(self) -> tuple[list[Effect], int]:
        """Remove the entries of those who are neither clients nor neighbours; how many had some."""
        core = self._core
        known = {*core.clients, *core.neighbours.tree(), core.joining}
        strays = sorted({name for one in core.tables for name in one.destinations()} - known)
        for name in strays:
            core.forget(name)
        return (core.tell_all() if strays else []), len(strays)
