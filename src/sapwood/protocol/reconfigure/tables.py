"""Gray tables: what neighbours on the ring owe each other in the new tree.

While both trees are in use a table holds what either of them needs: what a gray table adds is
entered at once, what it takes out goes when the change is complete. So black and gray notifications
go by one table, and a superset costs hops on the ring only. A filter that takes the place of
another under the same id would leave a gap for the old tree, so the old one stays under an id of
its own until then.

Tables of subscriptions are exchanged without regard to advertisements: what is within the scope of
a neighbour follows from advertisements that are on their way, too. The differences that are told
when the change is complete set that right.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from sapwood.errors import SapwoodError
from sapwood.filters.filter import Filter
from sapwood.protocol.core import Core
from sapwood.protocol.drops import Drop
from sapwood.protocol.effects import Effect
from sapwood.protocol.reconfigure.directions import sends_after
from sapwood.protocol.reconfigure.messages import EdgeChange, EdgeTables
from sapwood.protocol.reconfigure.state import Draft, EdgeDraft, Ring
from sapwood.routing.algorithms import strategy
from sapwood.routing.strategy import Entry
from sapwood.routing.table import RoutingTable


def tables_for(core: Core, ring: Ring, neighbour: str) -> EdgeTables:
    """What a neighbour on the ring has to be told for the new tree; it counts as told."""
    draft = ring.draft(neighbour)
    advertised = {}
    if core.config.spreads_advertisements:
        algorithm = core.config.advertisement_routing
        going = {name: one.advertisements.pending for name, one in ring.drafts.items()}
        advertised = gray_table(core.advertisements, going, (neighbour, ring.old), algorithm)
    going = {name: one.subscriptions.pending for name, one in ring.drafts.items()}
    sends = sends_after(core, ring, neighbour)
    wanted = gray_table(core.subscriptions, going, (neighbour, ring.old), sends)
    draft.advertisements.told, draft.subscriptions.told = advertised, wanted
    return EdgeTables(
        _difference(core.advertisements, neighbour, advertised),
        _difference(core.subscriptions, neighbour, wanted),
    )


def gray_table(
    table: RoutingTable,
    going: Mapping[str, Collection[str]],
    without: Collection[str],
    algorithm: str,
) -> dict[str, Filter]:
    """What a neighbour on the ring is owed in the new tree, by id.

    It follows from the entries of everybody `without` the neighbour itself and who is beyond the
    old link, but for the ids that are `going` with the old tree.
    """
    fresh = strategy(algorithm)
    for destination in table.destinations():
        if destination not in without:
            ids = going.get(destination, ())
            for entry in table.of(destination):
                if entry.id not in ids:
                    fresh.add(entry)
    return dict(fresh.owed())


def install(core: Core, ring: Ring, neighbour: str, tables: EdgeTables) -> list[Effect]:
    """Enter what a neighbour on the ring wants in the new tree, beside what it wants in the old."""
    effects: list[Effect] = []
    draft = ring.draft(neighbour)
    for table, own, change in (
        (core.advertisements, draft.advertisements, tables.advertisements),
        (core.subscriptions, draft.subscriptions, tables.subscriptions),
    ):
        own.pending.update(dict.fromkeys(change.removed))
        for entry_id, text in change.added:
            try:
                entry = Entry(neighbour, entry_id, core.parse(text))
            except SapwoodError:
                effects += core.drops.count(Drop.MALFORMED, neighbour)
                continue
            _enter(core, table, own, entry, text)
    return [*effects, *core.tell_all()]


def _enter(core: Core, table: RoutingTable, draft: Draft, entry: Entry, text: str) -> None:
    known = table.get(entry.destination, entry.id)
    draft.pending.pop(entry.id, None)
    if known == entry.filter:
        return
    if known is None:
        draft.added[entry.id] = None
    else:
        before = table.text(entry.destination, entry.id) or str(known)
        draft.replaced[entry.id] = before
        aside = Entry(entry.destination, shadow_id(entry.id), known)
        core.add(table, aside, before)
        draft.pending[aside.id] = None
    core.add(table, entry, text)


def shadow_id(entry_id: str) -> str:
    """Under which id an entry stands while another one has taken its place."""
    return f"{entry_id} (before the change)"


def settle(core: Core, ring: Ring) -> None:
    """The new tree holds: take out what only the old one needed."""
    for neighbour, draft in ring.drafts.items():
        for table, own in _both(core, draft):
            for entry_id in own.pending:
                core.remove(table, neighbour, entry_id)


def restore(core: Core, ring: Ring) -> None:
    """The old tree holds: take out what came with the change, and put back what it replaced."""
    for neighbour, draft in ring.drafts.items():
        for table, own in _both(core, draft):
            for entry_id in own.added:
                core.remove(table, neighbour, entry_id)
            for entry_id, text in own.replaced.items():
                core.remove(table, neighbour, shadow_id(entry_id))
                core.add(table, Entry(neighbour, entry_id, core.parse(text)), text)
    if ring.new:
        core.forget(ring.new)


def retell(core: Core, ring: Ring) -> None:
    """What neighbours on the ring were told is from now on what they were told for the new tree."""
    for neighbour, draft in ring.drafts.items():
        for table, own in _both(core, draft):
            if own.told is not None:
                table.retell(neighbour, own.told)


def _both(core: Core, draft: EdgeDraft) -> Iterator[tuple[RoutingTable, Draft]]:
    yield core.advertisements, draft.advertisements
    yield core.subscriptions, draft.subscriptions


def _difference(table: RoutingTable, neighbour: str, wanted: dict[str, Filter]) -> EdgeChange:
    told = table.told(neighbour)
    return EdgeChange(
        tuple((one, str(filter)) for one, filter in wanted.items() if told.get(one) != filter),
        tuple(one for one in told if one not in wanted),
    )
