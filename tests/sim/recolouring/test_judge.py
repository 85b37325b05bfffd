"""The judge finds each kind of problem, and counts what became of notifications."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from sapwood.protocol.stabilize.published.colour_messages import ColoredNotification
from sapwood.protocol.stabilize.published.colour_parts import ColourState
from sapwood.sim.recolouring.judge import (
    NotificationJudge,
    colour_problems,
    table_problems,
    tree_problems,
)
from sapwood.sim.recolouring.placing import place

PARENTS = {"R": "", "A": "R", "B": "A"}


def right() -> dict[str, ColourState]:
    states = {name: ColourState() for name in PARENTS}
    for name, state in states.items():
        place(state, name, PARENTS)
    return states


def test_a_right_tree_has_no_problems() -> None:
    assert list(tree_problems(right(), "R")) == []
    assert list(colour_problems(right(), "R")) == []


@pytest.mark.parametrize(
    ("spoil", "problem"),
    [
        (lambda s: s["R"].parent.__setitem__(0, "A"), "current: the root R has the parent A"),
        (lambda s: s["B"].parent.__setitem__(2, "R"), "old: A has the child B, whose parent is R"),
        (lambda s: s["A"].children[0].add("X"), "current: A has the child X, which is not there"),
        (lambda s: s["A"].children[0].clear(), "current: cut off: B"),
        (lambda s: s["R"].children[0].add("B"), "current: R has the child B, whose parent is A"),
    ],
)
def test_each_problem_of_the_tree_is_found(
    spoil: Callable[[dict[str, ColourState]], None], problem: str
) -> None:
    states = right()
    spoil(states)
    assert problem in list(tree_problems(states, "R"))


def test_a_new_colour_may_be_wrong_meanwhile() -> None:
    states = right()
    states["A"].children[1].clear()
    assert list(tree_problems(states, "R")) == []


def test_a_cycle_is_found() -> None:
    states = right()
    states["B"].children[0].add("R")
    states["R"].parent[0] = "B"
    assert "current: a cycle leads to R" in list(tree_problems(states, "R"))


def test_colours_lag_by_one_at_most() -> None:
    states = right()
    states["R"].rotate(2)
    assert list(colour_problems(states, "R")) == []
    states["R"].rotate(0)
    assert list(colour_problems(states, "R")) == [
        "A has the colours 2 0 1",
        "B has the colours 2 0 1",
    ]


def test_tables_miss_or_have_too_much() -> None:
    states, wanted = right(), {"B": {"B/1": "true"}}
    for name, source in (("B", "@B"), ("A", "B"), ("R", "A")):
        states[name].tables[0][source] = {"B/1": "true"}
    assert list(table_problems(states, "R", wanted)) == []
    states["R"].tables[0]["A"] = {"x": "true"}
    assert list(table_problems(states, "R", wanted)) == [
        "R misses ['B/1'] of A",
        "R has ['x'] of A for nothing",
    ]


def note(sequence: int) -> ColoredNotification:
    return ColoredNotification(0, "P", sequence, {})


def test_notifications_are_counted_per_client() -> None:
    judge = NotificationJudge()
    for sequence, at in ((1, 1.0), (2, 2.0), (3, 3.0)):
        judge.published("P", sequence, at, ["c", "d"])
    for client, sequence in (("c", 2), ("c", 1), ("c", 1), ("d", 1), ("e", 3), ("d", 3)):
        judge.delivered(client, note(sequence))
    judge.delivered("c", note(99))
    outcome = judge.outcome()
    assert (outcome.published, outcome.expected) == (3, 6)
    assert outcome.lost == 2
    assert outcome.duplicated == 1
    assert outcome.unexpected == 1
    assert outcome.disordered == 1
    assert judge.outcome(since=3.0).expected == 2
    assert judge.outcome(until=2.0).lost == 0


def test_the_last_wrong_one_is_named_by_its_time() -> None:
    judge = NotificationJudge()
    judge.published("P", 1, 1.0, ["c"])
    judge.published("P", 2, 2.0, ["c"])
    judge.delivered("c", note(2))
    assert judge.last_wrong() == 1.0
    assert judge.last_wrong(since=1.5) == 1.5
    assert judge.last_wrong(until=0.5) == 0.0
