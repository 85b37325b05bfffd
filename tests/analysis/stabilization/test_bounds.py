"""How long until a fault is healed: worked out by hand, and never shorter for longer parts."""

from __future__ import annotations

import math

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.stabilization.samples import LAN, POOR, WAN, networks, periods
from sapwood.analysis.stabilization import TERMS, Bounds, Network, Periods, bounds
from sapwood.analysis.stabilization.bounds import hop_lease, tables_formula, tables_time

DEFAULTS = Periods()
SLOW = Periods(beacon_period=10.0)
TESTS = Periods(
    refresh_period=2.0,
    client_refresh_period=2.0,
    beacon_period=1.0,
    audit_period=10.0,
    tick=0.1,
    reconnect_time=1.0,
)
SMALL = Network(brokers=8, height=3, diameter=6, delay_max=0.05)


def test_every_part_with_the_defaults_on_a_local_network() -> None:
    """A = 9 + 0.3 + 1; W = 26 · 0.05 + 0.5; V = 13 · 0.05 + 0.5 + W; H = 14 · 0.05 + 1 + W.

    Δt = A + V + 3 + 80 · 0.05 + H + 1.5; Δr = 30.5 + 16 · 0.05; Δc = 12.5 + Δt + A + 30.5 + 2.2.
    """
    expected = Bounds(
        age_max=10.3,
        lock_span=1.8,
        adoption_wait=2.95,
        hold_time=3.5,
        lock_time=4.0,
        failover=16.75,
        streams=35.05,
        tree=25.25,
        tree_dialled=45.25,
        tree_kept=35.55,
        tables=31.3,
        audit=300.0,
        total=91.6,
        total_derived=391.6,
        total_changes=80.75,
        silent_neighbour=60.55,
        silent_client=91.0,
        away=86_400.0,
    )
    found = msgspec.structs.asdict(bounds(LAN, DEFAULTS))
    assert found == pytest.approx(msgspec.structs.asdict(expected), abs=1e-9)


@pytest.mark.parametrize(
    ("network", "chosen", "expected"),
    [  # A, H, Δs, Δt, Δr, Δ, Δ + α
        (LAN, SLOW, (31.3, 3.5, 35.05, 53.25, 31.3, 119.6, 419.6)),
        (WAN, SLOW, (34.0, 21.5, 35.5, 127.5, 38.5, 201.5, 501.5)),
        (POOR, SLOW, (49.0, 121.5, 38.0, 540.0, 78.5, 656.5, 956.5)),
        (SMALL, TESTS, (3.35, 2.0, 3.05, 9.3, 2.6, 14.95, 24.95)),
        (WAN, DEFAULTS, (13.0, 21.5, 35.5, 99.5, 38.5, 173.5, 473.5)),
    ],
    ids=["LAN", "WAN", "poor links", "tests", "WAN, beacons every 3 s"],
)
def test_the_table_of_the_design_with_its_corrections(
    network: Network, chosen: Periods, expected: tuple[float, ...]
) -> None:
    found = bounds(network, chosen)
    parts = (found.age_max, found.hold_time, found.streams, found.tree, found.tables)
    assert (*parts, found.total, found.total_derived) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("network", "chosen", "printed"),
    [
        (LAN, SLOW, (31, 2, 35, 48, 31, 115, 415)),
        (WAN, SLOW, (34, 8, 36, 94, 38, 168, 468)),
        (POOR, SLOW, (49, 43, 38, 344, 78, 460, 760)),
        (SMALL, TESTS, (3, 1, 3, 6, 3, 12, 22)),
    ],
    ids=["LAN", "WAN", "poor links", "tests"],
)
def test_without_the_corrections_it_is_the_first_table(
    network: Network, chosen: Periods, printed: tuple[int, ...]
) -> None:
    """The corrections are W in H, and V in Δt; the row "tests" is one of 8 brokers, not of 40."""
    found = bounds(network, chosen)
    less = found.lock_span + found.adoption_wait
    hold = found.hold_time - found.lock_span
    first = (found.age_max, hold, found.streams, found.tree - less, found.tables)
    sums = (found.total - less, found.total_derived - less)
    assert (*first, *sums) == pytest.approx(printed, abs=0.5 + 1e-9)


def test_a_candidate_takes_over_in_the_time_that_was_computed_for_it() -> None:
    """With V it is more than the 15 s that are wanted; without it, for who has no parent, less."""
    found = bounds(LAN, DEFAULTS)
    assert found.failover == pytest.approx(16.75)
    assert found.failover - found.adoption_wait == pytest.approx(13.8)


@pytest.mark.parametrize(
    ("scheme", "advertised", "formula", "seconds"),
    [
        ("digest", False, "ρ + τ + (d + 3)δ", 30.5 + 16 * 0.5),
        ("digest", True, "ρ + τ + (2d + 3)δ", 30.5 + 29 * 0.5),
        ("batch", False, "ρ + τ + (d + 1)δ", 30.5 + 14 * 0.5),
        ("batch", True, "ρ + τ + (2d + 1)δ", 30.5 + 27 * 0.5),
        ("hop-lease", False, "2π + 2τ + (d + 1)δ", 2 * 1.01 * 31.5 + 1 + 14 * 0.5),
        ("off", False, "never", math.inf),
    ],
)
def test_tables_by_each_scheme(scheme: str, advertised: bool, formula: str, seconds: float) -> None:
    chosen = msgspec.convert({"refresh": scheme, "has_advertisements": advertised}, Periods)
    assert tables_time(WAN, chosen) == pytest.approx(seconds)
    assert tables_formula(chosen) == formula


def test_a_lease_over_one_link_outlives_the_longest_time_between_renewals() -> None:
    network = msgspec.structs.replace(WAN, delay_min=0.1)
    assert hop_lease(network, DEFAULTS) == pytest.approx(1.01 * (30 + 1 + 0.4))


def test_counted_messages_wait_but_beacons_and_checks_do_not() -> None:
    waiting = bounds(msgspec.structs.replace(LAN, wait_max=1.0), DEFAULTS)
    plain = bounds(LAN, DEFAULTS)
    assert (waiting.age_max, waiting.streams) == (plain.age_max, plain.streams)
    assert waiting.lock_span == pytest.approx(plain.lock_span + 26)
    assert waiting.adoption_wait == pytest.approx(plain.adoption_wait + 13 + 26)
    assert waiting.hold_time == pytest.approx(plain.hold_time + 14 + 26)
    assert waiting.tree == pytest.approx(plain.tree + 39 + 40)
    assert waiting.tables == pytest.approx(plain.tables + 16)
    assert waiting.lock_time == pytest.approx(4 * 12 * 1.05)


def test_clients_that_refresh_less_often_count() -> None:
    found = bounds(LAN, msgspec.structs.replace(DEFAULTS, client_refresh_period=60.0))
    assert found.tables == pytest.approx(61.3)
    assert found.streams == pytest.approx(35.05)


def test_what_is_switched_off_heals_nothing() -> None:
    tables = bounds(LAN, Periods(refresh="off"))
    assert (tables.tables, tables.total, tables.total_changes) == (math.inf,) * 3
    assert (tables.silent_neighbour, tables.silent_client) == (math.inf, math.inf)
    assert tables.tree == pytest.approx(25.25)
    tree = bounds(LAN, Periods(tree="off"))
    assert (tree.tree, tree.failover, tree.total) == (math.inf,) * 3
    assert tree.tables == pytest.approx(31.3)


def test_a_lock_time_that_is_stated_counts() -> None:
    found = bounds(LAN, Periods(lock_time=10.0))
    assert found.lock_time == 10.0
    assert found.total_changes == pytest.approx(80.75 + 18)


def test_where_a_way_is_longer_than_a_beacon_may_go_the_way_counts() -> None:
    deep = Network(brokers=400, height=63, diameter=126, delay_max=0.1)
    found = bounds(deep, DEFAULTS)
    locks_and_tree = 3 * found.lock_time + 0.5 + found.tree + found.age_max
    assert found.total_changes == pytest.approx(locks_and_tree + 30.5 + 130 * 0.1)
    flat = Network(brokers=400, height=63, diameter=63, delay_max=0.1)
    found = bounds(flat, DEFAULTS)
    locks_and_tree = 3 * found.lock_time + 0.5 + found.tree + found.age_max
    assert found.total_changes == pytest.approx(locks_and_tree + 30.5 + (64 + 4) * 0.1)


def test_every_time_is_explained() -> None:
    assert tuple(term.name for term in TERMS) == Bounds.__struct_fields__


# --- longer parts, longer times --------------------------------------------------------------

RISING = {
    Network: ("brokers", "height", "diameter", "delay_max", "wait_max", "depth_max", "ring_max"),
    Periods: (
        "refresh_period",
        "client_refresh_period",
        "beacon_period",
        "audit_period",
        "tick",
        "lock_time",
        "seek_period",
        "away_time",
        "reconnect_time",
    ),
}


def rises(before: Bounds, after: Bounds) -> list[str]:
    """The parts that became shorter."""
    slack = 1 - 1e-12
    old, new = msgspec.structs.asdict(before), msgspec.structs.asdict(after)
    return [name for name in old if not new[name] >= old[name] * slack]


@given(networks(), periods(), st.sampled_from(RISING[Network]), st.integers(1, 50))
def test_a_larger_or_slower_network_never_heals_sooner(
    network: Network, chosen: Periods, field: str, more: int
) -> None:
    after = msgspec.structs.replace(network, **{field: getattr(network, field) + more})
    assert rises(bounds(network, chosen), bounds(after, chosen)) == []


@given(networks(), periods(), st.sampled_from(RISING[Periods]), st.floats(0.01, 500.0))
def test_longer_periods_never_heal_sooner(
    network: Network, chosen: Periods, field: str, more: float
) -> None:
    if field == "lock_time":
        chosen = msgspec.structs.replace(chosen, lock_time=bounds(network, chosen).lock_time)
    after = msgspec.structs.replace(chosen, **{field: getattr(chosen, field) + more})
    assert rises(bounds(network, chosen), bounds(network, after)) == []


@given(networks(), periods())
def test_the_less_delays_differ_the_sooner(network: Network, chosen: Periods) -> None:
    even = msgspec.structs.replace(network, delay_min=network.delay_max)
    assert rises(bounds(even, chosen), bounds(network, chosen)) == []


@given(networks(), periods())
def test_the_whole_is_the_sum_of_its_parts(network: Network, chosen: Periods) -> None:
    found = bounds(network, chosen)
    assert found.total == pytest.approx(found.streams + found.tree + found.tables)
    assert found.total_derived == pytest.approx(found.total + chosen.audit_period)
