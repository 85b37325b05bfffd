"""Everything that can be done to an index, in any order."""

from __future__ import annotations

from collections.abc import Hashable
from random import Random
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from matching.drawing import any_filter, event, events, randoms
from matching.model import Pair
from sapwood.errors import DuplicateKeyError, SapwoodError, UnknownKeyError
from sapwood.filters import Filter
from sapwood.matching.engine import CompiledIndex

DESTINATIONS: list[Hashable] = [None, "north", "east", "south", ("west", 1), 7]


class History(RuleBasedStateMachine):
    """Everything that can be done to an index, in any order, beside a model."""

    def __init__(self) -> None:
        super().__init__()
        self.pair = Pair(self.new_index())
        self.next_key = 0

    def new_index(self) -> Any:
        return CompiledIndex()

    def add(self, random: Random, filter_: Filter) -> None:
        self.pair.add(self.next_key, filter_, random.choice(DESTINATIONS))
        self.next_key += 1

    def some_keys(self, random: Random, share: float) -> list[int]:
        keys = sorted(self.pair.model.entries)
        return random.sample(keys, round(share * len(keys)))

    @rule(random=randoms)
    def add_one(self, random: Random) -> None:
        self.add(random, any_filter(random))

    @rule(random=randoms, count=st.sampled_from([10, 40]))
    def add_many(self, random: Random, count: int) -> None:
        for _ in range(count):
            self.add(random, any_filter(random))

    @rule(random=randoms, share=st.sampled_from([0.1, 0.5, 0.9, 1.0]))
    def remove_many(self, random: Random, share: float) -> None:
        for key in self.some_keys(random, share):
            self.pair.remove(key)

    @precondition(lambda self: self.pair.model.entries)
    @rule(random=randoms)
    def replace(self, random: Random) -> None:
        """A key that was removed can be added again, with another filter."""
        key = random.choice(sorted(self.pair.model.entries))
        self.pair.remove(key)
        self.pair.add(key, any_filter(random), random.choice(DESTINATIONS))

    @precondition(lambda self: self.pair.model.entries)
    @rule(random=randoms)
    def use_wrongly(self, random: Random) -> None:
        with pytest.raises(DuplicateKeyError):
            self.pair.index.add(random.choice(sorted(self.pair.model.entries)), any_filter(random))
        with pytest.raises(UnknownKeyError):
            self.pair.index.remove(self.next_key)
        bad = [*events(random, random.choice([0, 3, 70])), {**event(random), "a": None}]
        with pytest.raises(SapwoodError):
            self.pair.index.match_batch(bad)

    @rule(random=randoms)
    def match(self, random: Random) -> None:
        one = event(random)
        assert sorted(self.pair.index.match(one)) == sorted(self.pair.model.match(one))

    @rule(random=randoms, size=st.sampled_from([1, 5, 64, 65, 200]))
    def match_batch(self, random: Random, size: int) -> None:
        self.pair.check(events(random, size), looked_at=10)

    @rule(random=randoms, exclude=st.sampled_from([*DESTINATIONS, "nowhere"]))
    def destinations(self, random: Random, exclude: Hashable) -> None:
        self.pair.check_destinations(events(random, 4), exclude)

    @rule()
    def optimize(self) -> None:
        self.pair.index.optimize()

    @invariant()
    def knows_its_keys(self) -> None:
        assert len(self.pair.index) == len(self.pair.model.entries)
        assert self.next_key not in self.pair.index

    def teardown(self) -> None:
        self.pair.check(events(Random(1), 10))
