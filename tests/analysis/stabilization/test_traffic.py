"""What self-stabilization costs on a link where nothing else happens."""

from __future__ import annotations

import msgspec
import pytest

from sapwood.analysis.stabilization import Periods, idle_traffic

WANTED = 60.0
"""Bytes per second and direction that are allowed with the defaults."""


def test_the_defaults_stay_below_what_is_allowed() -> None:
    found = idle_traffic(Periods())
    assert (found.tables, found.streams) == pytest.approx((113 / 30, 40 / 30))
    assert found.tree == pytest.approx(140 / 3)
    assert found.total == pytest.approx(51.77, abs=0.005)
    assert found.total < WANTED


def test_with_beacons_every_ten_seconds_it_is_what_the_design_says() -> None:
    assert idle_traffic(Periods(beacon_period=10.0)).total == pytest.approx(19.1)


@pytest.mark.parametrize("entries", [0, 1, 2049, 10_000, 1_000_000])
def test_one_digest_stands_for_all_entries(entries: int) -> None:
    found = idle_traffic(Periods(), entries)
    assert found.tables == pytest.approx(113 / 30)
    assert found.total < WANTED


@pytest.mark.parametrize(
    ("scheme", "entries", "expected"),
    [
        ("batch", 1000, 94_000 / 30),
        ("hop-lease", 10_000, 940_000 / 30),
        ("off", 10_000, 0.0),
    ],
)
def test_other_schemes_tell_every_entry_or_nothing(
    scheme: str, entries: int, expected: float
) -> None:
    chosen = msgspec.convert({"refresh": scheme}, Periods)
    assert idle_traffic(chosen, entries).tables == pytest.approx(expected)


def test_without_beacons_the_tree_costs_nothing() -> None:
    assert idle_traffic(Periods(tree="off")).tree == 0.0
