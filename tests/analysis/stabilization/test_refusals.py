"""What cannot work is refused, with the formula and the numbers."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given

from analysis.stabilization.samples import LAN, WAN, networks, periods
from sapwood.analysis.stabilization import Network, Periods, Refusal, check, refusals
from sapwood.analysis.stabilization.refusals import beacon_least, refresh_least, shown
from sapwood.errors import StabilizationError


def refused(network: dict[str, Any], chosen: dict[str, Any]) -> list[Refusal]:
    """What is said about the defaults on a local network with some values replaced."""
    return list(
        refusals(
            msgspec.structs.replace(LAN, **network), msgspec.structs.replace(Periods(), **chosen)
        )
    )


def test_the_defaults_are_right_on_local_and_on_wide_networks() -> None:
    assert [*refusals(LAN, Periods()), *refusals(WAN, Periods())] == []
    check(LAN, Periods())


@pytest.mark.parametrize("value", [0.0, -1.0, float("nan"), float("inf")])
@pytest.mark.parametrize(
    "period",
    ["refresh_period", "client_refresh_period", "beacon_period", "audit_period", "seek_period",
     "tick"],
)  # fmt: skip
def test_a_period_is_longer_than_nothing(period: str, value: float) -> None:
    said = [Refusal(period, f"is {shown(value)} s; a period is longer than 0 s")]
    assert refused({}, {period: value}) == said


@pytest.mark.parametrize("value", [-0.1, float("nan"), float("inf")])
@pytest.mark.parametrize("name", ["delay_max", "delay_min", "wait_max"])
def test_a_delay_is_a_number(name: str, value: float) -> None:
    assert refused({name: value}, {}) == [Refusal(name, f"is {shown(value)} s; wanted 0 s or more")]


@pytest.mark.parametrize("value", [-1.0, float("nan"), float("inf")])
@pytest.mark.parametrize("name", ["lock_time", "away_time", "reconnect_time"])
def test_a_time_is_a_number(name: str, value: float) -> None:
    assert refused({}, {name: value}) == [Refusal(name, f"is {shown(value)} s; wanted 0 s or more")]


@pytest.mark.parametrize(
    ("network", "chosen", "said"),
    [
        ({"brokers": 0}, {}, "brokers is 0; wanted 1 or more"),
        ({"height": -1}, {}, "height is -1; wanted 0 or more"),
        ({"diameter": -1}, {}, "diameter is -1; wanted 0 or more"),
        ({"depth_max": 1}, {}, "depth_max is 1; wanted 2 or more"),
        ({"ring_max": 2}, {}, "ring_max is 2; wanted 3 or more"),
        ({"brokers": 13, "height": 13}, {}, "height is 13; 13 brokers reach 12 at most"),
        ({"height": 0, "diameter": 0}, {}, "height is 0; 40 brokers reach 1 at least"),
        (
            {"brokers": 2, "height": 0, "diameter": 0},
            {},
            "height is 0; 2 brokers reach 1 at least",
        ),
        (
            {"brokers": 9, "height": 6, "diameter": 9},
            {},
            "diameter is 9; wanted height ≤ diameter ≤ min(2 · height, brokers − 1), from 6 to 8",
        ),
        (
            {"diameter": 13},
            {},
            "diameter is 13; wanted height ≤ diameter ≤ min(2 · height, brokers − 1), from 6 to 12",
        ),
        (
            {"diameter": 5},
            {},
            "diameter is 5; wanted height ≤ diameter ≤ min(2 · height, brokers − 1), from 6 to 12",
        ),
        ({"depth_max": 6}, {}, "depth_max is 6; wanted depth_max ≥ height + 1 = 6 + 1 = 7"),
        ({"delay_min": 0.06}, {}, "delay_min is 0.06 s; wanted delay_min ≤ delay_max = 0.05 s"),
        (
            {},
            {"beacon_period": 31.0},
            "beacon_period is 31 s; wanted beacon period ≤ refresh period = 30 s",
        ),
        (
            {"delay_max": 2.0},
            {},
            "beacon_period is 3 s; wanted beacon period ≥ 2 · delay_max = 2 · 2 s = 4 s",
        ),
        (
            {},
            {"refresh_period": 0.9, "beacon_period": 0.3},
            "refresh_period is 0.9 s; wanted refresh period ≥ max(1 s, 4 · delay) = "
            "max(1 s, 4 · 0.05 s) = 1 s",
        ),
        (
            {"wait_max": 7.0},
            {"client_refresh_period": 28.0},
            "client_refresh_period is 28 s; wanted client refresh period ≥ max(1 s, 4 · delay) = "
            "max(1 s, 4 · 7.05 s) = 28.2 s",
        ),
        (
            {"height": 20, "diameter": 20, "delay_max": 1.0, "delay_min": 1.0},
            {},
            "beacon_period is 3 s; wanted A > beacon period + height · delay_max, and A = "
            "3 · beacon period + height · (delay_max − delay_min) + 2 · tick = 10 s "
            "against 3 s + 20 · 1 s = 23 s",
        ),
        (
            {"height": 7, "diameter": 7, "delay_max": 1.0, "delay_min": 1.0},
            {},
            "beacon_period is 3 s; wanted A > beacon period + height · delay_max, and A = "
            "3 · beacon period + height · (delay_max − delay_min) + 2 · tick = 10 s "
            "against 3 s + 7 · 1 s = 10 s",
        ),
        (
            {"delay_max": 0.5},
            {"lock_time": 23.0},
            "lock_time is 23 s; wanted lock time ≥ max(4 s, 4 · ring_max · delay) = max(4 s, "
            "4 · 12 · 0.5 s) = 24 s",
        ),
        (
            {},
            {"tick": 2.7},
            "tick is 2.7 s; wanted (2 · ring_max + 2) · delay + tick < lock time, "
            "and 4 s is not below 4 s",
        ),
    ],
)
def test_what_is_impossible_is_said_with_formula_and_numbers(
    network: dict[str, Any], chosen: dict[str, Any], said: str
) -> None:
    found = refused(network, chosen)
    assert " ".join(found[0]) == said
    with pytest.raises(StabilizationError) as raised:
        check(msgspec.structs.replace(LAN, **network), msgspec.structs.replace(Periods(), **chosen))
    assert (str(raised.value), raised.value.parameter) == (said, found[0].parameter)


@pytest.mark.parametrize(
    ("network", "chosen"),
    [
        ({"diameter": 12}, {}),
        ({"depth_max": 7}, {}),
        ({"delay_min": 0.05}, {}),
        ({}, {"beacon_period": 30.0}),
        ({"delay_max": 1.5}, {}),
        ({}, {"refresh_period": 1.0, "beacon_period": 0.3}),
        ({"wait_max": 7.0}, {"client_refresh_period": 28.2}),
        ({"height": 6, "delay_max": 1.0, "delay_min": 1.0}, {}),
        ({"delay_max": 0.5}, {"lock_time": 24.0}),
        ({"brokers": 1, "height": 0, "diameter": 0}, {}),
        ({"height": 1, "diameter": 2, "depth_max": 2, "ring_max": 3}, {}),
    ],
)
def test_what_is_just_possible_is_not_refused(
    network: dict[str, Any], chosen: dict[str, Any]
) -> None:
    assert refused(network, chosen) == []


def test_what_is_switched_off_is_not_looked_at() -> None:
    assert refused({}, {"refresh": "off", "refresh_period": 0.5, "beacon_period": 0.3}) == []
    assert refused({"delay_max": 2.0}, {"tree": "off", "lock_time": 1.0}) == []


def test_several_problems_are_all_said() -> None:
    found = refused({"depth_max": 3}, {"beacon_period": 31.0})
    assert [one.parameter for one in found] == ["depth_max", "beacon_period"]


@given(networks(), periods())
def test_what_is_not_refused_keeps_every_rule(network: Network, chosen: Periods) -> None:
    if any(refusals(network, chosen)):
        return
    assert beacon_least(network) <= chosen.beacon_period <= chosen.refresh_period
    assert min(chosen.refresh_period, chosen.client_refresh_period) >= refresh_least(network)
    assert network.height < network.depth_max
