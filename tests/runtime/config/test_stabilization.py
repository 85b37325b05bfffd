"""Periods that go together, and those that follow from a stated time."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from sapwood.analysis.stabilization import bounds
from sapwood.errors import ConfigurationError
from sapwood.protocol.ports import Remember
from sapwood.protocol.stabilize.periods import network_allowed
from sapwood.protocol.stabilize.timing import DELAY_SECONDS_MIN
from sapwood.runtime.config.configuration import describe, load
from sapwood.runtime.config.node import node_config
from sapwood.runtime.config.settings import Settings
from sapwood.runtime.config.stabilization import KEYS, periods_set, with_periods, wrong_periods


def made(**sections: dict[str, Any]) -> Settings:
    return msgspec.convert({"id": "B1", **sections}, Settings)


@pytest.mark.parametrize(
    ("sections", "key", "said"),
    [
        (
            {"tree": {"beacon_seconds": 31}},
            "tree.beacon_seconds",
            "is 31 s; wanted beacon period ≤ refresh period = 30 s",
        ),
        (
            {"stabilization": {"delay_max": 2}},
            "tree.beacon_seconds",
            "is 3 s; wanted beacon period ≥ 2 · delay_max = 2 · 2 s = 4 s",
        ),
        (
            {"stabilization": {"refresh_seconds": 0.5}, "tree": {"beacon_seconds": 0.2}},
            "stabilization.refresh_seconds",
            "is 0.5 s; wanted refresh period ≥ max(1 s, 4 · delay) = max(1 s, 4 · 0 s) = 1 s",
        ),
        (
            {"client": {"refresh_seconds": 0.5}},
            "client.refresh_seconds",
            "is 0.5 s; wanted client refresh period ≥ max(1 s, 4 · delay) = "
            "max(1 s, 4 · 0 s) = 1 s",
        ),
        (
            {"stabilization": {"seconds": 10}},
            "stabilization.seconds",
            "is 10 s; wanted S ≥ Δs + Δt + Δr + α = 6.05 + 31.233 + 8 + 1 = 46.284 s, with the "
            "shortest refresh period, max(1 s, 4 · delay, beacons) = 1 s; or smaller delays, or a "
            "tree of less height",
        ),
        (
            {"stabilization": {"seconds": 10, "delay_max": 0.05}},
            "stabilization.seconds",
            "is 10 s; wanted S ≥ Δs + Δt + Δr + α = 6.05 + 31.233 + 8 + 1 = 46.284 s, with the "
            "shortest refresh period, max(1 s, 4 · delay, beacons) = 1 s; or smaller delays, or a "
            "tree of less height",
        ),
        (
            {"stabilization": {"seconds": 1000, "delay_max": 0.05, "refresh": "off"}},
            "stabilization.refresh",
            "is off: nothing heals in any time; switch it on",
        ),
        (
            {"stabilization": {"seconds": 1000, "delay_max": 0.05}, "tree": {"protocol": "off"}},
            "tree.protocol",
            "is off: nothing heals in any time; switch it on",
        ),
    ],
)
def test_what_does_not_go_together_is_said_with_its_key(
    sections: dict[str, Any], key: str, said: str
) -> None:
    settings = made(**sections)
    assert [*wrong_periods(settings)] == [(key, said)]
    with pytest.raises(ConfigurationError) as raised:
        load(None, {"id": "B1", **flat(sections)}, {})
    assert raised.value.problem == said


def flat(sections: dict[str, Any]) -> dict[str, Any]:
    """As options of a command."""
    return {
        f"{name}.{key}": value for name, keys in sections.items() for key, value in keys.items()
    }


@pytest.mark.parametrize(
    "sections",
    [
        {},
        {"stabilization": {"refresh": "off", "refresh_seconds": 0.5}, "tree": {"protocol": "off"}},
        {"stabilization": {"delay_max": 1.5}},
        {"stabilization": {"seconds": 47, "delay_max": 0.05}, "tree": {"beacon_seconds": 999}},
    ],
)
def test_what_goes_together_is_accepted(sections: dict[str, Any]) -> None:
    assert [*wrong_periods(made(**sections))] == []


def test_every_setting_that_a_formula_may_blame_has_a_key() -> None:
    known = {one.key for one in describe(Settings(id="B1"))}
    assert [key for key in KEYS.values() if key not in known] == []


def test_a_stated_time_is_kept_by_the_worst_network_that_is_allowed() -> None:
    stated = made(stabilization={"seconds": 120, "delay_max": 0.05}, tree={"depth_max": 10})
    settings = with_periods(stated)
    network = network_allowed(settings.stabilization, settings.tree)
    assert bounds(network, periods_set(settings)).total_derived == pytest.approx(120)
    assert settings.stabilization.refresh_seconds == settings.stabilization.audit_seconds
    assert settings.client.refresh_seconds == settings.stabilization.refresh_seconds
    assert settings.tree.beacon_seconds == 3.0
    assert with_periods(settings) == settings


def test_a_broker_starts_with_the_periods_that_follow() -> None:
    stated = made(stabilization={"seconds": 120, "delay_max": 0.05})
    options = {"id": "B1", "stabilization.seconds": 120, "stabilization.delay_max": 0.05}
    assert load(None, options, {}) == with_periods(stated) != stated
    config = node_config(stated, 1, Remember(()), was_part=False)
    assert config.stabilization == with_periods(stated).stabilization
    assert config.client.refresh_seconds == config.stabilization.refresh_seconds


def test_without_delays_the_quickest_links_are_assumed() -> None:
    measured = with_periods(made(stabilization={"seconds": 120}))
    known = with_periods(made(stabilization={"seconds": 120, "delay_max": DELAY_SECONDS_MIN}))
    assert periods_set(measured) == periods_set(known)
    assert measured.stabilization.delay_max == 0.0, "it is still measured"


def test_without_a_stated_time_nothing_follows() -> None:
    settings = made(stabilization={"refresh_seconds": 12})
    assert with_periods(settings) is settings
