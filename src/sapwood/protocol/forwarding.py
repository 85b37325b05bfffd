"""Where a notification goes: the routing table as a matching engine, with a memory.

What decides is the head of a notification, its publisher and its attributes, as raw bytes; and
both repeat. So for attributes seen before, the answer is kept under their bytes (a `Plan`), and
for publishers seen before, that the source may send in their name. Both last until the table
changes. Decoding and matching are for what was not seen since.

Keeping publisher and attributes apart means that what is remembered grows with the sum of both,
not with the product, and that what one has published is known for all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from sapwood.errors import FrameError
from sapwood.fastpath.router import Router
from sapwood.filters.values import Value
from sapwood.matching import MatchIndex
from sapwood.routing.strategy import Entry

Destinations: TypeAlias = tuple[str, ...]
"""Neighbours and clients, sorted."""

NOWHERE: Destinations = ()

# How msgpack begins a pair and a text.
_PAIR = 0x92
_SHORT_TEXT = 0xA0
SHORT_TEXT_END = 0xC0
_TEXT_8 = 0xD9
PAIR_AND_SHORT_TEXT = 2 - _SHORT_TEXT
_PAIR_AND_TEXT_8 = 3


class Plan(NamedTuple):
    """Who gets notifications with certain attributes."""

    everyone: Destinations
    without: dict[str, Destinations]
    """Everyone but the key, for each neighbour among them: it does not get back what it sent."""


class Parts:
    """Parts of heads that were found to be right, one object for all that are equal.

    Brokers in one process may share them. Each remembers the same ones; so what they look at is
    the same, and near at hand for the processor.
    """

    def __init__(self, parts_max: int) -> None:
        self.publishers: set[bytes] = set()
        """The beginnings of heads; whether a source may send them is not said."""
        self._attributes: dict[bytes, bytes] = {}
        self._parts_max = parts_max

    def add_publisher(self, part: bytes) -> None:
        """The beginning of a head decodes."""
        if part not in self.publishers:
            if len(self.publishers) >= self._parts_max:
                self.publishers.clear()
            self.publishers.add(part)

    def attributes(self, part: bytes) -> bytes:
        """The object that stands for the rest of a head."""
        known = self._attributes.get(part)
        if known is not None:
            return known
        if len(self._attributes) >= self._parts_max:
            self._attributes.clear()
        self._attributes[part] = part
        return part


class Known(NamedTuple):
    """What is known about notifications from one source."""

    publishers: set[bytes]
    """The beginnings of heads that the source may send. Neighbours may send whatever is right, so
    they share it."""
    plans: dict[bytes, Plan]
    """By the rest of the head. Shared by all sources that may send whatever they want."""


def publisher_end(data: bytes, head_at: int) -> int:
    """Where, in a head that begins at a place, the publisher ends and the attributes begin.

    A head is a pair of a text and a map (``sapwood.wire.frames``); a text has its length in its
    first byte if it is short, else in the second. For anything else the answer is meaningless,
    but harmless: nothing that begins so is ever remembered. There must be three bytes to look at.
    """
    marker = data[head_at + 1]
    if marker < SHORT_TEXT_END:
        return head_at + marker + PAIR_AND_SHORT_TEXT
    return head_at + data[head_at + 2] + _PAIR_AND_TEXT_8


def split_head(head: bytes) -> tuple[bytes, bytes]:
    """The publisher's part of a head that decodes, and the attributes'.

    A head that could have been written shorter is refused, as is a publisher of more than 255
    bytes: the parts of one head must never be mistaken for those of another.
    """
    marker = head[1]
    is_text = _SHORT_TEXT <= marker < SHORT_TEXT_END or marker == _TEXT_8
    if head[0] != _PAIR or not is_text:
        raise FrameError(
            "the head of a notification is not a pair, or its publisher has over 255 bytes"
        )
    end = publisher_end(head, 0)
    return head[:end], head[end:]


class Forwarding:
    """Who wants what, and what was found out about it lately."""

    def __init__(self, remembered_max: int, parts: Parts | None = None) -> None:
        self.index: MatchIndex[tuple[str, str]] = MatchIndex()
        self.neighbours: dict[str, bool] = {}
        """Those in the tree, and whether each gets everything."""
        self.known: dict[str, Known] = {}
        self._flooded: list[str] = []
        self._plans: dict[bytes, Plan] = {}
        self._same: dict[Destinations, Plan] = {}
        self._router: Router[Plan] | None = None
        self._remembered = 0
        self._remembered_max = remembered_max
        self._parts = Parts(remembered_max) if parts is None else parts

    @property
    def router(self) -> Router[Plan]:
        """The same in compiled code, for long reads; made for the first of them."""
        if self._router is None:
            self._router = Router(self.index, self._plan, self._remembered_max)
        return self._router

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
        self.forget()

    def add(self, entry: Entry) -> None:
        """A destination wants what a filter matches."""
        self.index.add((entry.destination, entry.id), entry.filter, entry.destination)
        self.forget()

    def remove(self, destination: str, entry_id: str) -> None:
        """A destination no longer wants what it wanted under an id."""
        self.index.remove((destination, entry_id))
        self.forget()

    def forget(self) -> None:
        """What was decided may not hold any more, nor who may send what."""
        self.known.clear()
        self._plans.clear()
        self._same.clear()
        self._remembered = 0
        if self._router is not None:
            self._router.clear()

    def prepare(self, notifications: Sequence[tuple[bytes, dict[str, Value]]]) -> None:
        """Make plans for many notifications at once, given by head and attributes.

        To match them together is much cheaper than one by one. Raises a SapwoodError, and makes no
        plans, if the attributes of one are none.
        """
        new = {}
        for head, attributes in notifications:
            rest = split_head(head)[1]
            if rest not in self._plans:
                new[rest] = attributes
        if not new:
            return
        found = self.index.destinations_batch(list(new.values()))
        for rest, wanted in zip(new, found, strict=True):
            self._plans[rest] = self._plan(wanted)

    def decide(
        self, source: str, head: bytes, attributes: dict[str, Value], *, restricted: bool
    ) -> Destinations:
        """Where a notification from a source goes; remembered for the next like it.

        What a restricted source may send depends on the attributes, so it shares no plans. Raises
        a SapwoodError if the attributes are none.
        """
        publisher, rest = split_head(head)
        plan = self._plans.get(rest)
        if plan is None:
            plan = self._plan(self.index.destinations(attributes))
        if self._remembered >= self._remembered_max:
            self.forget()
        self._remembered += 1
        known = self.known.get(source)
        if known is None:
            publishers = self._parts.publishers if source in self.neighbours else set()
            known = self.known[source] = Known(publishers, {} if restricted else self._plans)
        if known.publishers is self._parts.publishers:
            self._parts.add_publisher(publisher)
        else:
            known.publishers.add(publisher)
        rest = self._parts.attributes(rest)
        known.plans[rest] = self._plans[rest] = plan
        if self._router is not None and not restricted:
            self._router.remember(source, publisher, rest, plan)
        return plan.without.get(source, plan.everyone)

    def teach(self, source: str, head: bytes) -> None:
        """Let the router know what is known here: it may be younger, or have made room."""
        publisher, rest = split_head(head)
        plan = self._plans.get(rest)
        if self._router is not None and plan is not None:
            self._router.remember(source, publisher, rest, plan)

    def _plan(self, wanted: list[str]) -> Plan:
        """The plan for those who want something; one for all attributes that go there."""
        everyone = tuple(sorted({*wanted, *self._flooded} if self._flooded else wanted))
        plan = self._same.get(everyone)
        if plan is None:
            without = {
                name: tuple(other for other in everyone if other != name)
                for name in everyone
                if name in self.neighbours
            }
            plan = self._same[everyone] = Plan(everyone, without)
        return plan
