"""Closed forms for complete trees with clients at the leaves, hierarchical identity-based routing.

Eq. 3.12 to 3.34 of the thesis (3.5.3), with their slips mended: figures in brackets and one sign
are exchanged in print, m = 1 is allowed, and Eq. 3.27 holds for two levels already. All take the
number of live subscriptions as a number or an array. Written so that nothing cancels: the traffic
saved is the sum of what is saved below each broker, not a difference of large numbers, and the
probability that somebody subscribes is -expm1(-n).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from sapwood.analysis.traffic.arrays import Floats, Given, number_of, rates_of
from sapwood.analysis.traffic.tree import BROKERS_MAX
from sapwood.errors import ParameterError

_Chance: TypeAlias = Callable[[Floats], Floats]


@dataclass(frozen=True)
class CompleteSetting:
    """A complete tree, its classes, and rates; those of the thesis by default."""

    arity: int = 3
    """Children of each broker (m)."""
    levels: int = 5
    """With the root's (k)."""
    classes: int = 1000
    """Filters that exclude each other, all equally likely (z)."""
    publication_rate: float = 1000.0
    """Notifications per second in the whole network (omega)."""
    lifetime: float = 600.0
    """Mean seconds of a subscription (1/mu)."""
    refresh_period: float = 60.0
    """Seconds between renewals (rho); infinite without leases."""

    def __post_init__(self) -> None:
        for name in ("arity", "levels", "classes"):
            if getattr(self, name) < 1:
                raise ParameterError(f"is {getattr(self, name)}; wanted 1 or more", name)
        if (self.levels - 1) * np.log(self.arity) > np.log(BROKERS_MAX):
            raise ParameterError(
                f"is {self.levels}; with arity {self.arity} that is more than "
                f"{BROKERS_MAX:,} leaves",
                "levels",
            )
        number_of("publication_rate", self.publication_rate)
        number_of("lifetime", self.lifetime, positive=True)
        if not self.refresh_period > 0:
            raise ParameterError(
                f"is {self.refresh_period:g}; wanted seconds above 0", "refresh_period"
            )

    @property
    def leaves(self) -> int:
        """NL, Eq. 3.13."""
        return int(self.arity ** (self.levels - 1))

    @property
    def brokers(self) -> int:
        """NB, Eq. 3.12."""
        return int(sum(self.arity**level for level in range(self.levels)))

    @property
    def links(self) -> int:
        """The number of links (l), Eq. 3.14."""
        return self.brokers - 1

    @property
    def flooding(self) -> float:
        """Notifications per second over all links when they are flooded (bf), Eq. 3.20."""
        return self.publication_rate * self.links

    @property
    def leasing_limit(self) -> float:
        """What leasing tends to with ever more subscriptions: one renewal of every entry."""
        return self.classes * self.links / self.refresh_period


def live(setting: CompleteSetting, subscriptions: Given) -> Floats:
    """Live subscriptions for one class at one leaf (n), from Eq. 3.19."""
    found = rates_of("subscriptions", subscriptions, np.shape(subscriptions))
    return np.asarray(found / (setting.leaves * setting.classes))


def state(setting: CompleteSetting, subscriptions: Given, count: int) -> Floats:
    """The chance that a leaf has exactly so many subscriptions for a class, Eq. 3.15, 3.17."""
    n = live(setting, subscriptions)
    chance = np.exp(-n)
    for number in range(1, count + 1):
        chance = chance * n / number
    return chance


def entries(setting: CompleteSetting, subscriptions: Given) -> Floats:
    """Entries for neighbours in all tables (x), Eq. 3.22."""
    return setting.classes * _over_levels(setting, subscriptions, lambda n: -np.expm1(-n))


def saved(setting: CompleteSetting, subscriptions: Given) -> Floats:
    """Notifications per second less than with flooding, published at the root (bs), Eq. 3.25."""
    return setting.publication_rate * _over_levels(setting, subscriptions, lambda n: np.exp(-n))


def notifications(setting: CompleteSetting, subscriptions: Given) -> Floats:
    """Notifications per second over all links, published at the root (bn), Eq. 3.23."""
    return setting.publication_rate / setting.classes * entries(setting, subscriptions)


def leasing(setting: CompleteSetting, subscriptions: Given) -> Floats:
    """Renewals per second over all links (bl), Eq. 3.26."""
    return entries(setting, subscriptions) / setting.refresh_period


def toggles(setting: CompleteSetting, subscriptions: Given) -> Floats:
    """How often per second a leaf begins or ends to want a class (mo), Eq. 3.29, 3.30."""
    n = live(setting, subscriptions)
    return 2 * setting.leaves * setting.classes / setting.lifetime * n * np.exp(-n)


def messages_per_toggle(setting: CompleteSetting, subscriptions: Given) -> Floats:
    """How far towards the root such a change is told (o), Eq. 3.27."""
    n = live(setting, subscriptions)
    sizes = (setting.arity**level for level in range(setting.levels - 1))
    return np.asarray(sum((np.exp(-n * (size - 1)) for size in sizes), np.zeros_like(n)))


def toggling(setting: CompleteSetting, subscriptions: Given) -> Floats:
    """Subscriptions and unsubscriptions per second over all links (bo), Eq. 3.31."""
    return toggles(setting, subscriptions) * messages_per_toggle(setting, subscriptions)


def publishing(setting: CompleteSetting, subscriptions: Given) -> Floats:
    """What comes on top because publishers are at the leaves, not at the root (bp), Eq. 3.32."""
    n = live(setting, subscriptions)
    return setting.publication_rate * np.exp(-n) * messages_per_toggle(setting, subscriptions)


def control(setting: CompleteSetting, subscriptions: Given) -> Floats:
    """Changes and renewals together (bc), Eq. 3.33."""
    return toggling(setting, subscriptions) + leasing(setting, subscriptions)


def gain(
    setting: CompleteSetting, subscriptions: Given, *, publishers_at_root: bool = False
) -> Floats:
    """Messages per second less than with flooding (b), Eq. 3.34; below 0, filtering costs more.

    What is saved and what publishers at the leaves add are of one form, so their difference is
    taken level by level and not at the end.
    """
    less = 0 if publishers_at_root else 1
    kept = _over_levels(setting, subscriptions, lambda n: np.exp(-n), less)
    return setting.publication_rate * kept - control(setting, subscriptions)


def _over_levels(
    setting: CompleteSetting, subscriptions: Given, of: _Chance, less: int = 0
) -> Floats:
    """The sum over all brokers but the root, minus so many of each level, of a chance.

    Below a broker of the lowest level is one leaf, of the next m, and so on.
    """
    n = live(setting, subscriptions)
    total = np.zeros_like(n)
    for level in range(setting.levels - 1):
        size, brokers = setting.arity**level, setting.arity ** (setting.levels - 1 - level)
        total = total + (brokers - less) * of(n * size)
    return np.asarray(total)
