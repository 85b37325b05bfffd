"""Servers are tried in turn, with pauses that grow."""

from __future__ import annotations

from math import nan
from random import Random
from typing import Any

import pytest

from sapwood.protocol.client.search import (
    ADDRESS_CHARS_MAX,
    RETRY_SECONDS_FIRST,
    RETRY_SECONDS_MAX,
    RETRY_SECONDS_MAX_KEPT,
    SUCCESSORS_MAX,
    Search,
)
from sapwood.protocol.ports import Dial


def tried(search: Search) -> list[str]:
    """The servers of one round."""
    search.begin_round()
    found = []
    while (dial := search.next()) is not None:
        assert dial == Dial(search.dial, search.address)
        found.append(dial.address)
    return found


def test_a_round_begins_with_the_server_found_last() -> None:
    search = Search(["a", "b", "c"], Random(1))
    assert tried(search) == ["a", "b", "c"]
    search.begin_round()
    search.next()
    search.next()
    search.found()
    assert tried(search) == ["b", "c", "a"]


def test_a_server_may_be_tried_again_at_once() -> None:
    search = Search(["a", "b"], Random(1))
    search.begin_round()
    search.next()
    search.try_again()
    assert search.next() == Dial(2, "a")
    assert search.next() == Dial(3, "b")


@pytest.mark.parametrize(
    ("may_resume", "longest"), [(False, RETRY_SECONDS_MAX), (True, RETRY_SECONDS_MAX_KEPT)]
)
def test_pauses_double_up_to_a_bound_and_are_drawn(may_resume: bool, longest: float) -> None:
    search = Search(["a"], Random(1))
    most = RETRY_SECONDS_FIRST
    for _ in range(12):
        at = search.pause(100.0, may_resume=may_resume, may_give_up=True)
        assert at is not None
        assert most / 2 <= at - 100.0 <= most
        most = min(2 * most, longest)
    search.begin_round()
    search.next()
    search.found()
    at = search.pause(100.0, may_resume=may_resume, may_give_up=True)
    assert at is not None
    assert at - 100.0 <= RETRY_SECONDS_FIRST


def test_a_search_may_end() -> None:
    search = Search(["a"], Random(1))
    search.give_up_at = 100.2
    assert search.pause(100.0, may_resume=False, may_give_up=True) is not None
    assert search.pause(100.11, may_resume=False, may_give_up=True) is None


@pytest.mark.parametrize("spoilt", [-1e12, 0.0, nan, None, "ghost"])
def test_whoever_has_found_a_broker_once_never_gives_up(spoilt: Any) -> None:
    search = Search(["a"], Random(1))
    search.give_up_at = spoilt
    assert search.pause(100.0, may_resume=False, may_give_up=False) is not None


def test_where_a_stream_goes_on_is_dialled_first() -> None:
    search = Search(["a", "b"], Random(1))
    search.begin_round()
    search.next()
    search.follow(["c", "b"])
    assert search.next() is None, "this round is over"
    assert tried(search) == ["c", "b", "a"]
    places = [search.is_at_successor]
    search.begin_round()
    search.next()
    places.append(search.is_at_successor)
    assert places == [False, True]
    search.settle()
    assert tried(search) == ["c", "b", "a"], "a new stream began there"
    search.settle()
    assert tried(search) == ["a", "b"]


def test_without_an_address_it_goes_on_where_it_was_asked_for() -> None:
    search = Search(["a", "b"], Random(1))
    search.begin_round()
    search.next()
    search.follow([])
    assert tried(search) == ["a", "b"]
    search.follow(["x" * (ADDRESS_CHARS_MAX + 1)])
    assert tried(search) == ["b", "a"]
    search.follow([str(number) for number in range(99)])
    assert len(tried(search)) == SUCCESSORS_MAX + 2


@pytest.mark.parametrize("spoilt", [None, "a", [1]])
def test_spoilt_successors_are_forgotten(spoilt: object) -> None:
    search = Search(["a", "b"], Random(1))
    search.follow(["c"])
    search._successors = spoilt  # type: ignore[assignment]
    search.derive(may_give_up=False)
    assert tried(search) == ["a", "b"]
    search._successors = spoilt  # type: ignore[assignment]
    search.derive(may_give_up=False)
    assert tried(search) == ["a", "b"]
