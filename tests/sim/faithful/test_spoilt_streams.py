"""Any value of links and streams may be spoilt: within a bound, all carries again, and is told.

One place at a time over all kinds of places, and random shares of all places at once. What every
place is compared with is in ``spoilt_streams``.
"""

from __future__ import annotations

import re

import pytest

from expecting import expect_none
from sim.faithful import spoilt_streams
from sim.faithful.spoilt_streams import MOMENTS, Spoilt

pytestmark = pytest.mark.slow

SEEDS = 60
SEEDS_LONG = 500
BLOCK = 20

KINDS_MIN = 100
"""Kinds of places there are at least: a walk that finds none would be content with anything."""


def kind_of(place: str) -> str:
    return re.sub(r"\[\d+\]", "[]", place.rsplit("/", maxsplit=1)[-1])


def one_of_each_kind(moment: str) -> list[Spoilt]:
    """For each kind of place one that holds it, and one of its values, in turn."""
    chosen: dict[str, Spoilt] = {}
    for number, (place, values) in enumerate(spoilt_streams.single_places(moment).items()):
        chosen.setdefault(f"{kind_of(place)} {place[:2]}", Spoilt(place, number % values))
    return list(chosen.values())


def problems(moment: str, chosen: list[Spoilt]) -> list[str]:
    return [
        "\n  ".join((f"{moment}: {one}", *found))
        for one in chosen
        if (found := spoilt_streams.problems_of(1, moment, [one]))
    ]


def test_there_are_places_of_every_kind() -> None:
    kinds = {kind_of(place) for place in spoilt_streams.single_places("slow")}
    assert len(kinds) > KINDS_MIN
    for part in ("Channel.", "MemorySpool.", "Peer.", "Line.", "Flow.", "Target.", "Streams."):
        assert any(kind.startswith(part) for kind in kinds), part


@pytest.mark.parametrize("moment", MOMENTS)
def test_nothing_is_wrong_or_counted_without_a_fault(moment: str) -> None:
    scene = spoilt_streams.Scene(1, moment)
    scene.prepare()
    expect_none(list(scene.judge(scene.network.kernel.now)))
    assert scene.network.faults() == {}


@pytest.mark.parametrize(
    "place",
    [
        "B1/B2/Channel.sent",
        "B1/B2/Channel.received",
        "B1/B2/Channel.acknowledged",
        "B1/B2/Channel._spent",
        "B1/B2/Channel._taken",
        "B1/B2/MemorySpool.size",
        "B1/B2/Peer.line",
        "B1/B2/Line.needed",
        "B1/s.1/Channel.received",
        "s.1/Channel.received",
        "p.1/Channel.sent",
    ],
)
def test_a_count_that_is_one_too_high(place: str) -> None:
    expect_none(problems("busy", [Spoilt(place, 2)]))


@pytest.mark.parametrize("part", range(4))
def test_one_place_of_some_kinds(part: int) -> None:
    expect_none(problems("busy", one_of_each_kind("busy")[part::16]))


@pytest.mark.parametrize("start", range(0, SEEDS, BLOCK))
def test_many_places_at_once(start: int) -> None:
    expect_none(spoilt_streams.failures(range(start, start + BLOCK)))


KEPT = (75, 115, 157, 180, 282, 312, 327, 564, 2352, 4444)
"""Seeds beyond those that have shown a mistake once."""


def test_what_has_shown_a_mistake_once() -> None:
    expect_none(spoilt_streams.failures(KEPT))


KEPT_PLACES = [
    (10243, "slow", "B2/B1/MemorySpool.given_up", 4),
    (10292, "away", "B1/B2/Peer.given_up_seen", 4),
]
"""The same as seed, moment, place and value: seeds draw others when fields are added."""


@pytest.mark.parametrize(("seed", "moment", "place", "value"), KEPT_PLACES)
def test_places_that_have_shown_a_mistake_once(
    seed: int, moment: str, place: str, value: int
) -> None:
    assert place in spoilt_streams.single_places(moment, seed)
    expect_none(spoilt_streams.problems_of(seed, moment, [Spoilt(place, value)]))


def partial_frames(seed: int) -> list[str]:
    """Lines of which the beginning of a frame has come, and nothing more."""
    scene = spoilt_streams.Scene(seed, "busy")
    scene.prepare()
    places = scene.places().items()
    return [name for name, place in places if name.endswith("Line.rest") and place.get()]


@pytest.mark.parametrize("seed", [6106, 6118, 6121])
def test_the_beginning_of_a_frame_that_is_forgotten(seed: int) -> None:
    """What follows it was read as frames that nobody knows, and counted as the one that was lost.

    A single place: `Line.rest` of a client, of seed 6111 when that was drawn first.
    """
    lines = partial_frames(seed)
    assert lines, "no frame came in parts"
    values = range(4)
    found = [
        one
        for line in lines
        for value in values
        for one in spoilt_streams.problems_of(seed, "busy", [Spoilt(line, value)])
    ]
    expect_none(found)


@pytest.mark.long
@pytest.mark.parametrize("start", range(SEEDS, SEEDS_LONG, BLOCK))
def test_many_places_at_once_often(start: int) -> None:
    expect_none(spoilt_streams.failures(range(start, start + BLOCK)))


@pytest.mark.long
@pytest.mark.parametrize("moment", MOMENTS)
def test_one_place_of_each_kind(moment: str) -> None:
    expect_none(problems(moment, one_of_each_kind(moment)))


@pytest.mark.long
@pytest.mark.parametrize("moment", MOMENTS)
def test_every_place_and_value(moment: str) -> None:
    places = spoilt_streams.single_places(moment)
    chosen = [Spoilt(place, value) for place, count in places.items() for value in range(count)]
    expect_none(problems(moment, chosen))
