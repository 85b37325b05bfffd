"""From which direction a client that moved publishes: bounded, and nothing for those who did not."""

from __future__ import annotations

import pytest

from sapwood.protocol import fences as module
from sapwood.protocol.fences import Fences


def test_whoever_has_not_moved_is_never_stale() -> None:
    fences = Fences()
    assert len(fences) == 0
    assert not fences.is_stale("B2", "alice.1")


def test_only_the_new_direction_counts() -> None:
    fences = Fences()
    assert fences.move("alice.1", "B2")
    assert not fences.move("alice.1", "B2"), "that is no news"
    assert not fences.is_stale("B2", "alice.1")
    assert fences.is_stale("B3", "alice.1")
    assert fences.move("alice.1", "alice.1")
    assert fences.is_stale("B2", "alice.1")


def test_with_a_neighbour_goes_what_was_known_of_its_direction() -> None:
    fences = Fences()
    fences.move("alice.1", "B2")
    fences.move("bob.1", "B3")
    assert fences.forget_source("B2")
    assert not fences.forget_source("B2")
    assert fences.homes == {"bob.1": "B3"}


def test_there_are_only_so_many_and_the_oldest_goes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FENCES_MAX", 2)
    fences = Fences()
    for client in ("a.1", "b.1"):
        fences.move(client, "B2")
    fences.move("a.1", "B3")
    fences.move("c.1", "B2")
    assert fences.homes == {"a.1": "B3", "c.1": "B2"}
