"""The checkers agree with the definitions' own words on random traces with planted faults."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sapwood.trace.judge.checkers import check
from sapwood.trace.schema import Row, RunSettings
from tracing.making import Recorder
from tracing.oracle import Oracle
from tracing.random_traces import random_trace

seeds = st.integers(0, 2**32)


def agree(rows: list[Row], settle: float, required: bool = False) -> dict[str, int]:
    settings = {"r": RunSettings(advertisements_required=required)}
    counts = check(rows, settle, settings=settings).counts()
    assert counts == Oracle(rows, settle, required).counts()
    assert counts["delivered"] == (
        counts["expected"] - counts["lost"] + counts["early"] + counts["unexpected"]
        + counts["duplicated"]
    )  # fmt: skip
    return counts


@given(seeds)
@example(0)
def test_random_traces(seed: int) -> None:
    random = Random(seed)
    rows = random_trace(random)
    agree(rows, random.choice([0.0, 0.5, 2.0]), required=random.random() < 0.3)


@given(seeds)
def test_random_traces_with_gaps(seed: int) -> None:
    random = Random(seed)
    agree(random_trace(random, gaps=True), random.choice([0.5, 2.0]))


@given(seeds)
def test_random_traces_with_numbers_that_lie(seed: int) -> None:
    """Clients whose order was recorded wrongly: causes may go in circles, and out of turn."""
    random = Random(seed)
    rows = random_trace(random)
    clients = {row.client for row in rows if row.client_order is not None}
    for client in sorted(client for client in clients if client is not None):
        own = [index for index, row in enumerate(rows) if row.client == client and row.client_order]
        numbers = [rows[index].client_order for index in own]
        random.shuffle(numbers)
        for index, number in zip(own, numbers, strict=True):
            rows[index] = replaced(rows[index], number)
    agree(rows, 2.0)


def replaced(row: Row, number: int | None) -> Row:
    columns = {name: getattr(row, name) for name in Row.__struct_fields__}
    return Row(**{**columns, "client_order": number})


def test_random_traces_show_everything() -> None:
    """The property above means little unless every count occurs."""
    total: dict[str, int] = {}
    for seed in range(100):
        random = Random(seed)
        rows = random_trace(random, gaps=True)
        for name, count in agree(rows, 0.5).items():
            total[name] = total.get(name, 0) + count
    assert {name for name, count in total.items() if count < 10} == set()


# --- planted in a run that is right -------------------------------------------------------


def orderly(random: Random, clients: int = 5, rounds: int = 12) -> list[Row]:
    """Everybody hears everything at once: nothing is wrong with it."""
    trace = Recorder()
    names = [f"c{number}.1" for number in range(clients)]
    for name in names:
        trace.subscribe(0, name, broker=f"B{random.randint(1, 3)}")
    for turn in range(rounds):
        publisher = random.choice(names)
        sequence = 1 + sum(
            row.kind == "published" and row.publisher == publisher for row in trace.rows
        )
        trace.publish(5.0 + turn, publisher, sequence)
        for name in names:
            trace.deliver(5.0 + turn, name, publisher, sequence)
    trace.clock(100)
    return trace.rows


@given(seeds)
def test_nothing_wrong_nothing_found(seed: int) -> None:
    verdict = check(orderly(Random(seed)))
    assert (verdict.is_correct, verdict.expected, verdict.delivered) == (True, 60, 60)


@given(seeds)
def test_planted_losses_and_duplicates_are_found_one_by_one(seed: int) -> None:
    random = Random(seed)
    rows = orderly(random)
    delivered = [row for row in rows if row.kind == "delivered"]
    picked = random.sample(delivered, 7)
    lost, repeated = picked[: random.randint(0, 4)], picked[4 : 4 + random.randint(0, 3)]
    kept = [row for row in rows if row not in lost]
    again = [
        Row(
            **{
                **{name: getattr(row, name) for name in Row.__struct_fields__},
                "broker": "B9", "step": step, "at": 50.0, "client_order": 1000 + step,
            }
        )
        for step, row in enumerate(repeated)
    ]  # fmt: skip
    verdict = check([*kept, *again])
    found = sorted((v.kind, v.notification, v.client) for v in verdict.violations)
    assert found == sorted(
        [("lost", row.notification or "", row.client or "") for row in lost]
        + [("duplicated", row.notification or "", row.client or "") for row in repeated]
    )


@pytest.mark.parametrize("between", range(2, 7))
@pytest.mark.parametrize("swapped", [False, True])
def test_a_cause_behind_its_effect_through_others(between: int, swapped: bool) -> None:
    """Publisher 0 is heard by 1, who is heard by 2 ...; the judge hears only 0 and the last."""
    trace = Recorder()
    trace.subscribe(0, "judge.1")
    for number in range(between + 1):
        trace.publish(10.0 + number, f"c{number}.1", 1, broker=f"B{number}")
        trace.deliver(10.5 + number, f"c{number + 1}.1", f"c{number}.1", 1, broker=f"B{number + 1}")
    last = (f"c{between}.1", 1)
    for publisher, sequence in [last, ("c0.1", 1)] if swapped else [("c0.1", 1), last]:
        trace.deliver(30, "judge.1", publisher, sequence)
    verdict = check(trace.rows)
    assert (verdict.out_of_order_fifo, verdict.out_of_order_causal) == (0, int(swapped))
    if swapped:
        (found,) = [v for v in verdict.violations if v.kind == "out_of_order_causal"]
        assert (found.notification, found.client) == ("c0.1:1", "judge.1")
        assert [row.notification for row in found.rows] == [f"c{between}.1:1", "c0.1:1"]
    agree(trace.rows, 2.0)
