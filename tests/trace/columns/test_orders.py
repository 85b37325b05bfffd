"""Orders of clients: each row gets the number it would have got when it came."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sapwood.trace.columns import orders
from sapwood.trace.columns.orders import NO_COUNTER, Orders

CLIENTS = st.sampled_from(["a.1", "b.1"]) | st.integers(0, 89).map(lambda number: f"c{number}.1")
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("span"), CLIENTS, st.integers(1, 4)),
        st.tuples(st.just("begin"), CLIENTS, st.none() | st.integers(0, 50)),
        st.tuples(st.just("number"), st.just(""), st.none()),
    ),
    max_size=200,
)


class Taken:
    """Spans that wait for their numbers."""

    def __init__(self) -> None:
        self.counters: list[int] = []
        self.counts: list[int] = []

    def numbers(self, orders: Orders) -> list[int]:
        counts = np.array(self.counts, np.int64)
        firsts = np.zeros(len(counts), np.int64)
        orders.number(np.array(self.counters, np.int64), counts, firsts)
        self.counters, self.counts = [], []
        return firsts.tolist()


@given(STEPS)
def test_numbers_are_those_of_counting_at_once(steps: list[tuple[str, str, int | None]]) -> None:
    orders, taken = Orders(), Taken()
    so_far: dict[str, int] = {}
    found: list[int] = []
    expected: list[int] = []
    for what, client, value in steps:
        if what == "span":
            assert value is not None
            taken.counters.append(orders.counter(client))
            taken.counts.append(value)
            expected.append(so_far.get(client, 0) + 1)
            so_far[client] = so_far.get(client, 0) + value
        elif what == "begin":
            orders.begin(client, value)
            so_far.pop(client, None)
            if value is not None:
                so_far[client] = value
        else:
            found += taken.numbers(orders)
    assert found + taken.numbers(orders) == expected


def test_one_that_begins_anew_leaves_the_numbers_of_before_alone() -> None:
    orders, taken = Orders(), Taken()
    for order in (7, 20, None):
        taken.counters.append(orders.counter("a.1"))
        taken.counts.append(3)
        orders.begin("a.1", order)
    assert taken.numbers(orders) == [1, 8, 21]


def test_what_has_no_counter_keeps_its_number() -> None:
    firsts = np.array([7, 8], np.int64)
    orders = Orders()
    counters = np.array([NO_COUNTER, orders.counter("a.1")], np.int64)
    orders.number(counters, np.ones(2, np.int64), firsts)
    assert firsts.tolist() == [7, 1]


def test_warming_up_changes_nothing() -> None:
    orders.warm()
