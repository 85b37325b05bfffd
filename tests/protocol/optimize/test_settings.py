"""What an operator may say about changes of the tree that nobody asks for."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from sapwood.errors import ParameterError
from sapwood.protocol.optimize.settings import OptimizationSettings, check_limits

INFINITE = float("inf")
NO_NUMBER = float("nan")
ZONES = (("east", 5.0), ("west", 7.0))

BAD: list[tuple[dict[str, Any], str]] = [
    ({"mode": "maybe"}, "mode: is 'maybe'; wanted off, observe or on"),
    *(
        ({name: value}, f"{name}: is {value}; wanted a finite number above 0")
        for name in (
            "period_seconds",
            "window_min_seconds",
            "payback_seconds",
            "probe_ttl_seconds",
            "tell_seconds",
            "changes_per_minute",
            "cost_max",
        )
        for value in (0, -1.0, NO_NUMBER, INFINITE)
    ),
    ({"window_max_seconds": 0}, "window_max_seconds: is 0; wanted a finite number above 0"),
    ({"window_max_seconds": 5}, "window_max_seconds: is 5; wanted at least window_min_seconds"),
    ({"z": -1}, "z: is -1; wanted a finite number, at least 0"),
    ({"gain_min": NO_NUMBER}, "gain_min: is nan"),
    ({"theta": 1.0}, "theta: is 1.0; wanted less than 1"),
    ({"degree_max": 1}, "degree_max: is 1; wanted a whole number, at least 2"),
    ({"per_round": 0}, "per_round: is 0; wanted a whole number, at least 1"),
    ({"probes_max": 1.5}, "probes_max: is 1.5; wanted a whole number"),
    ({"utilisation_max": 1.5}, "utilisation_max: is 1.5; wanted at most 1"),
    ({"link_costs": (("B", -1.0),)}, "link_costs: of B is -1.0; wanted a finite cost from 0"),
    ({"link_costs": (("B", NO_NUMBER),)}, "link_costs: of B is nan; wanted a finite cost"),
    ({"link_costs": (("B", 1.0), ("B", 2.0))}, "link_costs: B has several costs; wanted one"),
    ({"processing_cost": INFINITE}, "processing_cost: is inf; wanted a finite cost"),
    ({"costs": "given", "mode": "on"}, "link_costs: is empty, and costs are given"),
    ({"zone": "north"}, r"zone: is 'north', which is not among zones \(none\)"),
    ({"zones": (("east", -1.0),)}, "zones: the surcharge of east is -1.0; wanted a number"),
    ({"zones": (("east", 1.0), ("east", 2.0))}, "zones: east is named several times"),
    ({"zones": (("", 1.0),)}, "zones: one has no name"),
    (
        {"forbidden": (("zone:north", "B"),), "zones": ZONES},
        r"forbidden: names the zone 'north', which is not among zones \(east, west\)",
    ),
    ({"forbidden": (("B", "B"),)}, "forbidden: forbids a link of B to itself"),
    ({"forbidden": (("B", ""),)}, "forbidden: an end of a link has no name"),
    ({"pinned": ("",)}, "pinned: one has no name"),
]


@pytest.mark.parametrize(("values", "problem"), BAD)
def test_what_makes_no_sense_is_refused_with_the_reason(
    values: dict[str, Any], problem: str
) -> None:
    with pytest.raises(ParameterError, match=f"^{problem}"):
        OptimizationSettings(**values)


def test_what_comes_from_a_file_is_refused_as_well() -> None:
    with pytest.raises(msgspec.ValidationError, match="is inf; wanted a finite number above 0"):
        msgspec.convert({"period_seconds": INFINITE}, OptimizationSettings)


def test_a_link_across_zones_costs_the_larger_surcharge() -> None:
    settings = OptimizationSettings(zones=ZONES)
    assert settings.surcharge("east", "west") == 7.0
    assert settings.surcharge("east", "") == 5.0
    assert settings.surcharge("east", "east") == settings.surcharge("", "") == 0.0


def test_links_are_forbidden_by_broker_or_by_zone() -> None:
    settings = OptimizationSettings(
        zones=ZONES, forbidden=(("A", "B"), ("zone:east", "zone:west"), ("C", "zone:west"))
    )
    assert settings.forbids("A", "", "B", "")
    assert settings.forbids("B", "", "A", "")
    assert settings.forbids("X", "west", "Y", "east")
    assert settings.forbids("Y", "west", "C", "")
    assert not settings.forbids("X", "west", "Y", "west")
    assert not settings.forbids("A", "", "C", "")


def test_limits_that_no_tree_satisfies_are_refused() -> None:
    zones = {"A": "east", "B": "east", "C": "west"}
    check_limits(OptimizationSettings(), zones)
    check_limits(OptimizationSettings(forbidden=(("A", "C"),)), zones)
    apart = OptimizationSettings(zones=ZONES, forbidden=(("zone:east", "zone:west"),))
    with pytest.raises(ParameterError, match="C cannot be linked to the others"):
        check_limits(apart, zones)
    with pytest.raises(ParameterError, match="pinned: there is no broker 'X'"):
        check_limits(OptimizationSettings(pinned=("X",)), zones)
    pinned = OptimizationSettings(pinned=("B",), forbidden=(("A", "C"),))
    check_limits(pinned, zones, [("A", "B"), ("B", "C")])
    with pytest.raises(ParameterError, match="C cannot be linked"):
        check_limits(pinned, zones, [("A", "B")])
    with pytest.raises(ParameterError, match="A-B of a pinned broker stays, and is forbidden"):
        check_limits(
            OptimizationSettings(pinned=("B",), forbidden=(("B", "A"),)), zones, [("A", "B")]
        )
