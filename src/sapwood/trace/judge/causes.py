"""What caused what: the causal past of deliveries, without storing pasts.

Notification a *causally precedes* b if both have the same publisher and a came first, or b's
publisher was delivered a before it published b, or some c lies between them. What a client has
been delivered therefore stands on a whole past, of which it may have seen little itself.

Since a publisher's earlier notifications belong to the past of its later ones, the past of
everything a client was delivered is one number per publisher: up to where. And a notification only
needs to know its *direct causes*: what its publisher was delivered since the one before, without
what already precedes another of these. A client that is delivered b follows them from b backwards
and stops where it has been before, so it takes each into account once. Clients that only publish,
and clients that only listen to such, cost nothing beyond their deliveries.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from heapq import merge
from typing import TypeAlias

from sapwood.trace.schema import DELIVERED, PUBLISHED, Row

_LOOK_BACK_MAX = 200
"""How many causes of a delivery are looked at, about, to see what it implies."""

Key: TypeAlias = tuple[str, int]
"""A notification: publisher and sequence."""


def key_of(row: Row) -> Key:
    """The notification a row is about, which the caller knows it is."""
    assert row.publisher is not None and row.sequence is not None
    return (row.publisher, row.sequence)


class Causes:
    """The direct causes of what one client published, by sequence number."""

    __slots__ = ("_keys", "_sequences")

    def __init__(self) -> None:
        self._sequences: list[int] = []
        self._keys: list[Key] = []

    def add(self, sequence: int, keys: Sequence[Key]) -> None:
        """State the direct causes of one notification."""
        index = bisect_right(self._sequences, sequence)
        self._sequences[index:index] = [sequence] * len(keys)
        self._keys[index:index] = keys

    def between(self, after: int, up_to: int) -> list[Key]:
        """The direct causes of the notifications with these sequence numbers."""
        sequences = self._sequences
        return self._keys[bisect_right(sequences, after) : bisect_right(sequences, up_to)]


AllCauses: TypeAlias = Mapping[str, Causes]
"""The causes of each client that published something after it was delivered something."""


class Past:
    """Everything one client was delivered, and all that causally precedes it."""

    __slots__ = ("_causes", "_new", "_up_to", "_why")

    def __init__(self, causes: AllCauses) -> None:
        self._causes = causes
        self._new: list[Row] = []
        self._up_to: dict[str, int] = {}
        self._why: dict[str, Row] = {}

    def known_by(self, key: Key) -> Row | None:
        """An earlier delivery that the notification causally precedes, or is, if there is one."""
        for row in self._new:
            self._follow(row)
        self._new.clear()
        publisher, sequence = key
        return self._why[publisher] if sequence <= self._up_to.get(publisher, 0) else None

    def add(self, row: Row) -> None:
        """The client is delivered a notification: its past belongs to the client's from now on."""
        self._new.append(row)  # followed when somebody asks: after the last delivery nobody does

    def _follow(self, row: Row) -> None:
        up_to, why, all_causes = self._up_to, self._why, self._causes
        waiting = [key_of(row)]
        while waiting:
            publisher, sequence = waiting.pop()
            before = up_to.get(publisher, 0)
            if sequence <= before:
                continue
            up_to[publisher] = sequence
            why[publisher] = row
            causes = all_causes.get(publisher)
            if causes is not None:
                for key in causes.between(before, sequence):
                    if key[1] > up_to.get(key[0], 0):
                        waiting.append(key)


class _Author:
    """A client that publishes, while its direct causes are being found."""

    __slots__ = ("_all", "_fresh", "_highest", "_published", "_up_to", "causes")

    def __init__(self, all_causes: AllCauses) -> None:
        self._all = all_causes
        self._up_to: dict[str, int] = {}
        self._fresh: dict[str, int] = {}
        self._highest = 0
        self._published: set[int] = set()
        self.causes = Causes()

    def deliver(self, key: Key) -> None:
        """Remember a delivery as a direct cause of what comes next, in place of what it implies.

        A cause is given up only for one that comes later, so something always stands for it. How
        far to look for what is implied is a matter of cost only: one cause more does no harm.
        """
        if key[1] <= self._up_to.get(key[0], 0):
            return
        waiting = [key]
        for publisher, sequence in waiting:  # which grows meanwhile: the nearest causes first
            if self._fresh.get(publisher, sequence + 1) <= sequence:
                del self._fresh[publisher]
            before = self._up_to.get(publisher, 0)
            if sequence > before:
                self._up_to[publisher] = sequence
                causes = self._all.get(publisher)
                if causes is not None and len(waiting) < _LOOK_BACK_MAX:
                    waiting += causes.between(before, sequence)
        self._fresh[key[0]] = key[1]

    def publish(self, sequence: int) -> None:
        """Attribute what is fresh to a notification, when it is published first."""
        if sequence in self._published:
            return
        self._published.add(sequence)
        if sequence > self._highest:
            self.causes.add(sequence, list(self._fresh.items()))
            self._fresh = {}
            self._highest = sequence
        else:  # out of turn: the one before does not stand for the rest
            self.causes.add(sequence, list(self._up_to.items()))


def find_causes(ordered: Mapping[str, Sequence[Row]]) -> AllCauses:
    """The direct causes of everything published.

    `ordered` is what each client published and was delivered, in its own order. Clients are gone
    through side by side, by time. Only the number of causes depends on that, not what follows
    from them: a clock that is wrong does no harm.
    """
    authors = _authors(ordered)
    found: dict[str, Causes] = {}
    states: dict[str, _Author] = {}
    for client in authors:
        states[client] = _Author(found)
        found[client] = states[client].causes
    for _, _, client, row in merge(*(_timed(client, rows) for client, rows in authors.items())):
        publisher, sequence = key_of(row)
        if row.kind == DELIVERED:
            states[client].deliver((publisher, sequence))
        else:
            states[client].publish(sequence)
    return found


def _authors(ordered: Mapping[str, Sequence[Row]]) -> dict[str, Sequence[Row]]:
    """The clients that published something after a delivery, up to the last they published."""
    authors = {}
    for client, rows in ordered.items():
        published = [index for index, row in enumerate(rows) if row.kind == PUBLISHED]
        if published and published[-1] >= len(published):
            authors[client] = rows[: published[-1] + 1]
    return authors


def _timed(client: str, rows: Sequence[Row]) -> Iterator[tuple[float, int, str, Row]]:
    """Rows with what `merge` goes by; it keeps their own order even if a clock was set back."""
    for index, row in enumerate(rows):
        yield row.at, index, client, row
