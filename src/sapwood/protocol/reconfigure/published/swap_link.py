"""SwapLink: a broker leaves one neighbour for that one's neighbour (003, section IV).

*a* leaves *b* for *c*. The figure with the sequence (003, Fig. 5) is missing from our text; what
follows is derived from the states and the ChangePath procedures that the text describes, and has
its 13 messages: lock a→b→c, lockAck c→b→a, swap a→b→c, swap c→a and c→b, open(acb) a→c, close(ab)
a→b, close(ab) with open(bca) b→c, close(ba) b→a→c.

In states 2 and 3 the three are a triangle: each sends what comes from outside to both others,
marked (`Flooded`), and nobody passes a marked one on within the triangle. A path that changes is
closed by a message that travels the old way; what comes the new way waits for it. In the last step
*c* marks what it passes on between a and b (`Passed`), so that it can be told apart from its own.

As published, FIFO order holds and causal order does not: a floods e1, c queues it until the swap
has come through b, b's client answers with e2, which c delivers first. `is_causal` repairs that: a
flooded notification carries how many of each broker its sender had taken, and waits until the
receiver has taken as many; what c passes on waits for what the third had flooded; and nothing
overtakes what waits. That is at the cost of waiting, so not with the minimal delay that 003 claims.
`is_filtering` sends into the triangle only what the tables say is wanted there, instead of
everything.

(Un)subscriptions from outside wait while a broker is locked.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import msgspec

from sapwood.errors import ParameterError
from sapwood.protocol.reconfigure.exchange import Exchange
from sapwood.protocol.reconfigure.published.messages import (
    CLIENT,
    Carried,
    ChangeAsked,
    Deliver,
    Notification,
    Subscribe,
    Unsubscribe,
)
from sapwood.protocol.reconfigure.published.plain import PlainBroker
from sapwood.protocol.reconfigure.published.tables import IDENTITY, Entries, ParseFilter

FREE, LOCKED, FLOODING, MOVED = 0, 1, 2, 3
"""States 0 to 2 of the paper; its state 3 routes as state 2. Moved: the new way, not yet free."""

A, B, C = range(3)
RING: Final = 3


class _Value(msgspec.Struct, frozen=True, gc=False):
    """What all messages of the change share."""


class LockSwap(_Value, frozen=True):
    """Take part in a change."""

    change: Exchange


class LockAck(_Value, frozen=True):
    """All are locked; nothing more comes from c by way of b: close(cba)."""


class LockNack(_Value, frozen=True):
    """Somebody takes part in another change."""


class Swap(_Value, frozen=True):
    """The tables that are needed; from a by way of b also close(abc)."""

    tables: tuple[Entries, ...]


class Open(_Value, frozen=True):
    """From now on pass on what comes from me to the third."""


class Close(_Value, frozen=True):
    """Nothing more comes the old way; `opens` saves a message."""

    path: str
    opens: bool = False


class Flooded(Carried, frozen=True):
    """A notification from outside, sent to both others."""

    seen: tuple[int, int, int]
    """How many of a, b and c its sender had taken; of its own, sent."""


class Passed(Carried, frozen=True):
    """A notification that c passes on from a to b or from b to a."""


class SwapLink(PlainBroker):
    """One broker."""

    def __init__(
        self,
        id: str,  # noqa: A002 - the word of the domain
        neighbours: Iterable[str],
        parse: ParseFilter,
        algorithm: str = IDENTITY,
        is_causal: bool = False,
        is_filtering: bool = False,
    ) -> None:
        super().__init__(id, neighbours, parse, algorithm)
        if is_causal and is_filtering:
            raise ParameterError(
                "is True, but counting what was flooded needs all of it", "is_filtering"
            )
        self.is_causal = is_causal
        self.is_filtering = is_filtering
        self.held: list[tuple[str, Any]] = []
        """(Un)subscriptions from outside."""
        self.waiting: dict[str, list[tuple[Any, float]]] = {}
        """By sender: what has to wait, and since when."""
        self._clear()
        self._messages |= {
            LockSwap: self._lock,
            LockAck: self._ack,
            LockNack: self._nack,
            Swap: self._swap,
            Open: self._opened,
            Close: self._close,
            Flooded: self._queue,
            Passed: self._queue,
        }

    def _clear(self) -> None:
        self.state = FREE
        self.names: tuple[str, ...] = ("", "", "")
        """Who is a, b and c."""
        self.taken = [0, 0, 0]
        self.closed: set[str] = set()
        """The paths that nothing more comes over."""
        self.opened: set[str] = set()
        """At c: from whom everything is passed on."""
        self.table: Entries | None = None
        """At b: what it will want of c."""
        self.is_done = False
        """Whether nothing is left to do but to take what still waits."""

    @property
    def is_busy(self) -> bool:
        """Whether it is locked."""
        return self.state != FREE

    @property
    def _role(self) -> int:
        return self.names.index(self.id)

    @staticmethod
    def initiators(change: Exchange) -> tuple[str, ...]:
        """Broker a is asked."""
        return (roles(change)[A],)

    def _asked(self, event: ChangeAsked) -> None:
        assert isinstance(event.change, Exchange)
        if self.state == FREE:
            self._lock_here(event.change)
            self._send(self.names[B], LockSwap(event.change))

    # Locking

    def _lock_here(self, change: Exchange) -> None:
        self._clear()
        self.state, self.names = LOCKED, roles(change)

    def _lock(self, source: str, message: LockSwap) -> None:
        if self.state != FREE:
            self._send(source, LockNack())
            return
        self._lock_here(message.change)
        if self._role == B:
            self._send(self.names[C], message)
        else:
            self.state = FLOODING
            self._send(source, LockAck())

    def _nack(self, source: str, message: LockNack) -> None:
        if self._role == B:
            self._send(self.names[A], message)
        self._free()

    def _ack(self, source: str, message: LockAck) -> None:
        a, b, _ = self.names
        self.state = FLOODING
        if self._role == B:
            self._send(a, message)
            return
        self.closed.add("cba")
        self._send(b, Swap((self.tables.owed(b),)))
        self._look()

    # Swapping tables

    def _swap(self, source: str, message: Swap) -> None:
        a, b, c = self.names
        if self._role == B and source == a:
            self._send(c, Swap((*message.tables, self.tables.owed(c, without=(a,)))))
        elif self._role == C:
            self._meet(*message.tables)
        elif self._role == A:
            self._move(b, c, message.tables[0], self.tables.owed(b))
            self._send(c, Open())
            self._send(b, Close("ab"))
            self._look()
        else:
            self.table = message.tables[0]
            self._leave_a()

    def _meet(self, of_a: Entries, of_b: Entries) -> None:
        """At c: what each of the others wants is known apart from now on."""
        a, b, _ = self.names
        self.closed.add("abc")
        self.neighbours[a] = None
        for name, entries in ((a, of_a), (b, of_b)):
            self.tables.forget(name)
            for key, filter in entries.items():
                self.tables.add(name, key, filter)
        for name in (a, b):
            self.tables.told[name] = self.tables.owed(name)
            self._send(name, Swap((self.tables.told[name],)))
        self._look()

    def _move(self, left: str, joined: str, table: Entries, told: Entries) -> None:
        """The only neighbour among the three is c from now on."""
        self.state = MOVED
        self.neighbours.pop(left, None)
        self.neighbours[joined] = None
        self.tables.forget(left)
        self.tables.forget(joined)
        self.tables.told[joined] = told
        for key, filter in table.items():
            self.tables.add(joined, key, filter)

    def _leave_a(self) -> None:
        """At b: when nothing more comes from a directly, and c has sent its table."""
        a, _, c = self.names
        if self.table is None or "ab" not in self.closed:
            return
        self._move(a, c, self.table, self.tables.owed(c, without=(a,)))
        self._send(c, Close("ab", opens=True))
        self._send(a, Close("ba"))
        self.is_done = True
        self._look()

    def _opened(self, source: str, message: Open) -> None:
        self.opened.add(source)
        self._look()

    def _close(self, source: str, message: Close) -> None:
        self.closed.add(message.path)
        if message.opens:
            self.opened.add(source)
        if self._role == B:
            self._leave_a()
        elif self._role == A:
            self._send(self.names[C], Close("ba"))
            self.is_done = True
        else:
            self.is_done = {"ab", "ba"} <= self.closed
        self._look()

    def _free(self) -> None:
        self._clear()
        held, self.held = self.held, []
        for source, message in held:
            self._process(source, message)

    # Notifications

    def _receive(self, source: str, message: Any) -> None:
        is_inside = source in self.names
        if isinstance(message, Notification) and self.state != FREE and is_inside:
            self._queue(source, message)
        elif isinstance(message, Notification) and self.state == FLOODING:
            self._flood(source, message)
        elif isinstance(message, Subscribe | Unsubscribe) and self.state != FREE and not is_inside:
            self.held.append((source, message))
        else:
            super()._receive(source, message)

    def _flood(self, source: str, message: Notification) -> None:
        """From outside: by the tables to outside, and marked to both others."""
        seen = (self.taken[A], self.taken[B], self.taken[C])
        self.taken[self._role] += 1
        self._outside(source, message)
        for name in self._flooded_to(message):
            self._send(name, Flooded(_onward(message), seen))

    def _flooded_to(self, message: Notification) -> list[str]:
        others = [name for name in self.names if name != self.id]
        if not self.is_filtering:
            return others
        wanting = set(self.tables.wanting(message.attributes))
        # Before c knows what a wants, b's entries stand for both; a only ever knows those.
        knows_apart = self._role == B or "abc" in self.closed
        return [name for name in others if (name if knows_apart else self.names[B]) in wanting]

    def _outside(self, source: str, message: Notification) -> None:
        """To clients and to neighbours that take no part."""
        for destination in self.tables.wanting(message.attributes):
            if destination.startswith(CLIENT):
                self._effects.append(Deliver(destination.removeprefix(CLIENT), message))
            elif destination not in (*self.names, source) and destination in self.neighbours:
                self._send(destination, _onward(message))

    def _queue(self, source: str, message: Any) -> None:
        """From one of the three: now, or when it may be."""
        self.waiting.setdefault(source, []).append((message, self._now))
        self._look()

    def _look(self) -> None:
        """Take whatever need not wait any more, the oldest of each sender first."""
        is_moving = True
        while is_moving:
            is_moving = False
            for source in list(self.waiting):
                is_moving |= self._take_from(source)
        if self.is_done and not any(self.waiting.values()):
            self._free()

    def _take_from(self, source: str) -> bool:
        waiting = self.waiting.get(source, [])
        for place, (message, since) in enumerate(waiting):
            if not self._must_wait(source, message):
                del waiting[place]
                if self._now > since:
                    self._waited(since)
                self._take(source, message)
                return True
            if self.is_causal or not isinstance(message, Passed):
                return False  # what is behind it must not overtake it
        return False

    def _must_wait(self, source: str, message: Any) -> bool:
        if self.state == FREE:
            return False
        a, b, _ = self.names
        if isinstance(message, Passed):
            return ("ba" if self._role == A else "ab") not in self.closed
        if isinstance(message, Flooded):
            path = {(A, C): "abc", (C, A): "cba"}.get((self.names.index(source), self._role))
            is_early = path is not None and path not in self.closed
            return is_early or (self.is_causal and not self._has_seen(source, message.seen))
        # At c, behind Open: in causal order only when the third has opened too.
        is_new = self._role == C and source in self.opened
        return self.is_causal and is_new and not {a, b} <= self.opened

    def _has_seen(self, source: str, seen: tuple[int, int, int]) -> bool:
        sender = self.names.index(source)
        return all(
            self.taken[role] >= seen[role]
            for role in range(RING)
            if role not in (sender, self._role)
        )

    def _take(self, source: str, message: Any) -> None:
        if isinstance(message, Flooded) and self.state != FREE:
            self.taken[self.names.index(source)] += 1
            self._outside(source, message.notification)
        elif isinstance(message, Carried):
            self._notified(source, message.notification)
        elif self._role == C and source in self.opened and self.state != FREE:
            self._outside(source, message)
            self._pass_on(source, message)
        else:
            self._notified(source, message)

    def _pass_on(self, source: str, message: Notification) -> None:
        """At c: between a and b, marked until the old way is closed."""
        a, b, _ = self.names
        other, path = (b, "ab") if source == a else (a, "ba")
        if other in self.tables.wanting(message.attributes):
            onward = _onward(message)
            self._send(other, onward if path in self.closed else Passed(onward))


def roles(change: Exchange) -> tuple[str, str, str]:
    """Who is a, b and c in an exchange around three brokers."""
    if change.n != RING:
        raise ParameterError(f"has {change.n} brokers; a swap has three", "ring")
    (moved,) = set(change.old) & set(change.new)
    (left,) = set(change.old) - {moved}
    (joined,) = set(change.new) - {moved}
    return moved, left, joined


def _onward(message: Notification) -> Notification:
    return Notification(message.publisher, message.sequence, message.attributes, message.hops + 1)
