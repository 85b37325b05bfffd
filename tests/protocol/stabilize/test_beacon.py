"""What can be believed of a beacon, and how it looks on the wire."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.protocol.link.handshake import LINK_CODEC
from sapwood.protocol.stabilize.beacon import PRIORITY_MAX, WAITED_SECONDS_MAX, Beacon, Offer
from sapwood.wire.frames import split

NAMES = st.text("ABCDE", min_size=1, max_size=2)
NUMBERS = st.floats(allow_nan=True, allow_infinity=True)
BEACONS = st.builds(
    Beacon,
    root=NAMES,
    priority=st.integers(-(2**63), 2**63 - 1),
    age=NUMBERS,
    path=st.lists(NAMES, max_size=6).map(tuple),
    parent=st.just("") | NAMES,
    carries=st.booleans(),
    is_whole=st.booleans(),
    full=st.booleans(),
    size=st.integers(-(2**63), 2**63 - 1),
    delay_up=NUMBERS,
    delay_tree=NUMBERS,
    slowest_up=st.integers(0, 2**60),
    slowest=st.integers(0, 2**60),
)
GOOD = Beacon("A", 1000, 1.0, ("A", "S"), parent="A", carries=True)


def is_valid(beacon: Beacon, at: float = 10.0, now: float = 10.0, waited: float = 0.0) -> bool:
    return Offer(beacon, at, waited).is_valid("S", "R", now, 9.0, 4)


@given(BEACONS)
def test_a_beacon_is_the_same_after_the_wire(beacon: Beacon) -> None:
    [(_, _, body)] = split(LINK_CODEC.encode(beacon))
    again = LINK_CODEC.decode(body)
    assert isinstance(again, Beacon)
    assert repr(again) == repr(beacon)  # as text: a number may be no number


@given(BEACONS, NUMBERS, NUMBERS, NUMBERS)
def test_what_is_believed_leads_to_a_root_and_is_young(
    beacon: Beacon, at: float, now: float, waited: float
) -> None:
    offer = Offer(beacon, at, waited)
    if not offer.is_valid("S", "R", now, 9.0, 4):
        return
    assert beacon.path[0] == beacon.root
    assert beacon.path[-1] == "S"
    assert "R" not in beacon.path
    assert len(beacon.path) < 4
    assert 0 <= beacon.priority <= PRIORITY_MAX
    assert beacon.age >= 0.0
    assert 0.0 <= waited <= WAITED_SECONDS_MAX
    assert at <= now
    assert beacon.age + now - at - waited <= 9.0


def test_a_good_one_is_believed_until_it_has_aged() -> None:
    assert is_valid(GOOD)
    assert is_valid(GOOD, now=18.0)
    assert not is_valid(GOOD, now=18.1)
    assert is_valid(GOOD, now=18.5, waited=0.5)


def test_it_does_not_wait_for_ever_behind_other_frames() -> None:
    late = 10.0 + WAITED_SECONDS_MAX + 8.0
    assert is_valid(GOOD, now=late, waited=WAITED_SECONDS_MAX)
    assert not is_valid(GOOD, now=late + 1.0, waited=WAITED_SECONDS_MAX + 1.0)


@pytest.mark.parametrize(
    "change",
    [
        {"path": ()},
        {"path": ("A",)},
        {"path": ("X", "S")},
        {"path": ("A", "R", "S")},
        {"path": ("A", "B", "C", "S")},
        {"root": "S"},
        {"age": -1.0},
        {"age": math.nan},
        {"age": math.inf},
        {"age": 1e300},
        {"priority": -1},
        {"priority": PRIORITY_MAX + 1},
    ],
    ids=str,
)
def test_a_lie_is_not_believed(change: dict[str, object]) -> None:
    lie = Beacon(**{name: getattr(GOOD, name) for name in GOOD.__struct_fields__} | change)
    assert not is_valid(lie)


@pytest.mark.parametrize("at", [10.1, math.nan, math.inf])
def test_nothing_comes_from_the_future(at: float) -> None:
    assert not is_valid(GOOD, at=at)


def test_the_better_root_has_the_smaller_priority_and_then_the_smaller_id() -> None:
    ranks = [
        Offer(Beacon(root, priority, 0.0, (root,)), 0.0).rank
        for root, priority in (("B", 5), ("A", 6), ("A", 5), ("C", 4))
    ]
    assert sorted(ranks) == [(4, "C"), (5, "A"), (5, "B"), (6, "A")]
