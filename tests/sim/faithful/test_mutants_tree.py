"""Mistakes in the logic of the tree: the swarm of redundant networks, or a scene, sees each.

Each acts at a seam: a method is replaced or wrapped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import pytest

from protocol.link import test_agreeing as agreements
from protocol.stabilize import test_fragment as fragments
from protocol.stabilize import test_tree as scenes
from protocol.stabilize import test_tree_agreeing as agreeing
from sapwood.protocol.link import membership
from sapwood.protocol.stabilize.beacon import Offer
from sapwood.protocol.stabilize.fragment import Fragment, Purpose
from sapwood.protocol.stabilize.places import Place
from sapwood.protocol.stabilize.tree import Tree
from sapwood.sim.faithful import redundant


def swarm_of(*seeds: int) -> Callable[[], Iterable[str]]:
    """The problems of some seeds, one after the other."""
    return lambda: (problem for seed in seeds for problem in redundant.problems_of(seed))


def scene_of(test: Callable[[], None]) -> Callable[[], Iterable[str]]:
    """What a test says of one broker, where others make up for its mistake."""

    def check() -> Iterable[str]:
        try:
            test()
        except AssertionError as failed:
            yield f"{test.__name__}: {failed!r}"

    return check


class Mutant(NamedTuple):
    """One mistake: what is replaced, by what, and what sees it."""

    target: Any
    attribute: str
    make: Callable[[Any], Any]
    """From the original to what stands in its place."""
    check: Callable[[], Iterable[str]]


def nothing_follows(original: Any) -> Any:
    return lambda *arguments: []


def everything_shown(original: Any) -> Any:
    def has_shown(self: Fragment, purpose: Purpose, subject: Any) -> bool:
        return purpose == Purpose.HOLD

    return has_shown


def never_old(original: Any) -> Any:
    return lambda self, now: 0.0


def path_ignored(original: Any) -> Any:
    def is_valid(self: Offer, sender: str, receiver: str, *more: Any) -> bool:
        return bool(original(self, sender, "", *more))

    return is_valid


def not_sticky(original: Any) -> Any:
    """The shortest way is taken, whichever way there is."""

    def choose(self: Tree, now: float) -> None:
        original(self, now)
        good = self._valid_offers(now)
        ways = [name for name, one in good.items() if one.rank == (self.priority, self.root)]
        if self.parent and ways:
            self._adopt(min(ways, key=lambda name: len(good[name].beacon.path)), now)

    return choose


def parent_passed_over(original: Any) -> Any:
    """Nobody looks whether the parent has answered."""

    def answered(self: Fragment, purpose: int, reports: Any) -> Any:
        parent = self.asked[purpose][0].second
        return original(self, purpose, [one for one in reports if one.id != parent])

    return answered


MUTANTS = {
    "no hold at all": Mutant(Fragment, "has_shown", everything_shown, swarm_of(3)),
    "age ignored": Mutant(Offer, "age", never_old, swarm_of(10)),
    "node and broker never agree": Mutant(
        membership,
        "agree",
        nothing_follows,
        scene_of(agreements.test_a_running_broker_looks_with_every_tick),
    ),
    "everybody leads here": Mutant(
        Fragment,
        "_leads_here",
        lambda original: lambda *arguments: True,
        scene_of(fragments.test_parents_in_a_circle_lead_nowhere),
    ),
    "one end is enough": Mutant(
        Tree,
        "is_shared",
        lambda original: lambda self, name: self.carries(name),
        scene_of(agreeing.test_a_link_that_nobody_has_taken_up_is_no_way),
    ),
    "never taken back": Mutant(
        Tree,
        "_take_back",
        nothing_follows,
        scene_of(agreeing.test_a_child_that_has_changed_its_mind_is_no_child),
    ),
    "asked for in vain, and carried": Mutant(
        Tree,
        "_return",
        nothing_follows,
        scene_of(agreeing.test_a_kept_link_that_was_asked_for_in_vain_is_held_before_it_is_a_way),
    ),
    "strangers go on carrying": Mutant(
        Tree,
        "_hold_strangers",
        nothing_follows,
        scene_of(
            agreeing.test_what_does_not_hang_below_is_held_before_a_link_carries_without_a_survey
        ),
    ),
    "the parent may be in the fragment": Mutant(
        Fragment,
        "answered",
        parent_passed_over,
        scene_of(fragments.test_a_parent_within_the_fragment_is_no_way_out),
    ),
    "superfluous links kept": Mutant(
        Tree, "_go_out", nothing_follows, scene_of(scenes.test_a_superfluous_link_ends)
    ),
    "path ignored": Mutant(
        Offer, "is_valid", path_ignored, scene_of(scenes.test_a_way_through_here_is_no_way)
    ),
    "parents not sticky": Mutant(
        Tree, "_choose", not_sticky, scene_of(scenes.test_parents_are_sticky)
    ),
    "kept never released": Mutant(
        Tree,
        "_release_kept",
        nothing_follows,
        scene_of(scenes.test_who_is_here_by_another_way_is_kept_no_longer),
    ),
    "kept for ever": Mutant(
        Tree, "_give_up_kept", nothing_follows, scene_of(scenes.test_nobody_is_kept_for_ever)
    ),
    "always in place": Mutant(
        Tree,
        "place_of",
        lambda original: lambda self, name: Place.PARENT,
        scene_of(scenes.test_a_child_that_was_kept_is_in_its_place),
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("mutant", MUTANTS.values(), ids=MUTANTS)
def test_a_mistake_is_seen(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    original = getattr(mutant.target, mutant.attribute)
    monkeypatch.setattr(mutant.target, mutant.attribute, mutant.make(original))
    assert next(iter(mutant.check()), None) is not None, "nobody sees it"
