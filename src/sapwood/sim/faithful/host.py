"""A simulated host: one life of a machine, with its clock and its connections."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence
from typing import TypeAlias

import msgspec

from sapwood.protocol.ports import TICK_SECONDS, DriverEvent, Machine
from sapwood.sim.faithful.transport import End

Action: TypeAlias = Callable[[float], Sequence[object]]
"""Something the process does by itself, such as a call of its application, at its own time."""


class Clock(msgspec.Struct, frozen=True):
    """How a host's clock differs from virtual time."""

    offset: float = 0.0
    """What it shows at the beginning."""
    rate: float = 1.0
    """How many seconds it shows for each second."""

    def local(self, time: float) -> float:
        """What it shows at a time."""
        return self.offset + self.rate * time

    def when(self, local: float) -> float:
        """At which time it shows something."""
        return (local - self.offset) / self.rate


class Host:
    """A machine from its start to its end. A restart makes another host of the same name."""

    def __init__(self, name: str, machine: Machine, clock: Clock, now: float) -> None:
        self.name = name
        self.machine = machine
        self.clock = clock
        self.is_up = True
        self.hangs = False
        """Whether the process stands still: it is told of nothing until it goes on."""
        self.inbox: deque[DriverEvent | Action] = deque()
        """What a process that stands still will find."""
        self.ends: dict[int, End] = {}
        """Its connections, by number."""
        self.ticked_at = -math.inf
        self.tick_at = now + TICK_SECONDS
        """When the next regular tick is due."""
        self.wake_at = math.inf
        """When the next tick is scheduled."""
        self.ticks_in_a_row = 0
        """Ticks brought one after the other at the shortest distance."""
        self.shown = -math.inf
        """What the clock showed last."""

    def __repr__(self) -> str:
        state = "hanging" if self.hangs else "up" if self.is_up else "down"
        return f"<host {self.name} {state}>"

    def read_clock(self, time: float) -> float:
        """What the clock shows at a time; it never goes back."""
        self.shown = max(self.shown, self.clock.local(time))
        return self.shown
