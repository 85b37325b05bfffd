"""Link exchange by algorithms 2 to 8: two colours, separators and queues (Jaeger 2007, 4.4.2; 002).

The ring is locked; the ends of the old link send what came over it past the links to the ends of
the new one, behind it a *separator* that goes round and colours brokers gray. Black notifications
pass over the old link only, gray ones over the new link only. Where order is asked for, what comes
over the new link waits for separators: of the other side (FIFO), or of both (causal).

As printed it does not work. `CORRECTED` has what it takes, by the numbers of `Correction`; each can
be left out, to see what it is for. Names follow the print: `left` and `right` are the neighbours on
the ring, `old` and `new` the other ends of the two links, `relay` the end of the other link on this
side.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from typing import Any

import msgspec

from sapwood.errors import ParameterError
from sapwood.protocol.reconfigure.exchange import Exchange
from sapwood.protocol.reconfigure.published.messages import (
    ChangeAsked,
    Notification,
    Routed,
    Subscribe,
    Unsubscribe,
)
from sapwood.protocol.reconfigure.published.plain import PlainBroker
from sapwood.protocol.reconfigure.published.tables import IDENTITY, ParseFilter

NONE, FIFO, CAUSAL = "none", "fifo", "causal"
ORDERS = (NONE, FIFO, CAUSAL)


class Correction(IntEnum):
    """What the print gets wrong, numbered as in docs/reference/reconfiguration-methods.md."""

    ACKNOWLEDGE = 1
    """Alg. 6 line 5: an unlock from the own side is acknowledged also if the one over the new link
    came first."""
    BEGIN_FIRST = 2
    """Alg. 4 lines 21-23: the other side's separator ends relaying only after `Begin`."""
    COLOUR_BY_SIDE = 3
    """Alg. 4 line 6: that the sender is the relay says nothing where both ends are neighbours."""
    SHARED_ROLES = 4
    """Alg. 2 lines 9-12, Alg. 4 line 20: one broker may be an end of both links."""
    HOLD_SUBSCRIPTIONS = 5
    """What clients and brokers off the ring (un)subscribe waits until the ring is unlocked."""
    OWN_CHANGE = 6
    """Alg. 2: a lock of another change is not taken for the own one, nor sent to oneself."""
    ASK_BEFORE = 7
    """Alg. 3 line 14: whether the other side is gray is asked before the separator is sent, which a
    broker that is an end of both links handles at once."""


PRINTED: frozenset[Correction] = frozenset()
CORRECTED = frozenset(Correction)


class _Value(msgspec.Struct, frozen=True, gc=False):
    """What all messages of the change share."""


class Lock(_Value, frozen=True):
    """Take part in a change; if it comes back the way it went, somebody did not."""

    change: Exchange


class Begin(_Value, frozen=True):
    """All are locked: the ends of the old link may begin."""


class Separator(_Value, frozen=True):
    """No black notification of the side it began on follows."""

    brokers: tuple[str, ...] = ()
    """Who has turned gray on that side."""
    relayed: bool = False


class End(_Value, frozen=True):
    """Nothing more is relayed."""


class Unlock(_Value, frozen=True):
    """The change is over."""


class LinkExchange(PlainBroker):
    """One broker."""

    def __init__(
        self,
        id: str,  # noqa: A002 - the word of the domain
        neighbours: Iterable[str],
        parse: ParseFilter,
        algorithm: str = IDENTITY,
        order: str = CAUSAL,
        corrections: frozenset[Correction] = CORRECTED,
    ) -> None:
        super().__init__(id, neighbours, parse, algorithm)
        if order not in ORDERS:
            raise ParameterError(f"is {order!r}; wanted one of {', '.join(ORDERS)}", "order")
        self.order = order
        self.corrections = corrections
        self.change: Exchange | None = None
        self.locked = self.relaying = self.is_gray = False
        self.side_left = False
        self.left = self.right = self.new = self.old = self.relay = ""
        self.gray_brokers: set[str] = set()
        self.awaited: set[str] = set()
        """From whom no separator has come yet that has to, before what waits may go on."""
        self.waiting: list[tuple[str, Notification, float]] = []
        """Notifications that came over the new link, and when."""
        self.waiting_subscriptions: list[tuple[str, Any]] = []
        self.held: list[tuple[str, Any]] = []
        """(Un)subscriptions from off the ring."""
        self._messages |= {
            Lock: self._lock,
            Begin: self._begin,
            Separator: self._separator,
            End: self._end,
            Unlock: self._unlock,
        }

    @property
    def is_busy(self) -> bool:
        """Whether it is locked."""
        return self.locked

    def _has(self, correction: Correction) -> bool:
        return correction in self.corrections

    @staticmethod
    def initiators(change: Any) -> tuple[str, ...]:
        """The initiator alone is asked."""
        return (change.ring[0],)

    def _asked(self, event: ChangeAsked) -> None:
        assert isinstance(event.change, Exchange)
        self._lock(self.id, Lock(event.change))

    # Algorithm 2: lock

    def _lock(self, source: str, message: Lock) -> None:
        is_own = self.change == message.change or not self._has(Correction.OWN_CHANGE)
        if not self.locked:
            self._first_lock(source, message)
        elif source == self.left and is_own:
            self._join(self.left)
            for end in message.change.old:
                self._send_to(end, Begin())
        elif source == self.right and is_own:
            if not self.new:
                self._send(self.left, message)
            self._clear()
        elif source != self.id:
            self._send(source, message)

    def _first_lock(self, source: str, message: Lock) -> None:
        ring, k = message.change.ring, message.change.k
        place = ring.index(self.id)
        before, after = ring[place - 1], ring[(place + 1) % len(ring)]
        if after == ring[0]:
            self._join(after)
        if after not in self.neighbours:  # the tree is another by now
            if source != self.id or not self._has(Correction.OWN_CHANGE):
                self._send(source, message)
            return
        self._clear()
        self.change, self.locked = message.change, True
        self.left, self.right = before, after
        self._take_roles(ring, ring[k - 1], ring[k])
        self.side_left = place < k
        if self.new and self.order == FIFO:
            self.awaited = set(ring[k:] if place == 0 else ring[:k])
        elif self.new and self.order == CAUSAL:
            self.awaited = set(ring)
        self._send(after, message)

    def _take_roles(self, ring: tuple[str, ...], old_left: str, old_right: str) -> None:
        """Which links it is an end of; in the print of one at most."""
        first, last = ring[0], ring[-1]
        ends = {
            first: (old_left, last),
            last: (old_right, first),
        }
        if self.id in ends:
            self.relay, self.new = ends[self.id]
        if self.id in ends and not self._has(Correction.SHARED_ROLES):
            return
        if self.id == old_left:
            self.relay, self.old = first, old_right
        elif self.id == old_right:
            self.relay, self.old = last, old_left

    def _join(self, neighbour: str) -> None:
        """The new link: the other end learns what it has to know past it."""
        if neighbour not in self.neighbours:
            self.neighbours[neighbour] = None
            self.tables.told[neighbour] = self.tables.owed(neighbour)

    def _clear(self) -> None:
        self.change = None
        self.locked = self.relaying = self.is_gray = False
        self.left = self.right = self.new = self.old = self.relay = ""
        self.gray_brokers, self.awaited = set(), set()

    # Algorithm 3: begin

    def _begin(self, source: str, message: Begin) -> None:
        self.relaying = True
        was_gray = self.old in self.gray_brokers
        old = self.old
        for key, filter in self.tables.of(old).items():
            self._send_to(self.relay, Subscribe(key, filter, gray=True, relayed=True))
        self._send_to(self.relay, Separator(relayed=True))
        if not self._has(Correction.ASK_BEFORE):
            was_gray = self.old in self.gray_brokers
        if was_gray:
            self._end_relaying()

    def _end_relaying(self) -> None:
        self._send_to(self.relay, End())
        self.relay, self.relaying = "", False

    # Algorithm 4: separator

    def _separator(self, source: str, message: Separator) -> None:
        onward = [self.left if source == self.right else self.right]
        if onward == [self.new]:
            onward = []
        from_own_side = source == (self.left if self.side_left else self.right)
        if source == self.relay and not self._has(Correction.COLOUR_BY_SIDE):
            from_own_side = True
        brokers = message.brokers
        if from_own_side:
            self.is_gray = True
            brokers = (*brokers, self.id)
            # One that ends both links has come by it by itself: nobody to send it back to.
            if self.old and source != self.new:
                onward.append(source)
        message = Separator(brokers)
        self.gray_brokers.update(brokers)
        self.awaited.difference_update(brokers)
        if self.new and not self.awaited:
            self._release()
        if self.old and (not self.new or self._has(Correction.SHARED_ROLES)):
            self._separated(source, onward, message)
        else:
            self._send_all(onward, message)

    def _separated(self, source: str, onward: list[str], message: Separator) -> None:
        """At an end of the old link."""
        if source == self.old:
            if self.relaying or not self._has(Correction.BEGIN_FIRST):
                self._end_relaying()
        else:
            for key in self.tables.of(self.old):
                self._process(self.old, Unsubscribe(key))
        self._send_all(onward, message)
        if self.id in self.gray_brokers and self.old in self.gray_brokers:
            old = self.old
            self._unlock(old, Unlock())
            self.neighbours.pop(old, None)
            self.tables.forget(old)
            self.old = ""

    def _send_all(self, destinations: list[str], message: Any) -> None:
        for destination in destinations:
            self._send(destination, message)

    def _release(self) -> None:
        """What waits goes on."""
        waiting, self.waiting = self.waiting, []
        for source, message, since in waiting:
            self._waited(since)
            self._process(source, message)

    # Algorithm 5: end

    def _end(self, source: str, message: End) -> None:
        self.relay = ""
        waiting, self.waiting_subscriptions = self.waiting_subscriptions, []
        for sender, one in waiting:
            self._process(sender, one)
        is_left_only = bool(self.new) and self.left == self.new and not self.right
        is_right_only = bool(self.new) and self.right == self.new and not self.left
        if self.locked and (is_left_only or is_right_only or not (self.left or self.right)):
            self._unlock(self.id, Unlock())

    # Algorithm 6: unlock

    def _unlock(self, source: str, message: Unlock) -> None:
        onward: list[str] = []
        if source != self.new and self.left and self.right:
            onward = [self.left, self.right]
        elif self.new and not (self.left and self.right):
            onward = [self.new]
            if source in (self.left, self.right) and self._has(Correction.ACKNOWLEDGE):
                onward.append(source)
        if source == self.old:
            onward = [name for name in onward if name != self.old]
        if self.relay:
            onward = [name for name in onward if name != self.new]
        self.left = "" if source == self.left else self.left
        self.right = "" if source == self.right else self.right
        self.new = "" if self.new in onward else self.new
        if not self.new:
            self.is_gray = False
        self._send_all(onward, message)
        if not (self.left or self.right or self.new):
            self._free()

    def _free(self) -> None:
        """The change is over here."""
        self._clear()
        held, self.held = self.held, []
        for source, message in held:
            self._process(source, message)

    # Algorithm 7: receiving

    def _receive(self, source: str, message: Any) -> None:
        is_relayed = getattr(message, "relayed", False)
        if not isinstance(message, Routed):
            sender = self.new if is_relayed else source
            self._process(sender, message)
        elif isinstance(message, Notification):
            self._receive_notification(source, message)
        else:
            self._receive_subscription(source, message, is_relayed)

    def _receive_notification(self, source: str, message: Notification) -> None:
        if source == self.new and self.awaited:
            self.waiting.append((source, message, self._now))
        else:
            super()._receive(source, self._coloured(source, message))

    def _receive_subscription(
        self, source: str, message: Subscribe | Unsubscribe, is_relayed: bool
    ) -> None:
        is_off_ring = source not in (self.left, self.right) and not is_relayed
        if self.locked and is_off_ring and self._has(Correction.HOLD_SUBSCRIPTIONS):
            self.held.append((source, message))
        elif source == self.new and self.relay and not is_relayed:
            self.waiting_subscriptions.append((source, message))
        elif source == self.old and self.relaying and not is_relayed:
            relayed = msgspec.structs.replace(message, relayed=True, gray=True)
            self._send_to(self.relay, relayed)
        elif is_relayed:
            self._process(self.new, msgspec.structs.replace(message, relayed=False))
        else:
            super()._receive(source, self._coloured(source, message))

    def _coloured(self, source: str, message: Any) -> Any:
        """With the colour of this broker, where it enters the ring."""
        if source not in (self.left, self.right) and self.is_gray:
            return msgspec.structs.replace(message, gray=True)
        return message

    # Algorithm 8: sending

    def _send(self, destination: str, message: Any) -> None:
        if not destination:  # a pointer that was cleared: nobody is meant
            return
        if isinstance(message, Routed):
            if destination == (self.old if message.gray else self.new):
                return
            if destination not in (self.left, self.right, self.new, self.old):
                message = msgspec.structs.replace(message, gray=False)
        super()._send(destination, message)

    def _send_to(self, destination: str, message: Any) -> None:
        """Send something past the links; to itself it comes at once."""
        if destination == self.id:
            self._receive(self.id, message)
        elif destination:
            self._send_past(destination, message)
