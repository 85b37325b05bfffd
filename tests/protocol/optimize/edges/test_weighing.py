"""When a switch is worth it, and how long an edge stays as it is."""

from __future__ import annotations

import math

import pytest

from sapwood.protocol.optimize.edges.settings import EdgeRoutingSettings
from sapwood.protocol.optimize.edges.weighing import (
    Counted,
    Hold,
    is_lasting,
    is_worth,
    measured,
    rates,
)
from sapwood.routing.algorithms import FLOODING

SETTINGS = EdgeRoutingSettings(unit="messages")


def seen(flooded: int, wanted: int, said: int, seconds: float = 30.0) -> Counted:
    return Counted(
        seconds, flooded, 100 * flooded, wanted, 100 * wanted, {"identity": said, "simple": said}
    )


@pytest.mark.parametrize(
    ("counted", "is_cheaper"),
    [
        (seen(1000, 900, 300), True),
        (seen(1000, 900, 110), False),  # cheaper by less than five percent
        (seen(10, 9, 6), False),  # by chance
        (seen(1000, 500, 100), False),  # telling is cheaper
    ],
)
def test_flooding_must_be_cheaper_for_certain(counted: Counted, is_cheaper: bool) -> None:
    found = rates(counted, "messages", 60.0)
    assert is_worth(found, "identity", FLOODING, 1, SETTINGS) is is_cheaper


def test_flooding_must_have_been_cheaper_in_every_period() -> None:
    """Many wishes at once, and then none: what was told is of use from then on."""
    steady, burst = (
        [seen(10, 9, 30, 10.0)] * 3,
        [seen(10, 9, 90, 10.0), *[seen(10, 9, 0, 10.0)] * 2],
    )
    totals = [measured(parts, "messages", 60.0) for parts in (steady, burst)]
    assert totals[0] == totals[1]
    assert is_lasting(steady, "identity", "messages", 60.0)
    assert not is_lasting(burst, "identity", "messages", 60.0)
    assert not is_lasting(steady, "covering", "messages", 60.0)


def test_telling_must_pay_back_what_has_to_be_told_first() -> None:
    found = rates(seen(1000, 500, 100), "messages", 60.0)
    saved = 400 / 30
    assert is_worth(found, FLOODING, "identity", saved * 599, SETTINGS)
    assert not is_worth(found, FLOODING, "identity", saved * 601, SETTINGS)


def test_another_way_of_telling_is_compared_with_the_cost_of_the_whole_edge() -> None:
    """Five percent of what is said alone would be exceeded all the time."""
    counted = Counted(30.0, 90_000, 0, 90_000, 0, {"identity": 4000, "covering": 3000})
    found = rates(counted, "messages", 60.0)
    assert not is_worth(found, "identity", "covering", 0, SETTINGS)


def test_bytes_count_what_is_said_by_its_mean_size() -> None:
    found = rates(seen(300, 150, 30), "bytes", 50.0)
    assert found.cost(FLOODING) == pytest.approx(1000.0)
    assert found.cost("identity") == pytest.approx(500.0 + 50.0)


def test_a_switch_that_is_taken_back_soon_doubles_the_time_until_the_next() -> None:
    hold = Hold()
    lengths = []
    for at in (100.0, 140.0, 250.0, 500.0, 3000.0):
        hold.switched(at, SETTINGS)
        lengths.append(hold.seconds)
    assert lengths == [30.0, 60.0, 120.0, 240.0, 30.0]
    hold.seconds = 900.0
    hold.switched(3100.0, SETTINGS)
    assert hold.seconds == SETTINGS.hold_max_seconds
    assert not hold.is_over(3100.0 + 959.0, SETTINGS)
    assert hold.is_over(3100.0 + 960.0, SETTINGS)


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -math.inf, 1e12, -5.0])
def test_spoilt_times_hold_nothing_for_ever(wrong: float) -> None:
    assert Hold(30.0, wrong).is_over(50.0, SETTINGS)
    assert Hold(wrong, 40.0).is_over(40.0 + 1000.0, SETTINGS)


def test_what_cannot_have_been_counted_is_not_sound() -> None:
    """In the joint swarm (seed 35) a negative time was counted with, and its root was drawn."""
    assert Counted(3.0, 1, 2, 3, 4).is_sound
    for seconds in (-3.0, 0.0, float("nan"), float("inf")):
        assert not Counted(seconds, 1, 2, 3, 4).is_sound
    assert not Counted(3.0, -1, 2, 3, 4).is_sound
