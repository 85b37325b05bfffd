"""Faults reach every variable and every kind of message, and nothing that is in ROM."""

from __future__ import annotations

import typing

import msgspec
import pytest

from sapwood.protocol.stabilize.published.colour_messages import Message
from sapwood.protocol.stabilize.published.colour_parts import ColourState
from sapwood.sim.recolouring.faults import bogus_message, cause, forget_child, perturb_broker
from sapwood.sim.recolouring.settings import RecolouringSettings
from sapwood.sim.recolouring.world import ColouredWorld

UNTOUCHED = {"requests"}
"""Emptied, which a running root does all the time: a bogus change is a change of the tree."""

NOT_INVENTED = {"ColoredNotification", "RequestChange", "Rejected"}
"""One that nobody published is judged by nobody; a bogus change is a change; no effect."""


def world_at_rest() -> ColouredWorld:
    world = ColouredWorld(RecolouringSettings(brokers=8, seed=2))
    world.subscribe("B3", 1)
    world.run(65)
    return world


def test_every_variable_gets_other_values() -> None:
    world = world_at_rest()
    seen: dict[str, set[str]] = {name: set() for name in ColourState.__struct_fields__}
    for _ in range(20):
        perturb_broker(world, "B2", world.random)
        for name, value in msgspec.structs.asdict(world.state("B2")).items():
            seen[name].add(repr(value))
    assert {name for name, values in seen.items() if len(values) < 2} == UNTOUCHED


def test_every_kind_of_message_is_invented() -> None:
    world = world_at_rest()
    kinds = {type(bogus_message(world, "B2", world.random)).__name__ for _ in range(500)}
    assert kinds == {kind.__name__ for kind in typing.get_args(Message)} - NOT_INVENTED


def test_the_parent_forgets_in_all_colours() -> None:
    world = world_at_rest()
    parent = world.parents()["B5"]
    forget_child(world, "B5")
    assert all("B5" not in children for children in world.state(parent).children)
    assert any("cut off" in problem for problem in world.problems())


@pytest.mark.parametrize("fault", ["perturbed", "forgotten", "lost", "root lost"])
def test_faults_do_harm(fault: str) -> None:
    world = world_at_rest()
    cause(world, fault, 1.0)
    assert world.problems()


def test_a_cut_spares_the_root() -> None:
    world = world_at_rest()
    cause(world, "cut", 1.0)
    assert len(world.underlay.cut) == 2
    assert all("B1" not in channel for channel in world.underlay.cut)


def test_messages_are_lost_doubled_and_invented() -> None:
    world = world_at_rest()
    before = world.underlay.sent.total()
    cause(world, "messages", 1.0)
    assert world.underlay.sent.total() > before
    assert world.problems() == []
