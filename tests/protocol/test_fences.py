"""From which direction a client that moved publishes: bounded, and nothing for all others."""

from __future__ import annotations

import pytest

from sapwood.protocol import fences as module
from sapwood.protocol.fences import ANYWHERE, Fence, Fences


def test_whoever_has_not_moved_is_never_stale() -> None:
    fences = Fences()
    assert len(fences) == 0
    assert not fences.is_stale("B2", "alice.1")


def test_only_the_new_direction_counts() -> None:
    fences = Fences()
    assert fences.move("alice.1", Fence("B2", 1))
    assert not fences.move("alice.1", Fence("B3", 1)), "that is no news"
    assert not fences.is_stale("B2", "alice.1")
    assert fences.is_stale("B3", "alice.1")
    assert fences.move("alice.1", Fence("alice.1", 2))
    assert fences.is_stale("B2", "alice.1")


def test_with_a_neighbour_goes_what_was_known_of_its_direction() -> None:
    fences = Fences()
    fences.move("alice.1", Fence("B2", 1))
    fences.move("bob.1", Fence("B3", 1))
    assert fences.forget_source("B2")
    assert not fences.forget_source("B2")
    assert fences.homes == {"alice.1": Fence(ANYWHERE, 1), "bob.1": Fence("B3", 1)}
    assert not fences.is_stale("B3", "alice.1"), "it may come by any way now"
    assert fences.move("alice.1", Fence("B3", 1)), "and where it is heard of next holds"


def test_there_are_only_so_many_and_the_oldest_goes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FENCES_MAX", 2)
    fences = Fences()
    for client in ("a.1", "b.1"):
        fences.move(client, Fence("B2", 1))
    fences.move("a.1", Fence("B3", 2))
    fences.move("c.1", Fence("B2", 1))
    assert fences.homes == {"a.1": Fence("B3", 2), "c.1": Fence("B2", 1)}


def test_the_last_that_was_said_about_a_stream_holds() -> None:
    """The tree has changed: the client is where it was, and is heard by another way."""
    fences = Fences()
    assert fences.move("alice.1", Fence("B2", 1, 1))
    assert fences.move("alice.1", Fence("B3", 1, 2))
    assert not fences.move("alice.1", Fence("B2", 1, 1)), "that is older"
    assert fences.move("alice.1", Fence("B2", 2)), "and that is about a later stream"


def test_clients_with_one_home_are_in_one_place() -> None:
    fences = Fences()
    fences.move("a.1", Fence("B2", 1, home="H.1"))
    fences.move("b.1", Fence("B2", 3, home="H.1"))
    fences.move("c.1", Fence("B2", 1, home="I.1"))
    assert fences.places_from("B2") == ["H.1", "I.1"]
    assert fences.move_home("H.1", "B3", 1)
    assert not fences.move_home("H.1", "B4", 1), "that is no news"
    assert [one.source for one in fences.homes.values()] == ["B3", "B3", "B2"]
    assert fences.homes["b.1"] == Fence("B3", 3, 1, "H.1")


def test_a_client_of_whom_no_home_is_known_is_in_a_place_of_its_own() -> None:
    fences = Fences()
    fences.move("a.1", Fence("B2", 1))
    assert fences.places_from("B2") == ["a.1"]
