"""Where a notification goes: the routing table as a matching engine, with a memory.

What decides is the head of a notification, its publisher and its attributes, as raw bytes; and
both repeat. So for attributes seen before, the answer is kept under their bytes (a `Plan`), and
for publishers seen before, that the source may send in their name. Both last until the table
changes. Decoding and matching are for what was not seen since.

Keeping publisher and attributes apart means that what is remembered grows with the sum of both,
not with the product, and that what one has published is known for all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from sapwood.errors import FrameError, SapwoodError
from sapwood.filters.filter import Filter
from sapwood.filters.values import Value
from sapwood.matching import MatchIndex
from sapwood.matching.shared import SharedFilters, SharedIndex
from sapwood.routing.strategy import Entry
from sapwood.wire.frames import decode_head
from sapwood.wire.heads import publisher_end
from sapwood.wire.markers import PAIR, SHORT_TEXT, SHORT_TEXT_END, TEXT_8

if TYPE_CHECKING:
    from sapwood.fastpath.router import Router

Destinations: TypeAlias = tuple[str, ...]
"""Neighbours and clients, sorted."""

Key: TypeAlias = tuple[str, str]
"""Of an entry of the table: its destination and its id there."""

NOWHERE: Destinations = ()

_ANY_PUBLISHER = bytes([PAIR, SHORT_TEXT + 1]) + b"p"


Index: TypeAlias = MatchIndex[Key] | SharedIndex[Key]


class Plan(NamedTuple):
    """Who gets notifications with certain attributes."""

    everyone: Destinations
    without: dict[str, Destinations]
    """Everyone but the key, for each neighbour among them: it does not get back what it sent."""


class SharedHeads:
    """What brokers of one process share: parts of well-formed heads, and what was matched.

    Of parts that are equal there is one object, which the processor then has near at hand. And
    attributes that one broker has matched, none of them has to decode or match again.
    """

    def __init__(self, heads_max: int) -> None:
        self.publishers: set[bytes] = set()
        """The beginnings of heads; whether a source may send them is not said."""
        self.filters = SharedFilters(heads_max)
        """Those of all brokers; what matched is known by the rest of the head."""
        self._heads_max = heads_max

    def add_publisher(self, part: bytes) -> None:
        """Note the beginning of a head that decodes."""
        if part not in self.publishers:
            if len(self.publishers) >= self._heads_max:
                self.publishers.clear()
            self.publishers.add(part)


LONG_HEAD_BYTES = 1024
"""Attributes that take more are not remembered: few come again, and they would fill the memory."""

REMEMBERED_BYTES = 256
"""What remembered attributes may take on average, where as many are as may be."""


class SourceMemory(NamedTuple):
    """What is remembered about notifications from one source."""

    publishers: set[bytes]
    """The beginnings of heads that the source may send."""
    plans: dict[bytes, Plan]
    """By the rest of the head. Shared by all sources that may send whatever they want."""


def enter(index: Index, entry: Entry) -> None:
    """Enter what a destination wants into an index, in place of what is there under its key."""
    key = (entry.destination, entry.id)
    if key in index:
        index.remove(key)
    index.add(key, entry.filter, entry.destination)


def _new_index(heads: SharedHeads | None) -> Index:
    return MatchIndex() if heads is None else SharedIndex(heads.filters)


def split_head(head: bytes) -> tuple[bytes, bytes]:
    """The publisher's part of a head that decodes, and the attributes'.

    A head that could have been written shorter is refused, as is a publisher of more than 255
    bytes: the parts of one head must never be mistaken for those of another.
    """
    marker = head[1]
    is_text = SHORT_TEXT <= marker < SHORT_TEXT_END or marker == TEXT_8
    if head[0] != PAIR or not is_text:
        raise FrameError(
            "the head of a notification is not a pair, or its publisher has over 255 bytes"
        )
    end = publisher_end(head, 0)
    return head[:end], head[end:]


class Forwarding:
    """Who wants what, and what was found out about it lately."""

    def __init__(
        self,
        remembered_max: int,
        heads: SharedHeads | None = None,
        index: Index | None = None,
    ) -> None:
        self.index: Index = _new_index(heads) if index is None else index
        self.shadow: Index | None = None
        """The same, being built anew; it follows what happens here."""
        self._shared = self.index if isinstance(self.index, SharedIndex) else None
        """The index, if its filters are shared."""
        self.neighbours: dict[str, bool] = {}
        """Those in the tree, and whether each gets everything."""
        self.known: dict[str, SourceMemory] = {}
        self.has_crossed = False
        """Whether notifications of one publisher came from two sources: not in a tree at rest."""
        self._publishers: dict[str, set[bytes]] = {}
        """By source: who was seen to publish from there. It lasts while tables change."""
        self._origins: dict[bytes, str] = {}
        """By publisher: from where its notifications came first."""
        self.shares_publishers = True
        """Whether neighbours may send in the name of any publisher, so that brokers of one process
        remember it together."""
        self._flooded: list[str] = []
        self._plans: dict[bytes, Plan] = {}
        self._plan_by_destinations: dict[Destinations, Plan] = {}
        self._router: Router[Plan] | None = None
        self._remembered = 0
        self._remembered_bytes = 0
        self._remembered_max = remembered_max
        self._heads = SharedHeads(remembered_max) if heads is None else heads

    @property
    def router(self) -> Router[Plan]:
        """The same in compiled code, for long reads; made, and loaded, for the first of them."""
        if self._router is None:
            from sapwood.fastpath.router import Router  # noqa: PLC0415 - compiled code

            assert isinstance(self.index, MatchIndex)
            self._router = Router(self.index, self._plan, self._remembered_max)
        return self._router

    @property
    def may_route(self) -> bool:
        """Whether long reads are for the router: nobody has to wait for its code to be loaded."""
        return self._router is not None or self.index.has_engine

    def open(self, neighbour: str, *, everything: bool) -> None:
        """A neighbour gets every notification, or what it wants."""
        self.neighbours[neighbour] = everything
        self._neighbours_changed()

    def close(self, neighbour: str) -> None:
        """A neighbour gets nothing any more."""
        self.neighbours.pop(neighbour, None)
        self._neighbours_changed()

    def _neighbours_changed(self) -> None:
        self._flooded = [name for name, everything in self.neighbours.items() if everything]
        self.forget_publishers()

    def add(self, entry: Entry) -> None:
        """A destination wants what a filter matches."""
        self.index.add((entry.destination, entry.id), entry.filter, entry.destination)
        if self.shadow is not None:
            enter(self.shadow, entry)
        self.invalidate()

    def remove(self, destination: str, entry_id: str) -> None:
        """A destination no longer wants what it wanted under an id."""
        key = (destination, entry_id)
        self.index.remove(key)
        if self.shadow is not None and key in self.shadow:
            self.shadow.remove(key)
        self.invalidate()

    def is_like(self, other: Forwarding) -> bool:
        """Whether notifications go to the same neighbours, because of as many entries."""
        return (
            self.neighbours == other.neighbours
            and self.shares_publishers == other.shares_publishers
            and len(self.index) == len(other.index)
        )

    def cast_shadow(self, heads: SharedHeads | None) -> Index:
        """Begin to build the index anew, without any entry yet; whether it is shared is given."""
        self.shadow = _new_index(heads)
        return self.shadow

    def invalidate(self) -> None:
        """Drop every answer that is remembered: the table, or who may send what, has changed."""
        self.known.clear()
        self._plans.clear()
        self._plan_by_destinations.clear()
        self._remembered = self._remembered_bytes = 0
        if self._router is not None:
            self._router.clear()

    def forget_publishers(self) -> None:
        """Let publishers come from elsewhere: the tree, or where clients are, has changed."""
        self._publishers.clear()
        self._origins.clear()
        self.invalidate()

    def match_ahead(self, notifications: Sequence[tuple[bytes, dict[str, Value]]]) -> None:
        """Match many notifications at once, given by head and attributes, and keep their plans.

        Together they are much cheaper than one by one. Raises a SapwoodError, and makes no
        plans, if the attributes of one are none.
        """
        new = {}
        for head, attributes in notifications:
            rest = split_head(head)[1]
            if rest not in self._plans and len(rest) <= LONG_HEAD_BYTES:
                new[rest] = attributes
        if not new:
            return
        found = self.index.destinations_batch(list(new.values()))
        for rest, wanted in zip(new, found, strict=True):
            self._plans[rest] = self._plan(wanted)

    def destinations_of(
        self, source: str, head: bytes, attributes: dict[str, Value], *, restricted: bool
    ) -> Destinations:
        """Where a notification from a source goes; remembered for the next like it.

        What a restricted source may send depends on the attributes, so it shares no plans. Raises
        a SapwoodError if the attributes are none.
        """
        publisher, rest = split_head(head)
        plan = self._plans.get(rest)
        if plan is None:
            rest, plan = self._matched(rest, attributes)
        self._make_room()
        if len(self._origins) >= self._remembered_max:
            self.forget_publishers()
        self._remembered += 1
        known = self.known.get(source)
        if known is None:
            publishers = self._publishers_of(source)
            known = self.known[source] = SourceMemory(publishers, {} if restricted else self._plans)
        if known.publishers is self._heads.publishers:
            self._heads.add_publisher(publisher)
        elif publisher not in known.publishers:
            known.publishers.add(publisher)
            if self._origins.setdefault(publisher, source) != source:
                self.has_crossed = True
        if len(rest) <= LONG_HEAD_BYTES:
            self._remembered_bytes += len(rest)
            known.plans[rest] = self._plans[rest] = plan
            if self._router is not None and not restricted:
                self._router.remember(source, publisher, rest, plan)
        return plan.without.get(source, plan.everyone)

    def wanting(self, head: bytes, attributes: dict[str, Value]) -> Destinations:
        """Everybody who wants a notification, wherever it comes from; nothing is remembered.

        Raises a SapwoodError if the attributes are none.
        """
        rest = split_head(head)[1]
        plan = self._plans.get(rest) or self._matched(rest, attributes)[1]
        return plan.everyone

    def _matched(self, rest: bytes, attributes: dict[str, Value]) -> tuple[bytes, Plan]:
        """The plan for attributes that are not remembered, and the rest of the head.

        Where heads are shared, of equal rests there is one object.
        """
        if self._shared is None:
            return rest, self._plan(self.index.destinations(attributes))
        rest, filters = self._heads.filters.match(rest, attributes)
        return rest, self._plan(self._shared.owed(filters))

    def _publishers_of(self, source: str) -> set[bytes]:
        """Where it is remembered who publishes from a source."""
        if self._shared is not None and self.shares_publishers and source in self.neighbours:
            return self._heads.publishers
        return self._publishers.setdefault(source, set())

    def recall(self, plans: dict[bytes, Plan], rest: bytes) -> Plan | None:
        """The plan for attributes that another broker has matched, if one has; remembered.

        ``plans`` are those in which none was found. What a restricted source may send has to be
        decided from the attributes, so nothing is recalled for it.
        """
        matched = self._heads.filters.matched.get(rest)
        if matched is None or self._shared is None or plans is not self._plans:
            return None
        rest, filters = matched
        plan = self._plan(self._shared.owed(filters))
        self._make_room()
        self._remembered += 1
        self._remembered_bytes += len(rest)
        plans[rest] = plan
        return plan

    def _make_room(self) -> None:
        """Forget everything, if that is too much by now: by number, or by size."""
        bytes_max = self._remembered_max * REMEMBERED_BYTES
        if self._remembered >= self._remembered_max or self._remembered_bytes >= bytes_max:
            self.invalidate()

    def inform_router(self, source: str, head: bytes) -> None:
        """Hand the plan remembered for a head to the router, which may lack it.

        It may be younger than the plan, or have made room.
        """
        publisher, rest = split_head(head)
        plan = self._plans.get(rest)
        if self._router is not None and plan is not None:
            self._router.remember(source, publisher, rest, plan)

    def _plan(self, wanted: Iterable[str]) -> Plan:
        """The plan for those who want something; one for all attributes that go there."""
        everyone = tuple(sorted({*wanted, *self._flooded} if self._flooded else wanted))
        plan = self._plan_by_destinations.get(everyone)
        if plan is None:
            plan = self._plan_by_destinations[everyone] = self._new_plan(everyone)
        return plan

    def problems(self, entries: Iterable[Entry]) -> Iterator[str]:
        """Where the index and the remembered plans differ from the entries of the routing table.

        Changes nothing. Of the router only the plans can be read, not the attributes they are for:
        one that is not remembered here as well was made before the last change.
        """
        table = {(entry.destination, entry.id): entry for entry in entries}
        yield from self._index_problems(table)
        filters: dict[str, list[Filter]] = {}
        for entry in table.values():
            filters.setdefault(entry.destination, []).append(entry.filter)
        yield from self._plan_problems("all sources", self._plans, filters)
        for source, memory in self.known.items():
            if memory.plans is not self._plans:
                yield from self._plan_problems(source, memory.plans, filters)
        for everyone, plan in self._plan_by_destinations.items():
            if plan != self._new_plan(everyone):
                yield f"the plan for the destinations {everyone} is {plan}"
        for plan in [] if self._router is None else self._router.plans:
            if self._plan_by_destinations.get(plan.everyone) is not plan:
                yield f"the router remembers {plan}, which is out of date"

    def _index_problems(self, table: dict[Key, Entry]) -> Iterator[str]:
        held = {entry.key: entry for entry in self.index.entries()}
        for destination, entry_id in sorted(table.keys() - held.keys()):
            yield f"{destination} {entry_id} is in the table and not in the index"
        for destination, entry_id in sorted(held.keys() - table.keys()):
            yield f"{destination} {entry_id} is in the index and not in the table"
        for key in sorted(table.keys() & held.keys()):
            expected, found = table[key], held[key]
            if (expected.destination, expected.filter) != (found.destination, found.filter):
                yield (
                    f"{expected.destination} {expected.id} wants {expected.filter}, "
                    f"but in the index {found.destination} wants {found.filter}"
                )

    def _plan_problems(
        self, sources: str, plans: dict[bytes, Plan], filters: dict[str, list[Filter]]
    ) -> Iterator[str]:
        """Plans that are not what follows from the filters of each destination."""
        for rest, plan in plans.items():
            try:
                _, attributes = decode_head(_ANY_PUBLISHER + rest)
            except SapwoodError as problem:
                yield f"a plan for {sources} is remembered under {rest!r}: {problem}"
                continue
            wanted = {
                destination
                for destination, own in filters.items()
                if any(one.matches(attributes) for one in own)
            }
            flooded = {name for name, everything in self.neighbours.items() if everything}
            right = self._new_plan(sorted(wanted | flooded))
            if plan != right:
                yield f"the plan of {sources} for {attributes} is {plan}, but should be {right}"

    def _new_plan(self, everyone: Sequence[str]) -> Plan:
        """The plan for these destinations, which are sorted."""
        without = {
            name: tuple(other for other in everyone if other != name)
            for name in everyone
            if name in self.neighbours
        }
        return Plan(tuple(everyone), without)
