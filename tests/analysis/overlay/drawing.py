"""Situations and trees to judge, drawn by seed."""

from __future__ import annotations

from random import Random

import numpy as np

from sapwood.analysis.delivery import Delivery
from sapwood.analysis.delivery.cost import Prices
from sapwood.analysis.overlay import Situation, Tree, situation


def drawn(count: int, seed: int, kinds: int = 6) -> tuple[Situation, list[Delivery]]:
    """Brokers on a plane, and notifications that concern some of them."""
    random = Random(seed)
    names = tuple(f"B{number}" for number in range(1, count + 1))
    places = np.array([[random.random(), random.random()] for _ in names])
    links = 10 * np.sqrt(((places[:, None] - places[None, :]) ** 2).sum(-1))
    prices = Prices(names, np.array([random.uniform(0, 10) for _ in names]), links)
    deliveries = [
        Delivery(
            tuple(random.sample(names, random.randint(2, min(5, count)))), random.uniform(1, 9)
        )
        for _ in range(kinds)
    ]
    return situation(prices, deliveries), deliveries


def random_tree(count: int, random: Random) -> Tree:
    """Each broker is linked to one of those before it."""
    return tuple((random.randrange(place), place) for place in range(1, count))
