"""Digests tell sets of lines apart, and nothing else; buckets and parts lose nothing."""

from __future__ import annotations

from random import Random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.protocol.stabilize.digest import (
    BUCKET_ENTRIES,
    BUCKETS_MAX,
    PART_BYTES,
    bucket_of,
    buckets_for,
    digest,
    digests,
    divided,
    is_bucket,
    is_digest,
    parts,
)

WORDS = st.text(st.characters(codec="utf-8"), max_size=6)
TABLES = st.dictionaries(WORDS, WORDS, max_size=8)


@pytest.mark.slow
@given(TABLES, TABLES, st.randoms(use_true_random=False))
def test_equal_tables_and_only_these_have_equal_digests(
    one: dict[str, str], other: dict[str, str], random: Random
) -> None:
    shuffled = list(one.items())
    random.shuffle(shuffled)
    assert digest(shuffled) == digest(one.items())
    assert (digest(one.items()) == digest(other.items())) == (one == other)
    assert is_digest(digest(one.items()))


def test_no_line_can_be_mistaken_for_two() -> None:
    separators = ["\0", "\n", "\0\n", " ", "\x92\xa1b\xa1"]
    for separator in separators:
        assert digest([("a", f"x{separator}b{separator}y")]) != digest([("a", "x"), ("b", "y")])
        assert digest([(f"a{separator}", "x")]) != digest([("a", f"{separator}x")])


def test_the_digest_of_nothing_takes_no_room() -> None:
    assert digest([]) == b""
    assert len(digest([("", "")])) == 16
    assert not is_digest(b"x")


@given(TABLES, st.integers(1, 5))
def test_every_id_is_in_one_bucket(table: dict[str, str], buckets: int) -> None:
    found = divided(table, buckets)
    assert len(found) == buckets
    for number, bucket in enumerate(found):
        assert all(bucket_of(one, buckets) == number for one in bucket)
    assert {one: text for bucket in found for one, text in bucket.items()} == table


def test_a_bucket_holds_about_as_much_as_it_may() -> None:
    assert [buckets_for(n) for n in (0, 1, 2048, 2049, 10_000)] == [1, 1, 1, 2, 5]
    assert buckets_for(10**12) == BUCKETS_MAX
    ids = {f"{number:016x}": "" for number in range(10_000)}
    assert max(map(len, divided(ids, 5))) < 1.1 * BUCKET_ENTRIES
    assert digests(ids) == tuple(digest(one.items()) for one in divided(ids, 5))


def test_a_single_bucket_that_differs_needs_no_digest() -> None:
    assert digests({}) == digests({"x": "y"}) == ()


def test_buckets_that_cannot_be_are_refused() -> None:
    assert is_bucket(0, 1)
    assert is_bucket(4, 5)
    assert not any(is_bucket(*one) for one in [(1, 1), (-1, 1), (0, 0), (0, -1), (0, 2**13)])


@given(st.dictionaries(WORDS, st.sampled_from(["x", "y" * 30_000, "z" * 70_000]), max_size=9))
def test_parts_are_small_and_lose_nothing(table: dict[str, str]) -> None:
    found = parts(table.items())
    assert [line for part in found for line in part] == sorted(table.items())
    for part in found:
        assert len(msgspec.msgpack.encode(part)) <= PART_BYTES or len(part) == 1
    assert len(found) == 1 or all(found)
