"""The times of the tree protocol, from its settings and from the delays that are known.

Names as in the specification: A, how old information about the root may be; H, how long a new link
is held before it carries, longer than news take through a fragment; V, how long news of a better
root may take over the tree before a candidate is believed that brought them first; W, how long a
change of the tree may stop news.
"""

from __future__ import annotations

from typing import Final

import msgspec

from sapwood.protocol.ports import TICK_SECONDS
from sapwood.protocol.stabilize.settings import TreeSettings

DELAY_SECONDS_MIN: Final = 0.05
"""No link is taken to be quicker: a busy process needs its time, too."""

DELAY_SECONDS_MAX: Final = 60.0
"""Longest delay that is believed to be measured."""

BEACONS_MISSED: Final = 3
"""Beacons in a row that may get lost."""


class Timing(msgspec.Struct, frozen=True):
    """What follows from the settings, for one broker."""

    settings: TreeSettings
    delay: float
    """The longest time that a message takes over one link, in seconds."""
    slowest: float = 0.0
    """The same of all links of the tree, as far as is known."""

    def across(self, delay_tree: float) -> float:
        """The longest way through the tree in seconds, as far as what was said can be true."""
        longest = self.settings.depth_max * max(self.delay, self.slowest)
        return delay_tree if 0.0 <= delay_tree <= longest else longest

    @property
    def lock_seconds(self) -> float:
        """W."""
        return (2 * self.settings.ring_max + 2) * self.delay + TICK_SECONDS

    def age_max(self, delay_tree: float) -> float:
        """A."""
        beacons = BEACONS_MISSED * self.settings.beacon_seconds
        return beacons + self.across(delay_tree) + 2 * TICK_SECONDS

    def hold_seconds(self, delay_tree: float) -> float:
        """H."""
        news = self.across(delay_tree) + 2 * self.delay
        return news + 2 * TICK_SECONDS + self.lock_seconds

    def news_seconds(self, delay_tree: float) -> float:
        """V."""
        return self.across(delay_tree) + self.delay + TICK_SECONDS + self.lock_seconds
