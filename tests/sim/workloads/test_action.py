"""Actions and the merging of streams."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from sapwood.sim.workloads.action import Action, ActionKind, merged, split

TIMES = st.lists(st.integers(0, 5), max_size=8).map(sorted)


def stream(name: str, times: list[int]) -> Iterator[Action]:
    for number, at in enumerate(times):
        yield Action(at, f"{name}{number}", "B1", ActionKind.CONNECT)


@given(st.lists(TIMES, max_size=4))
def test_merging_is_a_stable_sort(streams: list[list[int]]) -> None:
    made = [list(stream(f"{index}-", times)) for index, times in enumerate(streams)]
    everything = [action for actions in made for action in actions]
    assert list(merged(map(iter, made))) == sorted(everything, key=lambda action: action.at)


def test_merging_is_lazy() -> None:
    def endless() -> Iterator[Action]:
        for at in itertools.count():
            yield Action(at, "C", "B1", ActionKind.CONNECT)

    first = itertools.islice(merged([endless(), endless()]), 4)
    assert [action.at for action in first] == [0, 0, 1, 1]


def test_a_split_source_is_not_disturbed_by_the_rest() -> None:
    random = Random(1)
    one, other = split(random), split(random)
    drawn = [one.random() for _ in range(3)]
    again = Random(1)
    one = split(again)
    again.random()
    assert drawn == [one.random() for _ in range(3)]
    assert drawn != [other.random() for _ in range(3)]
