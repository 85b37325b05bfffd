"""What publications oblige to, batch by batch, as one pair at a time would say."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from sapwood.filters import Filter
from sapwood.pipeline.auditing import kernels, owed
from sapwood.pipeline.auditing.evidence import Evidence, _arrange
from sapwood.pipeline.auditing.owed import _by_number, _Owed, _pairs, _Sums
from sapwood.trace.judge.rules import Validity

FILTERS = ("x = 1", "x > 1", "y = 1", "true")
FILTER = [Filter(text) for text in FILTERS]


def evidence(random: Random, *, required: bool) -> Evidence:
    found = Evidence("r", 1.0, 20.0, required)
    found.filters = FILTERS
    for client in range(6):
        found.subscriptions[f"c{client}.1"] = [
            Validity(number, started, started + random.randint(0, 6), ended, (started,))
            for number in random.sample(range(4), random.randint(1, 4))
            for started, ended in [(random.randint(0, 8) / 2, random.choice([12.0, 25.0]))]
        ]
    found.advertisements = {"p0.1": [Validity(1, 0.0, 2.0, 15.0, (0.0,))]}
    found.clients = tuple(found.subscriptions)
    _arrange(found)
    return found


def publications(random: Random, count: int) -> Any:
    texts = ['{"x": 1}', '{"x": 2}', '{"x": 2, "y": 1}', "{}", None]
    return pa.RecordBatch.from_pydict(
        {
            "run": ["r"] * count,
            "publisher": [f"p{random.randrange(3)}.1" for _ in range(count)],
            "sequence": [random.randrange(1, 10**6) for _ in range(count)],
            "at": [random.randint(0, 40) / 2 for _ in range(count)],
            "attributes": [random.choice(texts) for _ in range(count)],
        }
    )


def one_by_one(found: Evidence, batch: Any) -> list[tuple[str, str, int]]:
    pairs = []
    for row in batch.to_pylist():
        if row["attributes"] is None or row["at"] + found.settle > found.end:
            continue
        event = eval(row["attributes"])
        matched = {number for number, text in enumerate(FILTERS) if Filter(text).matches(event)}
        if found.advertisements_required and not found.was_advertised(
            row["publisher"], row["at"], matched
        ):
            continue
        for client, declarations in found.subscriptions.items():
            if any(
                c.number in matched and c.obliges(row["at"], found.settle) for c in declarations
            ):
                pairs.append((client, row["publisher"], row["sequence"]))
    return sorted(pairs)


@pytest.mark.parametrize("required", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_the_pairs_are_those_of_the_definition(seed: int, required: bool) -> None:
    random = Random(seed)
    found, batch = evidence(random, required=required), publications(random, 200)
    pairs = _Owed(found, batch)
    named = [
        (found.clients[client], pairs.names[publisher], int(sequence))
        for client, publisher, sequence in zip(
            pairs.clients, pairs.publishers, pairs.sequences, strict=True
        )
    ]
    assert sorted(named) == one_by_one(found, batch)


@pytest.mark.slow
@pytest.mark.parametrize("required", [False, True])
@pytest.mark.parametrize("kept", [1, 7, 10**6])
@pytest.mark.parametrize("seed", range(3))
def test_sums_are_those_of_the_pairs(
    monkeypatch: pytest.MonkeyPatch, seed: int, kept: int, required: bool
) -> None:
    """However they come in batches, and however often sums are spread over clients."""
    monkeypatch.setattr(owed, "PAIRS_KEPT_MAX", kept)
    random = Random(seed)
    found, batch = evidence(random, required=required), publications(random, 200)
    sums = _Sums(found)
    for start in range(0, 200, 60):
        list(sums.add(batch.slice(start, 60)))
    expected: dict[tuple[str, str], list[int]] = {}
    for client, publisher, sequence in one_by_one(found, batch):
        group = expected.setdefault((client, publisher), [0, 0, 0])
        hashed = int(kernels.hash_longs(np.array([sequence]))[0])
        group[0] += 1
        group[1] ^= hashed
        group[2] += hashed >> 32
    rows = next(sums.batches()).to_pylist()
    assert len(rows) == len(expected) > 3
    for row in rows:
        assert [row["n"], row["x"], row["s"]] == expected[row["client"], row["publisher"]]


@pytest.mark.parametrize("required", [False, True])
@pytest.mark.parametrize("kept", [1, 10**6])
@pytest.mark.parametrize("seed", range(5))
def test_what_may_be_delivered_is_all_that_would_be_early(
    monkeypatch: pytest.MonkeyPatch, seed: int, kept: int, required: bool
) -> None:
    """Delivered at any time up to S after the publication: early if and only if it is listed."""
    monkeypatch.setattr(owed, "PAIRS_KEPT_MAX", kept)
    random = Random(seed)
    found, batch = evidence(random, required=required), publications(random, 200)
    sums = _Sums(found)
    listed: dict[tuple[str, str, int], list[tuple[float, float]]] = {}
    for start in range(0, 200, 60):
        for part in sums.add(batch.slice(start, 60)):
            for row in part.to_pylist():
                pair = row["client"], row["publisher"], row["n"]
                listed.setdefault(pair, []).append((row["since"], row["until"]))
    due = set(one_by_one(found, batch))
    assert not due & set(listed)
    early = 0
    for row in batch.to_pylist():
        for client, declarations in found.subscriptions.items():
            pair = client, row["publisher"], row["sequence"]
            if row["attributes"] is None or pair in due:
                continue
            event = eval(row["attributes"])
            matching = [each for each in declarations if FILTER[each.number].matches(event)]
            for later in (0.0, 0.5, 1.0):
                at = row["at"] + later
                is_early = any(each.was_in_force(at, found.settle) for each in matching)
                spans = listed.get(pair, [])
                assert is_early == any(since <= at <= until for since, until in spans)
                early += is_early
    assert early > 20


def test_publications_in_one_situation_share_a_cell() -> None:
    found = Evidence("r", 1.0, 20.0, False)
    found.filters = ("x = 1",)
    found.subscriptions = {
        "a.1": [Validity(0, 0.0, 2.0, 9.0, (0.0,))],
        "b.1": [Validity(0, 0.0, 4.0, 25.0, (0.0,))],
    }
    found.clients = tuple(found.subscriptions)
    _arrange(found)
    at = [1.5, 2.0, 3.5, 4.0, 7.5, 8.0, 12.0]  # before, a, a, both, both, b, b
    columns = {
        "run": ["r"] * 7, "publisher": ["p.1"] * 7, "sequence": list(range(1, 8)), "at": at,
        "attributes": ['{"x": 1}'] * 7,
    }  # fmt: skip
    sums = _Sums(found)
    [beside] = list(sums.add(pa.RecordBatch.from_pydict(columns)))
    assert len(sums._cells) == 5
    listed = [(row["client"], row["n"], row["since"], row["until"]) for row in beside.to_pylist()]
    assert sorted(listed) == [
        ("a.1", 1, 0.0, 10.0),
        ("a.1", 6, 0.0, 10.0),
        ("b.1", 1, 0.0, 26.0),
        ("b.1", 2, 0.0, 26.0),
        ("b.1", 3, 0.0, 26.0),
    ]
    assert {row["client"]: row["n"] for row in next(sums.batches()).to_pylist()} == {
        "a.1": 4,
        "b.1": 4,
    }


def test_nothing_owed_is_no_rows() -> None:
    found = Evidence("r", 1.0, 20.0, False)
    sums = _Sums(found)
    assert list(sums.add(publications(Random(2), 10))) == []
    assert list(sums.batches()) == []


def test_only_the_groups_asked_for_are_listed() -> None:
    random = Random(3)
    found, batch = evidence(random, required=False), publications(random, 100)
    groups = {"r": {"p1.1": ["c2.1", "nobody.1"]}}
    wanted = _by_number({"r": found}, groups)["r"]
    pairs = _pairs(found, batch, wanted).to_pylist()
    assert sorted((row["client"], row["publisher"], row["sequence"]) for row in pairs) == [
        pair for pair in one_by_one(found, batch) if pair[:2] == ("c2.1", "p1.1")
    ]
    assert pairs
    assert np.array(wanted(["p1.1"])).sum() == 1
