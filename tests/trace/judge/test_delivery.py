"""Subscriptions that oblige, as time goes on; the counts that follow are in test_checkers.py."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from sapwood.trace.judge.declarations import DeclarationBook
from sapwood.trace.judge.delivery import Standing
from sapwood.trace.judge.filterbook import FilterBook
from tracing.making import Recorder


@given(st.integers(0, 2**32))
def test_standing_is_what_each_declaration_says_of_itself(seed: int) -> None:
    random = Random(seed)
    trace, filters = Recorder(), FilterBook()
    declarations = DeclarationBook(filters)
    now = 0.0
    for _ in range(40):
        now += random.choice([0, 0.25, 1])
        act = random.choice([trace.subscribe, trace.subscribe, trace.unsubscribe, trace.settle])
        declarations.apply(act(now, random.choice(["a", "b", "c"]), f"x = {random.randint(1, 3)}"))
    settle = random.choice([0.0, 0.5, 2.0])
    standing = Standing(declarations.subscriptions, settle)
    for quarter in range(int(now * 4) + 9):
        numbers = random.sample(range(3), random.randint(0, 3))
        owed = standing.owed(quarter / 4, numbers)
        assert set(owed) == {
            declaration.client
            for declaration in declarations.subscriptions.all
            if declaration.number in numbers
            and declaration.validity(settle).obliges(quarter / 4, settle)
        }
        assert all(each.validity(settle).obliges(quarter / 4, settle) for each in owed.values())
