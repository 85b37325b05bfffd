"""A run is one seed's, and counts what it should."""

from __future__ import annotations

from sapwood.sim.recolouring.run import TreeWatch, run
from sapwood.sim.recolouring.settings import RecolouringSettings
from sapwood.sim.recolouring.world import ColouredWorld

QUICK = RecolouringSettings(brokers=6, publish_period=4.0, watched=1.0)


def test_one_seed_gives_one_result() -> None:
    assert run(QUICK) == run(QUICK)


def test_without_a_fault_nothing_happens() -> None:
    result = run(RecolouringSettings(brokers=6, fault="none", watched=1.0))
    assert (result.recovered_after, result.served_after, result.joins) == (0.0, 0.0, 0)
    assert (result.lost, result.duplicated, result.unexpected, result.disordered) == (0, 0, 0, 0)
    assert result.expected > 100
    assert "AskForPlace" not in result.messages
    # Two messages for each link and recolouring: one down, one back.
    assert result.messages["Recolor"] == result.messages["Acknowledge"]


def test_the_printed_form_does_not_recover_and_says_what_is_wrong() -> None:
    result = run(
        RecolouringSettings(brokers=6, variant="printed", fault="forgotten", publish_period=4.0)
    )
    assert result.recovered_after is None
    assert result.problems[0].startswith("current: cut off")
    assert result.lost > 0
    assert result.served_after > result.bound


def test_a_watch_remembers_that_the_tree_was_wrong() -> None:
    world = ColouredWorld(QUICK)
    watch = TreeWatch(world)
    world.run(40)
    changed = [watch.changed]
    world.state("B1").forget_child("B2")
    world.run(200)
    assert [*changed, watch.changed] == [False, True]
    assert watch.problems == []
    assert 40 < watch.wrong_until < 240
