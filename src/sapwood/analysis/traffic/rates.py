"""What clients do: where subscriptions come and go, and where notifications are published.

Subscriptions for each filter come to each broker as a Poisson process and stay for a time of any
distribution, independent of everything else. So the number of live ones is Poisson distributed with
the mean arrival rate times mean lifetime (M/G/infinity; only the mean of the lifetime matters), and
so is their number behind a link, where these means add up.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from sapwood.analysis.traffic.arrays import Floats, Given, positive_of, rates_of
from sapwood.analysis.traffic.interests import Interests, disjoint
from sapwood.analysis.traffic.tree import RootedTree
from sapwood.errors import ParameterError


@dataclass(frozen=True, eq=False)
class Rates:
    """Rates at every broker; made by ``rates``, which checks them."""

    tree: RootedTree
    arrival_rate: Floats = field(repr=False)
    """New subscriptions per second, by broker and filter (lambda)."""
    departure_rate: Floats = field(repr=False)
    """One over the mean lifetime of a subscription in seconds, by broker and filter (mu)."""
    publication_rate: Floats = field(repr=False)
    """Notifications per second, by broker and kind (omega)."""
    interests: Interests = field(repr=False)
    copies: int = 1
    """How many times all this is there, in classes that exclude each other: a thousand classes with
    the same rates are one class with a thousand copies."""

    @property
    def live(self) -> Floats:
        """The mean number of live subscriptions, by broker and filter (n)."""
        return self.arrival_rate / self.departure_rate

    @property
    def subscriptions(self) -> float:
        """The mean number of live subscriptions in the whole network (N)."""
        return float(self.live.sum()) * self.copies

    @property
    def publications(self) -> float:
        """Notifications per second in the whole network."""
        return float(self.publication_rate.sum()) * self.copies

    def scaled(self, subscriptions: float) -> Rates:
        """The same with so many live subscriptions in all, as unevenly spread as before."""
        now = self.subscriptions
        if not now:
            raise ParameterError("nobody subscribes: there is nothing to scale", "arrival_rate")
        return rates(
            self.tree,
            arrival_rate=self.arrival_rate * (subscriptions / now),
            departure_rate=self.departure_rate,
            publication_rate=self.publication_rate,
            interests=self.interests,
            copies=self.copies,
        )


def rates(
    tree: RootedTree,
    *,
    arrival_rate: Given,
    departure_rate: Given,
    publication_rate: Given,
    interests: Interests | None = None,
    copies: int = 1,
) -> Rates:
    """Rates by broker and filter, or kind. What is given once is the same everywhere.

    A rate may be one number for all, one row for all brokers, or one row for each; without
    `interests` classes exclude each other.
    """
    if interests is None:
        interests = disjoint(_columns(arrival_rate, departure_rate, publication_rate))
    if copies < 1:
        raise ParameterError(f"is {copies}; wanted 1 or more", "copies")
    brokers = len(tree.brokers)
    wanted = (brokers, interests.filters)
    return Rates(
        tree,
        rates_of("arrival_rate", arrival_rate, wanted),
        positive_of("departure_rate", departure_rate, wanted),
        rates_of("publication_rate", publication_rate, (brokers, interests.kinds)),
        interests,
        copies,
    )


def uniform_rates(
    tree: RootedTree,
    *,
    subscriptions: float,
    lifetime: float,
    publication_rate: float,
    classes: int,
    clients_at_leaves: bool = True,
    publishers_at_root: bool = False,
) -> Rates:
    """So many live subscriptions and publications per second, evenly over brokers and classes.

    With clients at the leaves this is the setting of the thesis (3.5.1), where `publishers_at_root`
    is its first, simpler case.
    """
    if classes < 1:
        raise ParameterError(f"is {classes}; wanted 1 or more", "classes")
    live = float(rates_of("subscriptions", subscriptions, ()))
    seconds = float(positive_of("lifetime", lifetime, ()))
    published = float(rates_of("publication_rate", publication_rate, ()))
    here = np.array(tree.is_leaf if clients_at_leaves else [True] * len(tree.brokers), dtype=float)
    there = np.eye(1, len(here))[0] if publishers_at_root else here
    return rates(
        tree,
        arrival_rate=(here * (live / seconds / here.sum() / classes))[:, None],
        departure_rate=1 / seconds,
        publication_rate=(there * (published / there.sum() / classes))[:, None],
        copies=classes,
    )


def _columns(*given: Given) -> int:
    """How many classes these rates are for, where nothing else says it."""
    widths = {np.shape(one)[-1] for one in given if np.ndim(one)}
    if 0 in widths:
        raise ParameterError("there is no class", "arrival_rate")
    return max(widths, default=1)
