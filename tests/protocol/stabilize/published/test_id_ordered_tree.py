"""The tree that is ordered by ids (T4.14): one right tree, and every change of it is undone."""

from __future__ import annotations

from random import Random

import pytest

from sapwood.errors import ParameterError
from sapwood.protocol.stabilize.published.id_ordered_tree import (
    IdOrderedConfig,
    IdOrderedTree,
    Offer,
    OfferReceived,
    OfferTick,
    ParentWanted,
    SendOffer,
)

LINKS = [(10, 8), (10, 5), (8, 4), (8, 3), (5, 2), (5, 1), (3, 2)]
"""Figure 4.18 (a); which lines it has is partly lost: 3 is adjacent to 8 and to 2."""

RIGHT = {10: None, 8: 10, 5: 10, 4: 8, 3: 8, 2: 5, 1: 5}


class Graph:
    """Brokers that hear each other at once, in rounds of one period."""

    def __init__(self) -> None:
        names = sorted({name for link in LINKS for name in link})
        self.brokers = {
            name: IdOrderedTree(
                IdOrderedConfig(
                    id=name,
                    neighbours=tuple(
                        sorted(
                            {
                                *(b for a, b in LINKS if a == name),
                                *(a for a, b in LINKS if b == name),
                            }
                        )
                    ),
                    period=1.0,
                    brokers_max=len(names),
                )
            )
            for name in names
        }
        self.now = 0.0

    def deliver(self, source: int, effects: list[SendOffer]) -> None:
        for effect in effects:
            target = self.brokers[effect.destination]
            heard = OfferReceived(source, effect.message)
            self.deliver(effect.destination, target.handle(heard, self.now))

    def run(self, rounds: int) -> None:
        for _ in range(rounds):
            for name, broker in self.brokers.items():
                self.deliver(name, broker.handle(OfferTick(), self.now))
            self.now += 1.0

    def parents(self) -> dict[int, int | None]:
        return {name: broker.state.parent for name, broker in self.brokers.items()}


def test_t4_14_the_biggest_id_becomes_root_and_paths_are_shortest() -> None:
    graph = Graph()
    graph.run(3)
    assert graph.parents() == RIGHT


def test_t4_14_a_change_that_somebody_wanted_is_undone() -> None:
    graph = Graph()
    graph.run(3)
    graph.deliver(3, graph.brokers[3].handle(ParentWanted(2), graph.now))
    assert graph.parents() == {**RIGHT, 3: 2}
    graph.run(2)
    assert graph.parents() == RIGHT


@pytest.mark.parametrize("seed", range(50))
def test_from_any_state_there_is_one_right_tree(seed: int) -> None:
    graph, random = Graph(), Random(seed)
    for broker in graph.brokers.values():
        state = broker.state
        state.root, state.distance = random.randrange(99), random.randrange(-3, 9)
        state.parent = random.randrange(12)
        state.offer_at = random.choice([-1e9, 1e9, float("nan")])
        state.offers = {
            name: Offer(random.randrange(99), random.randrange(-3, 9)) for name in range(12)
        }
    graph.run(2 * len(graph.brokers))
    assert graph.parents() == RIGHT


def test_an_offer_of_a_stranger_or_a_wish_without_offer_changes_nothing() -> None:
    broker = Graph().brokers[3]
    assert broker.handle(OfferReceived(10, Offer(10, 0)), 0.0) == []
    assert broker.handle(ParentWanted(2), 0.0) == []
    assert broker.state.parent is None


def test_it_says_when_it_is_due() -> None:
    broker = Graph().brokers[3]
    assert broker.handle(OfferTick(), 0.0) == [
        SendOffer(2, Offer(3, 0)),
        SendOffer(8, Offer(3, 0)),
    ]
    assert broker.next_at == 1.0
    assert broker.handle(OfferTick(), 0.5) == []


def test_a_period_that_cannot_be_is_refused() -> None:
    with pytest.raises(ParameterError, match="period: is 0; wanted a finite number above 0"):
        IdOrderedConfig(id=1, neighbours=(), period=0, brokers_max=1)
