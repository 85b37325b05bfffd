"""Beacons: what brokers tell their neighbours about the tree, and what a broker keeps of it.

The root sends a beacon every period, and everybody passes it on, over links of the tree and over
candidates alike. A beacon carries the way it came from the root, so nobody takes a broker for a
parent that hangs below it; and how long its information has been held since the root sent it, so
that what a dead root once said goes out of use. Nothing that a beacon says is believed before it
has been looked at (`Offer.is_valid`): it may be the echo of a state that never was.
"""

from __future__ import annotations

from typing import Final, NamedTuple, TypeAlias

import msgspec

from sapwood.protocol.naming import Name

BEACONS: Final = "beacons"
"""The feature of a neighbour that sends beacons."""

Rank: TypeAlias = tuple[int, str]
"""Of a broker: its priority, and its id. The least of all is the root."""

SIZE_MAX: Final = 10**6
"""Brokers below one that a beacon can tell of."""

PRIORITY_MAX: Final = 65_535
"""The largest priority there is (``TreeSettings.priority``)."""

WAITED_SECONDS_MAX: Final = 60.0
"""Longest time that a beacon may be behind other frames."""


WIRE_NAMES: Final = {
    "root": "r",
    "priority": "q",
    "age": "a",
    "path": "p",
    "parent": "u",
    "carries": "c",
    "asks": "k",
    "is_carried": "i",
    "is_kept": "e",
    "is_whole": "w",
    "full": "f",
    "size": "s",
    "delay_up": "d",
    "delay_tree": "t",
    "slowest_up": "m",
    "slowest": "n",
    "change": "x",
}
"""What the fields of a beacon are called in a frame: beacons are most of what an idle link carries,
and in full the names were half of a beacon."""


class Beacon(
    msgspec.Struct, frozen=True, tag=True, omit_defaults=True, gc=False, rename=WIRE_NAMES
):
    """What the sender knows about the root, and how it is linked. Never counted, never kept."""

    root: Name
    priority: int
    """Of the root."""
    age: float
    """Seconds since the root sent this, as far as brokers have held it."""
    path: tuple[Name, ...]
    """From the root to the sender."""
    parent: Name = ""
    """Of the sender; empty if it is the root."""
    carries: bool = False
    """Whether the link to that parent carries notifications."""
    asks: bool = False
    """To the parent: let the link carry; there is no other way out of the sender's fragment."""
    is_carried: bool = False
    """To any receiver: whether the sender lets the link between them carry."""
    is_whole: bool = False
    """Whether all links from the root to the sender carry."""
    full: bool = False
    """Whether the sender has as many children as it wants."""
    size: int = 1
    """Brokers below the sender, with itself."""
    delay_up: float = 0.0
    """Longest way from below the sender to it, in seconds."""
    delay_tree: float = 0.0
    """Longest way between any two brokers of the tree, in seconds, as the root knows it."""
    slowest_up: int = 0
    """Longest time over one link at the sender or below it, in hundredths of a second: a number is
    short on the wire. 0: as quick as any."""
    slowest: int = 0
    """The same of all links of the tree, as the root knows it."""
    is_kept: bool = False
    """To any receiver: whether the link between them is part of the tree for the sender, though it
    does not let it carry."""
    change: Name = ""
    """The change of the tree that the sender takes part in; empty if there is none."""


class Offer(NamedTuple):
    """The last beacon of a neighbour, and when it came."""

    beacon: Beacon
    at: float
    waited: float = 0.0
    """Seconds that do not count as its age: frames were coming, and the next beacon is behind them.
    """
    is_live: bool = True
    """Whether it came over the present connection."""

    @property
    def rank(self) -> Rank:
        """Of the root that is offered."""
        return self.beacon.priority, self.beacon.root

    def age(self, now: float) -> float:
        """Seconds since the root sent it."""
        return self.beacon.age + now - self.at - self.waited

    def is_valid(self, sender: str, receiver: str, now: float, age_max: float, depth: int) -> bool:
        """Whether it can be believed at all, and would lead to a root if it were."""
        beacon = self.beacon
        path = beacon.path
        return (
            beacon.age >= 0.0
            and 0 <= beacon.priority <= PRIORITY_MAX
            and self.at <= now
            and 0.0 <= self.waited <= min(now - self.at, WAITED_SECONDS_MAX)
            and self.age(now) <= age_max
            and 0 < len(path) < depth
            and path[0] == beacon.root
            and path[-1] == sender
            and receiver not in path
        )
