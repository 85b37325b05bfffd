"""Turns: how much of a broker's time goes into what its clients change.

A change of a subscription costs more than a notification: tables, the matching engine, and what
every neighbour is owed. A client that changes all the time, or one wide filter over thousands of
narrow ones, must not keep a broker from everybody else. So there is a budget of *work*: a change,
each message that it causes, and each filter that has to be looked at because of it count one.

- In any `WINDOW_SECONDS` changes of all clients together get `WINDOW_WORK`, and the rest of the
  time belongs to others. Clients that wait are served in turn, one change each.
- Each client has an allowance that grows by the work it may cause a second, up to a burst. Who has
  used it up waits until there is some again; one change may overdraw it.

What waits keeps its order, and with it whatever else its client says. It is bounded in size: a
client that sends more has its session ended. When a broker leaves, all that waits is taken first.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import msgspec

from sapwood.protocol.clients import MESSAGE_SIZE, Pace
from sapwood.protocol.due import is_due, past
from sapwood.protocol.machine import Machine
from sapwood.protocol.messages import Advertise, Message, Subscribe, Unadvertise, Unsubscribe, Whole

if TYPE_CHECKING:
    from sapwood.protocol.effects import Effect

CHANGES: Final = (Subscribe, Unsubscribe, Advertise, Unadvertise, Whole)
"""Messages of a client that change what it claims."""

WINDOW_SECONDS: Final = 0.02
WINDOW_WORK: Final = 100
"""What changes of clients may take of a window: about half of it."""

DEBT_SECONDS_MAX: Final = 60.0
"""Longest time that a client waits because of one change."""


class Allowance(msgspec.Struct):
    """What a client has left, and what waits."""

    work: float
    """Less than nothing, if a change took more than there was."""
    at: float
    """When that was so."""
    waiting: list[Message] = msgspec.field(default_factory=list)
    size: int = 0
    """Of what waits."""


class Turns(Machine):
    """Says which message of a client is taken now, and keeps the others."""

    name = "turns"

    def __init__(self, core: Any) -> None:
        super().__init__(core)
        self.allowances: dict[str, Allowance] = {}
        """Of clients that have changed something lately, the one that is next first."""
        self.window_at = float("-inf")
        """When the present window began."""
        self.spent = 0
        """What was done in it."""

    @property
    def _pace(self) -> Pace | None:
        return self.core.config.pace

    def must_wait(self, client: str, message: Message, now: float) -> bool:
        """Whether it is not the turn of a message that has come; then it is kept (`keep`)."""
        allowance = self.allowances.get(client)
        if allowance is not None and allowance.waiting:
            return True
        if self._pace is None or type(message) not in CHANGES:
            return False
        return not self._has_room(now) or not self._may(client, now)

    def keep(self, client: str, message: Message, now: float) -> str:
        """Keep a message until it is its turn; why that is too much, or empty."""
        allowance, pace = self._allowance(client, now), self._pace
        if pace is not None and allowance.size > pace.waiting_max:
            return ""  # that was said
        allowance.waiting.append(message)
        allowance.size += size_of(message)
        if pace is None or allowance.size <= pace.waiting_max:
            return ""
        return (
            f"{client} changes its subscriptions faster than allowed, and "
            f"{len(allowance.waiting)} changes wait; change fewer, or wait for the answers"
        )

    def following(self, now: float) -> tuple[str, Message] | None:
        """The message whose turn it is, of those that wait; None if none is to be taken now."""
        if not self._has_room(now):
            return None
        for client, allowance in self.allowances.items():
            if allowance.waiting and self._may(client, now):
                message = allowance.waiting.pop(0)
                allowance.size -= size_of(message)
                self.allowances[client] = self.allowances.pop(client)  # the others come first
                return client, message
        return None

    def take_all(self) -> list[tuple[str, Message]]:
        """All that waits, in order; then nothing does."""
        found = [(client, one) for client, own in self.allowances.items() for one in own.waiting]
        self.allowances = {}
        return found

    def charge(self, client: str, message: Message, work: int, now: float) -> None:
        """A message was handled, and that took some work."""
        if self._pace is None or type(message) not in CHANGES:
            return
        self._has_room(now)
        self.spent += work
        self._allowance(client, now).work -= work

    def client_down(self, client: str, now: float) -> list[Effect]:
        """Nobody waits any more."""
        self.allowances.pop(client, None)
        return []

    def tick(self, now: float) -> list[Effect]:
        """Forget those that have all they can have, and wait for nothing."""
        pace = self._pace
        for client in list(self.allowances):
            allowance = self._allowance(client, now)
            if not allowance.waiting and (pace is None or allowance.work >= pace.burst):
                del self.allowances[client]
        return []

    @property
    def next_at(self) -> float | None:
        """When the first of those who wait may have its turn."""
        pace = self._pace
        ready = [
            one.at + max(0.0, -one.work) / (pace.work_per_second if pace else 1.0)
            for one in self.allowances.values()
            if one.waiting
        ]
        return max(min(ready), self.window_at + WINDOW_SECONDS) if ready else None

    def _has_room(self, now: float) -> bool:
        """Whether there is time for a change in the present window."""
        if is_due(self.window_at + WINDOW_SECONDS, now, WINDOW_SECONDS):
            self.window_at, self.spent = now, 0
        return self.spent < WINDOW_WORK

    def _may(self, client: str, now: float) -> bool:
        return self._allowance(client, now).work >= 0

    def _allowance(self, client: str, now: float) -> Allowance:
        """What a client has left now."""
        pace = self._pace
        burst = float("inf") if pace is None else pace.burst
        allowance = self.allowances.get(client)
        if allowance is None:
            allowance = self.allowances[client] = Allowance(burst, now)
        elif pace is not None:
            earned = (now - past(allowance.at, now)) * pace.work_per_second
            debt_max = DEBT_SECONDS_MAX * pace.work_per_second
            allowance.work = min(max(allowance.work, -debt_max) + earned, burst)
        allowance.at = now
        return allowance

    def report(self) -> dict[str, Any]:
        """How much waits."""
        return {"waiting": sum(len(one.waiting) for one in self.allowances.values())}

    def problems(self) -> Iterator[str]:
        """Only clients that are here wait, and as much as is said."""
        for client, allowance in self.allowances.items():
            if client not in self.core.clients:
                yield f"changes of {client} wait, which is no client"
            if allowance.size != sum(map(size_of, allowance.waiting)):
                yield f"what waits of {client} has another size than {allowance.size}"


def size_of(message: Message) -> int:
    """About what a message takes, in characters."""
    if isinstance(message, Subscribe | Advertise):
        return MESSAGE_SIZE + len(message.filter)
    if isinstance(message, Whole):
        return MESSAGE_SIZE + sum(MESSAGE_SIZE + len(text) for _, text in message.entries)
    return MESSAGE_SIZE
