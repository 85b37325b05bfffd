"""What an edge costs as it is routed, what it would cost otherwise, and whether to switch.

Of the edge from i to j, per second: flooding costs *f*, all that i has for the side of j; telling
costs *w*, what of it somebody there wants, and *s*, what is said about wishes. A switch has to be
worth it: cheaper by a share of the present cost of the whole edge, by more than chance could make
of what was counted, and by what the switch itself costs, within the time to pay it back.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from sapwood.protocol.optimize.edges.settings import EdgeRoutingSettings
from sapwood.routing.algorithms import FLOODING


class Counted(msgspec.Struct):
    """What was counted at one end of an edge for some time."""

    seconds: float = 0.0
    flooded: int = 0
    """Notifications that flooding would send, or does."""
    flooded_bytes: int = 0
    wanted: int = 0
    """Those of them that somebody behind the edge wants."""
    wanted_bytes: int = 0
    said: dict[str, int] = {}
    """By way of telling: messages about wishes."""

    @property
    def is_sound(self) -> bool:
        """Whether this can have been counted: else a fault has spoilt it."""
        numbers = (self.flooded, self.flooded_bytes, self.wanted, self.wanted_bytes)
        is_time = type(self.seconds) in (int, float) and 0 < self.seconds < math.inf
        return is_time and all(type(one) is int and one >= 0 for one in numbers)

    def add(self, other: Counted) -> None:
        """Count what was counted in another time, too."""
        self.seconds += other.seconds
        self.flooded += other.flooded
        self.flooded_bytes += other.flooded_bytes
        self.wanted += other.wanted
        self.wanted_bytes += other.wanted_bytes
        for how, number in other.said.items():
            self.said[how] = self.said.get(how, 0) + number


class Rates(NamedTuple):
    """What an edge carries or would carry, per second, in messages or bytes."""

    seconds: float
    """Of the time in which it was counted."""
    flooded: float
    wanted: float
    said: dict[str, float]
    unit: float
    """What a message costs in the mean: its share in chance."""

    def cost(self, mode: str) -> float:
        """Of the edge in a mode."""
        return self.flooded if mode == FLOODING else self.wanted + self.said[mode]

    def differing(self, mode: str, other: str) -> float:
        """Messages per second that are there in one mode only, in the unit of costs."""
        if FLOODING not in (mode, other):
            return self.said[mode] + self.said[other]
        telling = other if mode == FLOODING else mode
        return max(self.flooded - self.wanted, 0.0) + self.said[telling]


def rates(counted: Counted, unit: str, message_bytes: float) -> Rates:
    """Rates from counts; ``message_bytes`` is the mean size of what is said about wishes."""
    seconds = counted.seconds or math.inf
    if unit == "messages":
        said = {how: number / seconds for how, number in counted.said.items()}
        return Rates(seconds, counted.flooded / seconds, counted.wanted / seconds, said, 1.0)
    said = {how: number * message_bytes / seconds for how, number in counted.said.items()}
    flooded, wanted = counted.flooded_bytes / seconds, counted.wanted_bytes / seconds
    mean = counted.flooded_bytes / counted.flooded if counted.flooded else message_bytes
    return Rates(seconds, flooded, wanted, said, max(mean, message_bytes))


def measured(parts: Sequence[Counted], unit: str, message_bytes: float) -> Rates | None:
    """What an edge carries by what was counted in some periods, if that is known."""
    if not parts:
        return None
    total = Counted()
    for part in parts:
        total.add(part)
    known = {how for how in total.said if all(how in part.said for part in parts)}
    total.said = {how: number for how, number in total.said.items() if how in known}
    return rates(total, unit, message_bytes)


def best_way(seen: Rates, telling: Sequence[str]) -> str | None:
    """The cheapest way of telling among those that may be and whose cost is known."""
    known = [how for how in telling if how in seen.said]
    return min(known, key=lambda how: seen.said[how], default=None)


def is_worth(
    seen: Rates, mode: str, other: str, entries: float, settings: EdgeRoutingSettings
) -> bool:
    """Whether to switch an edge to another mode, for which ``entries`` have to be told first."""
    old, new = seen.cost(mode), seen.cost(other)
    saved = old - new
    if saved <= settings.threshold * old or saved <= entries * seen.unit / settings.payback_seconds:
        return False
    chance = math.sqrt(seen.differing(mode, other) * seen.seconds * seen.unit)
    return saved * seen.seconds > settings.deviations * chance


def is_lasting(parts: Sequence[Counted], mode: str, unit: str, message_bytes: float) -> bool:
    """Whether flooding would have been cheaper in every period by itself.

    Many wishes at once, as when clients start, make telling dear for a moment: what has been told
    then is of use for as long as they last.
    """
    return all(
        mode in part.said and seen.cost(mode) > seen.cost(FLOODING)
        for part in parts
        for seen in (rates(part, unit, message_bytes),)
    )


class Hold(msgspec.Struct):
    """How long an edge stays as it is after a switch."""

    seconds: float = 0.0
    switched_at: float = -math.inf

    def switched(self, now: float, settings: EdgeRoutingSettings) -> None:
        """The edge was switched: soon after the last time it stays longer than then."""
        since = now - self.switched_at
        if 0 <= since <= 4 * self.seconds:
            self.seconds = min(2 * self.seconds, settings.hold_max_seconds)
        else:
            self.seconds = settings.hold_seconds
        self.switched_at = now

    def is_over(self, now: float, settings: EdgeRoutingSettings) -> bool:
        """Whether the edge may be switched again; times that cannot be are over."""
        seconds = self.seconds if 0 <= self.seconds <= settings.hold_max_seconds else 0.0
        return not 0 <= now - self.switched_at < seconds
