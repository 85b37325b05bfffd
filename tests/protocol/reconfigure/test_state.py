"""Who is where on a ring."""

from __future__ import annotations

import pytest

from sapwood.protocol.reconfigure.state import Ring, messages_of

PATH = ("A", "B", "C", "D")


def ring(place: int, k: int = 2) -> Ring:
    return Ring("A.1/1", PATH, k, place, 0.0)


@pytest.mark.parametrize(
    ("place", "up", "down", "new", "old"),
    [
        (0, "D", "B", "D", ""),
        (1, "A", "C", "", "C"),
        (2, "D", "B", "", "B"),
        (3, "A", "C", "A", ""),
    ],
)
def test_up_leads_to_the_new_link_and_down_to_the_old_one(
    place: int, up: str, down: str, new: str, old: str
) -> None:
    one = ring(place)
    assert (one.up, one.down, one.new, one.old) == (up, down, new, old)


def test_one_broker_may_be_top_and_bottom() -> None:
    first = Ring("A.1/1", ("A", "B", "C"), 1, 0, 0.0)
    assert (first.is_initiator, first.is_decider, first.up, first.down) == (True, True, "C", "B")
    last = Ring("A.1/1", ("A", "B", "C"), 2, 2, 0.0)
    assert (last.is_top, last.is_bottom, last.is_decider, last.up, last.down) == (
        True,
        True,
        False,
        "A",
        "B",
    )


def test_the_side_without_the_root_is_turned_round() -> None:
    for place, is_root_left, expected in ((0, True, False), (0, False, True), (3, True, True)):
        one = ring(place)
        one.is_root_left = is_root_left
        assert one.is_turned_side is expected


def test_messages_of_a_change() -> None:
    assert [messages_of(n, k) for n, k in ((3, 1), (3, 2), (4, 2), (12, 6))] == [8, 9, 12, 40]


def test_drafts_are_kept_by_neighbour() -> None:
    one = ring(1)
    one.draft("A").subscriptions.pending["x"] = None
    assert one.draft("A").subscriptions.pending == {"x": None}
    assert one.draft("C").subscriptions.pending == {}
