"""The world of a coloured tree: built as drawn, the same for the same seed."""

from __future__ import annotations

from collections import Counter

from sapwood.sim.recolouring.settings import RecolouringSettings
from sapwood.sim.recolouring.world import ColouredWorld


def test_a_seed_gives_one_tree_within_the_degree() -> None:
    settings = RecolouringSettings(seed=4, brokers=12, degree_max=2)
    world, again = ColouredWorld(settings), ColouredWorld(settings)
    assert world.parents() == again.parents()
    assert max(Counter(world.parents().values()).values()) <= 2
    assert world.problems() == []
    assert ColouredWorld(RecolouringSettings(seed=5, brokers=12)).parents() != world.parents()


def test_clients_get_what_they_want_once_it_is_active() -> None:
    world = ColouredWorld(RecolouringSettings(brokers=5))
    world.subscribe("B2", 1)
    world.publish("B5", 1)
    world.run(35)
    world.publish("B5", 1)
    world.publish("B5", 2)
    world.run(5)
    outcome = world.judge.outcome()
    assert (outcome.published, outcome.expected, outcome.lost) == (3, 2, 1)


def test_who_unsubscribes_gets_nothing_after_the_next_recolouring() -> None:
    world = ColouredWorld(RecolouringSettings(brokers=5))
    subscription = world.subscribe("B2", 1)
    world.run(35)
    world.unsubscribe(subscription)
    world.run(60)
    world.publish("B5", 1)
    world.run(5)
    outcome = world.judge.outcome()
    assert (outcome.expected, outcome.unexpected) == (0, 0)


def test_a_second_root_and_none_at_all_are_problems() -> None:
    world = ColouredWorld(RecolouringSettings(brokers=3, root_group=2))
    world.state("B2").reigns = True
    assert world.problems() == ["B2 acts as root beside B1"]
    world.underlay.lose("B1")
    world.underlay.lose("B2")
    assert world.problems() == ["there is no root"]


def test_a_lost_broker_publishes_nothing() -> None:
    world = ColouredWorld(RecolouringSettings(brokers=3))
    world.underlay.lose("B3")
    assert world.publish("B3", 1) == 0
    assert world.judge.outcome().published == 0
