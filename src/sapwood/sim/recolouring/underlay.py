"""An underlay in which any broker can reach any other, for machines that choose their own tree.

Each ordered pair of brokers has a FIFO channel. Wires between pairs can be cut and brokers lost;
what is sent to them or under way then is gone. Machines are driven by `handle(event, now)`; they
get a tick when they say something is due, and one every `tick_period` in any case, so that no time
that was spoilt can stop one for good.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any, Protocol, TypeAlias

from sapwood.sim.kernel import Kernel

Delay: TypeAlias = Callable[[str, str, Random], float]
"""The seconds that the next message from one broker to another takes."""


class OverlayMachine(Protocol):
    """What the underlay drives."""

    @property
    def next_at(self) -> float:
        """When something is due."""

    def handle(self, event: Any, now: float) -> list[Any]:
        """What the machine does about an event."""


class Words:
    """The types of a family of machines: their events, and the effect that sends a message."""

    def __init__(self, tick: Any, received: Callable[[str, Any], Any], send: type[Any]) -> None:
        self.tick = tick
        self.received = received
        self.send = send


class Underlay:
    """Machines by name, channels between all of them."""

    def __init__(
        self, words: Words, delay: Delay, random: Random, tick_period: float = 10.0
    ) -> None:
        self.kernel = Kernel()
        self.machines: dict[str, OverlayMachine] = {}
        self.sent: Counter[str] = Counter()
        """By type: the messages that were sent, wherever they went."""
        self.under_way: dict[tuple[str, str], dict[int, Any]] = {}
        """By channel, then by number: the messages that have not arrived."""
        self.lost: set[str] = set()
        self.cut: set[tuple[str, str]] = set()
        self.effects: Callable[[str, Any], None] = lambda name, effect: None
        """Gets every effect that sends nothing."""
        self.after: Callable[[str, Any], None] = lambda name, event: None
        """Is told of every event that a machine has handled."""
        self._words = words
        self._delay = delay
        self._random = random
        self._last: dict[tuple[str, str], float] = {}
        self._tick_at: dict[str, float] = {}
        self._tick_period = tick_period
        self._number = 0

    @property
    def now(self) -> float:
        """The virtual time."""
        return self.kernel.now

    @property
    def alive(self) -> list[str]:
        """The brokers that are not lost."""
        return [name for name in self.machines if name not in self.lost]

    # What is there

    def add(self, name: str, machine: OverlayMachine) -> None:
        """A machine is there from now on."""
        self.machines[name] = machine
        self._tick_at[name] = math.inf
        self.plan(name)
        self.kernel.at(self.now + self._tick_period, self._tick_anyway, name)

    def lose(self, name: str) -> None:
        """A broker is lost for good, with all that is under way from and to it."""
        self.lost.add(name)
        for channel, messages in self.under_way.items():
            if name in channel:
                messages.clear()

    def cut_wire(self, a: str, b: str) -> None:
        """Nothing passes between two brokers any more."""
        for channel in ((a, b), (b, a)):
            self.cut.add(channel)
            self.under_way.get(channel, {}).clear()

    def mend_wire(self, a: str, b: str) -> None:
        """Messages pass again."""
        self.cut -= {(a, b), (b, a)}

    # Driving

    def handle(self, name: str, event: Any) -> None:
        """Bring an event to a machine, unless it is lost, and do what it asks."""
        if name in self.lost:
            return
        for effect in self.machines[name].handle(event, self.now):
            if isinstance(effect, self._words.send):
                self.send(name, effect.destination, effect.message)
            else:
                self.effects(name, effect)
        self.plan(name)
        self.after(name, event)

    def send(self, source: str, target: str, message: Any) -> None:
        """Put a message into a channel; one to nobody, or over a cut wire, is gone."""
        self.sent[type(message).__name__] += 1
        channel = (source, target)
        if target not in self.machines or target in self.lost or channel in self.cut:
            return
        arrival = self.now + self._delay(source, target, self._random)
        arrival = max(arrival, self._last.get(channel, 0.0))
        self._last[channel] = arrival
        self._number += 1
        self.under_way.setdefault(channel, {})[self._number] = message
        self.kernel.at(arrival, self._arrive, channel, self._number)

    def _arrive(self, channel: tuple[str, str], number: int) -> None:
        """A message arrives, if it was not lost."""
        message = self.under_way[channel].pop(number, None)
        if message is not None:
            self.handle(channel[1], self._words.received(channel[0], message))

    def plan(self, name: str) -> None:
        """Schedule the next tick of a machine, unless one comes early enough anyway."""
        at = self.machines[name].next_at
        if at == math.inf:
            return
        if not self.now <= at:  # written so that what is no number is due at once
            at = self.now
        if at < self._tick_at[name]:
            self._tick_at[name] = at
            self.kernel.at(at, self._tick, name, at)

    def _tick(self, name: str, at: float) -> None:
        if self._tick_at[name] == at:
            self._tick_at[name] = math.inf
            self.handle(name, self._words.tick)

    def _tick_anyway(self, name: str) -> None:
        self.kernel.at(self.now + self._tick_period, self._tick_anyway, name)
        self.handle(name, self._words.tick)
