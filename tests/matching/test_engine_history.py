"""`CompiledIndex` through long histories: filters come and go, in ones and in hundreds."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import ExitStack
from random import Random

import pytest
from hypothesis import settings

from matching.drawing import box_filter, events
from matching.history import History
from matching.model import Pair, small_numbers
from sapwood.filters import Filter
from sapwood.matching.engine import CompiledIndex


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


@pytest.mark.slow
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
from sapwood.matching.engine import CompiledIndex
random, index, digest = Random(3), CompiledIndex(), blake2b()
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
    one: CompiledIndex[str] = CompiledIndex()
    other: CompiledIndex[str] = CompiledIndex()
    one.add("x", Filter("a = 1"), "west")
    other.add("y", Filter("a = 2"), "east")
    assert (one.match({"a": 1}), other.match({"a": 1})) == (["x"], [])
    assert (one.destinations({"a": 2}), other.destinations({"a": 2})) == ([], ["east"])
