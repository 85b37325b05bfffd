"""What brokers remember of notifications and tell each other: rings, Bloom filters, sketches."""

from __future__ import annotations

import numpy as np
import pytest

from sapwood.errors import BloomFormatError
from sapwood.filters.bloom import BloomFilter
from sapwood.protocol.optimize.published.summaries import (
    BloomSummary,
    Recent,
    SketchSummary,
    Summary,
    shared,
)
from sapwood.wire.frames import encode_head, encode_notification

BLOOM = BloomSummary(12 * 512, 7)


def frames(publisher: str, numbers: range) -> bytes:
    head = encode_head(publisher, {"job": 1})
    return b"".join(encode_notification(head, number, 0.0, b"") for number in numbers)


def test_the_oldest_are_forgotten() -> None:
    recent = Recent(5)
    for first in (1, 4):
        recent.add(np.arange(first, first + 3).reshape(1, -1))
    keys = recent.keys()
    assert keys is not None
    assert sorted(keys[0].tolist()) == [2, 3, 4, 5, 6]
    recent.add(np.arange(10, 30).reshape(1, -1))
    assert sorted(recent.keys()[0].tolist()) == [25, 26, 27, 28, 29]  # type: ignore[index]
    assert (len(recent), recent.total) == (5, 26)
    assert Recent(3).keys() is None


def test_the_filter_of_many_is_that_of_one_by_one() -> None:
    keys = BLOOM.keys_of(frames("a.1", range(1, 60)))
    told = BloomFilter.from_bytes(BLOOM.encode(keys))
    expected = BloomFilter(BLOOM.bits, BLOOM.hashes)
    for number in range(1, 60):
        expected.add(f"a.1:{number}")
    assert told == expected


def test_a_filter_holds_all_that_is_shared_and_little_else() -> None:
    mine = BLOOM.keys_of(frames("a.1", range(1, 500)))
    other = BLOOM.encode(BLOOM.keys_of(frames("a.1", range(300, 800))))
    found = shared(BLOOM.members(mine, other))
    assert 200 <= found <= 210
    held = BLOOM.members(mine, other).held
    assert held[299:].all(), "never a false negative"


def test_what_three_share_is_in_the_and_of_two_filters() -> None:
    mine = BLOOM.keys_of(frames("a.1", range(1, 500)))
    first = BLOOM.encode(BLOOM.keys_of(frames("a.1", range(100, 400))))
    second = BLOOM.encode(BLOOM.keys_of(frames("a.1", range(300, 600))))
    both = BloomFilter.from_bytes(first).intersection(BloomFilter.from_bytes(second)).to_bytes()
    together = shared(BLOOM.members(mine, first), BLOOM.members(mine, second))
    assert together == shared(BLOOM.members(mine, both))
    assert 100 <= together <= 105


def test_sketches_estimate_without_bias() -> None:
    """All brokers take the same sample; what two share is as many times larger as the sample."""
    sketch = SketchSummary(64)
    found = []
    for run in range(60):
        mine = sketch.keys_of(frames(f"a.{run}", range(1, 1001)))
        other = sketch.encode(sketch.keys_of(frames(f"a.{run}", range(501, 1501))))
        found.append(shared(sketch.members(mine, other)))
    assert len(other) <= 1 + 8 * 64
    assert np.mean(found) == pytest.approx(500, abs=3 * 500 / np.sqrt(60 * 16))


def test_small_sketches_are_exact() -> None:
    sketch = SketchSummary(256)
    mine = sketch.keys_of(frames("a.1", range(1, 101)))
    first = sketch.encode(sketch.keys_of(frames("a.1", range(51, 151))))
    second = sketch.encode(sketch.keys_of(frames("a.1", range(91, 151))))
    assert shared(sketch.members(mine, first)) == 50
    assert shared(sketch.members(mine, first), sketch.members(mine, second)) == 10


@pytest.mark.parametrize("summary", [BLOOM, SketchSummary(8)])
@pytest.mark.parametrize("encoded", [b"", b"\xff", b"\x00" * 40, BloomFilter(64, 2).to_bytes()])
def test_what_is_no_summary_is_refused(summary: Summary, encoded: bytes) -> None:
    keys = summary.keys_of(frames("a.1", range(1, 3)))
    with pytest.raises(BloomFormatError):
        summary.members(keys, encoded)
