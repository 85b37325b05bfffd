"""Switches under load: nothing is lost, repeated or late, and edges are valid at every instant."""

from __future__ import annotations

import pytest

from protocol.optimize.edges.exploring import EdgeExplorer, Switches
from sapwood.protocol.core import Core
from sapwood.protocol.optimize.edges.switching import Switching

ALL = frozenset({1, 2})

WANTED = {0: [("s", "x = 1")], 1: [("s", "x > 0")], 2: [("s", "x = 1")]}
SURE = {0: frozenset({1}), 1: ALL, 2: frozenset({1})}


def explored(setup: Switches, states_max: int = 10**9) -> int:
    found = EdgeExplorer(setup).explore(states_max)
    assert found.problems == []
    assert found.is_complete
    return found.states


@pytest.mark.parametrize("how", ["simple", "identity", "covering", "merging"])
def test_an_edge_floods_and_tells_again_while_others_publish(how: str) -> None:
    """The edge from a leaf, and publications on both sides of it."""
    setup = Switches(
        n=3,
        k=1,
        algorithm="identity",
        wanted=WANTED,
        scripts={0: [("pub", 0), ("pub", 1)], 2: [("pub", 2)]},
        topics=(1, 2, 1),
        sure=SURE,
        switches=(("flood", 0, 1, ""), ("tell", 1, 0, how)),
    )
    assert explored(setup) > 100


def test_wishes_that_change_meanwhile() -> None:
    """What was wanted before and after is got; what is under way when an edge floods is ignored."""
    setup = Switches(
        n=3,
        k=1,
        algorithm="identity",
        wanted=WANTED,
        scripts={
            0: [("pub", 0)],
            2: [("sub", "t", "x = 2"), ("uns", "t"), ("sub", "u", "x > 1")],
        },
        topics=(1,),
        sure=SURE,
        switches=(("flood", 0, 1, ""), ("tell", 1, 0, "covering")),
    )
    assert explored(setup) > 100


def wishes_under_way() -> Switches:
    """An edge floods, and stays so, while wishes come over it."""
    return Switches(
        n=3,
        k=1,
        algorithm="identity",
        wanted=WANTED,
        scripts={0: [("pub", 0)], 2: [("sub", "t", "x = 2"), ("sub", "u", "x = 3")]},
        topics=(1,),
        sure=SURE,
        switches=(("flood", 0, 1, ""),),
    )


def test_wishes_under_way_when_an_edge_floods_are_ignored() -> None:
    """At rest nobody holds what the other end does not owe."""
    assert explored(wishes_under_way()) > 20


def test_wishes_that_are_not_ignored_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The exploration can fail: what comes behind the switch would stay for ever."""
    monkeypatch.setattr(Core, "is_deaf_to", lambda self, source: False)
    found = EdgeExplorer(wishes_under_way()).explore()
    assert any("holds subscription" in one for one in found.problems), found.problems


def test_switches_of_all_edges_in_both_directions_meet() -> None:
    """Who floods first, and whether somebody tells again meanwhile, is as it comes."""
    setup = Switches(
        n=3,
        k=1,
        algorithm="identity",
        wanted=WANTED,
        scripts={0: [("pub", 0)]},
        topics=(1,),
        sure=SURE,
        switches=(
            ("flood", 0, 1, ""),
            ("flood", 1, 2, ""),
            ("tell", 1, 0, "identity"),
            ("tell", 2, 1, "identity"),
        ),
    )
    assert explored(setup) > 100


@pytest.mark.long
def test_switches_in_both_directions_meet_while_all_publish_and_wish() -> None:
    """The same with everything at once, towards both ends of the line."""
    setup = Switches(
        n=3,
        k=1,
        algorithm="identity",
        wanted=WANTED,
        scripts={0: [("pub", 0)], 2: [("sub", "t", "x = 2"), ("pub", 1)]},
        topics=(1, 1),
        sure=SURE,
        switches=(
            ("flood", 0, 1, ""),
            ("flood", 1, 2, ""),
            ("tell", 1, 0, "covering"),
            ("tell", 2, 1, "identity"),
            ("flood", 2, 1, ""),
        ),
    )
    assert explored(setup) > 10_000


def test_an_edge_that_filters_too_early_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The exploration can fail: without the condition an edge tells while another one floods."""
    monkeypatch.setattr(Switching, "flooding_refusal", lambda self, name: "")
    setup = Switches(n=3, k=1, algorithm="identity", wanted=WANTED, switches=(("flood", 1, 2, ""),))
    found = EdgeExplorer(setup).explore()
    assert "filters, but" in found.problems[0]
