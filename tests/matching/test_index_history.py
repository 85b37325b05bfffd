"""`MatchIndex` through long histories: filters come and go, in ones and in hundreds."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Hashable
from contextlib import ExitStack
from random import Random

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from matching.drawing import any_filter, box_filter, event, events, randoms
from matching.model import Pair, small_numbers
from sapwood.errors import DuplicateKeyError, SapwoodError, UnknownKeyError
from sapwood.filters import Filter
from sapwood.matching import MatchIndex

DESTINATIONS: list[Hashable] = [None, "north", "east", "south", ("west", 1), 7]


class History(RuleBasedStateMachine):
    """Everything that can be done to an index, in any order, beside a model."""

    def __init__(self) -> None:
        super().__init__()
        self.pair = Pair()
        self.next_key = 0

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
            self.pair.index.match_batch(bad)  # type: ignore[arg-type]

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


class CrowdedHistory(History):
    """The same with coarse cells and small segments: merges and rebuilds at every turn."""

    def __init__(self) -> None:
        self.patches = ExitStack()
        self.patches.enter_context(small_numbers())
        super().__init__()

    def teardown(self) -> None:
        super().teardown()
        self.patches.close()


_FEWER = settings(max_examples=settings().max_examples // 4, stateful_step_count=20)
TestHistory = History.TestCase
TestHistory.settings = _FEWER
TestCrowdedHistory = CrowdedHistory.TestCase
TestCrowdedHistory.settings = _FEWER


def test_thousands_come_and_go() -> None:
    """Past the delta of new rows, several merges, a rebuild, and compaction."""
    random = Random(5)
    pair = Pair()
    looked_at = events(random, 300)
    for key in range(3000):
        pair.add(key, box_filter(random), key % 7 or None)
        if key % 400 == 399:
            pair.check(looked_at, looked_at=4)
    assert len(pair.index._segments.sizes) > 1
    pair.check_destinations(looked_at[:6], exclude=3)
    for key in random.sample(range(3000), 2700):
        pair.remove(key)
    assert pair.index._rows.count < 2000, "the rows that were removed are gone"
    pair.check(looked_at, looked_at=20)
    pair.check_destinations(looked_at[:20])
    for key in range(5000, 5400):
        pair.add(key, box_filter(random))
    pair.index.optimize()
    pair.check(looked_at, looked_at=20)


@pytest.mark.slow
def test_order_of_keys_depends_on_the_history_alone() -> None:
    """Another hash seed changes nothing, not even the order of the keys."""
    script = """
from hashlib import blake2b
from random import Random
from matching.drawing import box_filter, events
from sapwood.matching import MatchIndex
random, index, digest = Random(3), MatchIndex(), blake2b()
for key in range(700):
    index.add(f"key {key}", box_filter(random), f"to {key % 5}")
    if key % 3 == 2:
        index.remove(f"key {key - random.randrange(3)}")
    if key % 90 == 0:
        digest.update(repr(index.match_batch(events(random, 20))).encode())
digest.update(repr(index.match_batch(events(random, 300))).encode())
digest.update(repr(index.destinations_batch(events(random, 100))).encode())
print(digest.hexdigest())
"""
    digests = {run_with_hash_seed(script, seed) for seed in ("1", "2")}
    assert len(digests) == 1


def run_with_hash_seed(script: str, seed: str) -> str:
    paths = os.pathsep.join(path for path in sys.path if path)
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=True,
        timeout=100,
    )
    return done.stdout


def test_two_indexes_do_not_meet() -> None:
    one: MatchIndex[str] = MatchIndex()
    other: MatchIndex[str] = MatchIndex()
    one.add("x", Filter("a = 1"), "west")
    other.add("y", Filter("a = 2"), "east")
    assert (one.match({"a": 1}), other.match({"a": 1})) == (["x"], [])
    assert (one.destinations({"a": 2}), other.destinations({"a": 2})) == ([], ["east"])
