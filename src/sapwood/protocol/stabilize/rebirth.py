"""Rebirth: a broker whose state is impossible builds it anew from its entries and its roster.

An exception where there must be none shows that the state contradicts itself. What raised it is not
looked for. The entries, who is linked and connected, and which clients have moved are read
as they are, as far as they make sense; all else is made anew. What neighbours are owed counts as
told: who was told something else is found out when tables are compared. Whoever waits for an answer
gets a no, and everybody is told that something may have been missed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from sapwood.protocol.clients import Clients
from sapwood.protocol.core import Core
from sapwood.protocol.drops import Drop
from sapwood.protocol.fences import ANYWHERE, NOWHERE, Fence
from sapwood.protocol.neighbours import Neighbour, Neighbours
from sapwood.protocol.reconfigure.asking import ChangeTree
from sapwood.protocol.reconfigure.conducting import Job
from sapwood.protocol.stabilize.audit import reread
from sapwood.protocol.waves import OpenRequest
from sapwood.routing.strategy import Entry
from sapwood.routing.table import Held


class Primary(NamedTuple):
    """What a broker is born from again."""

    neighbours: dict[str, Neighbour]
    clients: list[str]
    subscriptions: list[tuple[Entry, str]]
    """With their texts, as they were received."""
    advertisements: list[tuple[Entry, str]]
    fences: dict[str, Fence]
    waiting: list[OpenRequest]
    changes: list[tuple[str, int]]
    """Clients that wait for a change of the tree, and the numbers of their requests."""
    drops: Counter[Drop]
    faults: Counter[str]
    reborn_at: float | None


def primary_of(core: Core, waves: object, conducting: object = None) -> Primary:
    """The primary state of a broker, as far as it makes sense; nothing here raises."""
    clients = [one for one in _mapping(core.clients, "_claims") if isinstance(one, str)]
    neighbours = {
        name: one
        for name, one in _items(core.neighbours)
        if isinstance(name, str) and _is_sound(one, Neighbour)
    }
    known = {*clients, *(name for name, one in neighbours.items() if one.in_tree)}
    tables = [
        [one for one in _entries(core, table) if one[0].destination in known]
        for table in (core.subscriptions, core.advertisements)
    ]
    return Primary(
        neighbours=neighbours,
        clients=[one for one in clients if one not in neighbours],
        subscriptions=tables[0],
        advertisements=tables[1],
        fences={
            client: fence
            for client, fence in _items(_mapping(core.fences, "homes"))
            if isinstance(client, str) and _is_fence(fence, known | {NOWHERE, ANYWHERE, client})
        },
        waiting=[
            one
            for requests in ("under_way", "queue")
            for one in _listed(getattr(waves, requests, None))
            if _is_sound(one, OpenRequest)
        ],
        changes=[
            (job.client, job.wanted.request)
            for _, job in _items(_mapping(conducting, "jobs"))
            if type(job) is Job and _is_sound(job.wanted, ChangeTree) and job.client in clients
        ],
        drops=sound_drops(core),
        faults=sound_faults(core),
        reborn_at=_number(core.reborn_at),
    )


def check_roster(core: Core) -> None:
    """Raise if neighbours and clients are not what such things are."""
    kept: tuple[object, object] = core.neighbours, core.clients
    if tuple(map(type, kept)) != (Neighbours, Clients):
        raise TypeError(f"neighbours and clients are {kept!r:.80}")
    for client in core.clients:
        if not isinstance(client, str):
            raise TypeError(f"there is a client {client!r}")
    for name, one in _items(core.neighbours):
        if not isinstance(name, str) or not _is_sound(one, Neighbour):
            raise TypeError(f"the neighbour {name!r} is {one!r}")


def sound_drops(core: Core) -> Counter[Drop]:
    """What was dropped, as far as these are counts."""
    return Counter(
        {
            why: count
            for why, count in _items(_mapping(core.drops, "counts"))
            if isinstance(why, Drop) and _is_count(count)
        }
    )


def without(primary: Primary, client: str, name: str) -> Primary:
    """The same without what a client has claimed under a name, which is about to be said again.

    If a fault was found while it was entered, some neighbours were told and others were not.
    """
    key = (client, f"{client}/{name}")
    subscriptions, advertisements = (
        [one for one in entries if (one[0].destination, one[0].id) != key]
        for entries in (primary.subscriptions, primary.advertisements)
    )
    return primary._replace(subscriptions=subscriptions, advertisements=advertisements)


def sound_faults(core: Core) -> Counter[str]:
    """The faults that were found, as far as these are counts."""
    return Counter(
        {
            kind: count
            for kind, count in _items(core.faults)
            if isinstance(kind, str) and _is_count(count)
        }
    )


def restore(core: Core, primary: Primary) -> None:
    """Fill a broker that has begun with nothing; what it owes its neighbours counts as told."""
    core.drops.counts = primary.drops
    core.neighbours.update(primary.neighbours)
    for client in primary.clients:
        core.clients.add(client)
    core.fences.homes = primary.fences
    core.forwarding.shares_publishers = not core.fences
    for name in core.neighbours.tree():
        one = core.neighbours[name]
        one.sends = core.told_subscriptions()[name]
        core.open(name)
    for table, entries in zip(
        core.tables, (primary.subscriptions, primary.advertisements), strict=True
    ):
        for entry, text in entries:
            core.add(table, entry, text)
    for client in primary.clients:
        core.mend_claims(client)
    for table in core.tables:
        for ledger in table.ledgers.values():
            ledger.presume()


def _entries(core: Core, table: object) -> Iterator[tuple[Entry, str]]:
    """The entries of a table that can be read, with their texts."""
    for destination, own in _items(_mapping(table, "_entries")):
        for entry_id, held in _items(own):
            if isinstance(destination, str) and isinstance(entry_id, str) and type(held) is Held:
                fresh = reread(core, held.filter, held.text)
                if fresh is not None:
                    yield Entry(destination, entry_id, fresh), held.text


def _mapping(owner: object, name: str) -> Mapping[Any, Any]:
    found = getattr(owner, name, None)
    return found if isinstance(found, dict) else {}


def _items(found: object) -> list[tuple[Any, Any]]:
    return list(found.items()) if isinstance(found, dict) else []


def _listed(found: object) -> list[Any]:
    return found if isinstance(found, list) else []


def _number(value: object) -> float | None:
    return value if isinstance(value, float) else None


def _is_count(value: object) -> bool:
    return type(value) is int and value >= 0


def _is_fence(fence: object, sources: set[str]) -> bool:
    if type(fence) is not Fence:
        return False
    counts = fence.streams, fence.again
    return fence.source in sources and all(map(_is_count, counts)) and isinstance(fence.home, str)


def _is_sound(value: object, kind: type[msgspec.Struct]) -> bool:
    """Whether a value is a struct of a kind, and its fields are of their types."""
    if type(value) is not kind:
        return False
    try:
        msgspec.convert(msgspec.to_builtins(value), kind)
    except (msgspec.ValidationError, TypeError):
        return False
    return True
