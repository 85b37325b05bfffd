"""Merging-based routing: perfect mergers of what stands, told without a gap."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sapwood.filters import Filter
from sapwood.routing.ledger import EdgeLedger
from sapwood.routing.merging import _MERGER_WORK, Merging
from sapwood.routing.strategy import Difference, Entry

TEXTS = [
    *(f"a = {number}" for number in range(6)),
    *(f"a = {number} and b = {other}" for number in range(3) for other in range(3)),
    "a > 2",
    "a > 2 or b = 1",
    "b in (0, 2)",
    "a <= 2 and b = 1",
]


def entry(text: str) -> Entry:
    return Entry("A", text, Filter(text))


def told(*texts: str) -> list[tuple[str, Filter]]:
    return [(Filter(text).id, Filter(text)) for text in texts]


def test_a_merger_grows_and_shrinks_without_a_gap() -> None:
    table = EdgeLedger("X", "merging")
    table.add(entry("a = 1"))
    assert table.take() == Difference(told("a = 1"), [])
    table.add(entry("a = 2"))
    assert table.take() == Difference(told("a in (1, 2)"), [Filter("a = 1").id])
    table.remove(entry("a = 1"))
    assert table.take() == Difference(told("a = 2"), [Filter("a in (1, 2)").id])


def test_a_merger_hides_what_it_covers_and_what_it_makes_superfluous() -> None:
    table = EdgeLedger("X", "merging")
    for text in ("a > 5 and b = 1", "a <= 5 and b = 1", "a is number and b = 1 and c = 1"):
        table.add(entry(text))
    assert table.take() == Difference(told("a is number and b = 1"), [])
    table.remove(entry("a > 5 and b = 1"))
    rest = told("a is number and b = 1 and c = 1", "a <= 5 and b = 1")
    assert table.take() == Difference(rest, [Filter("a is number and b = 1").id])


def test_unions_stay_alone_and_may_cover_mergers() -> None:
    table = EdgeLedger("X", "merging")
    for text in ("a = 1 or b = 1", "a = 1 and c = 1", "a = 1 and c = 2", "a = 2"):
        table.add(entry(text))
    assert table.take() == Difference(told("a = 1 or b = 1", "a = 2"), [])
    table.remove(entry("a = 1 or b = 1"))
    rest = told("a = 2", "a = 1 and c in (1, 2)")
    assert dict(table.owed()) == dict(rest)
    assert table.take() == Difference(rest[1:], [Filter("a = 1 or b = 1").id])


def test_a_merger_equal_to_a_subscription_is_that_subscription() -> None:
    table = EdgeLedger("X", "merging")
    for text in ("a = 1", "a = 2"):
        table.add(entry(text))
    table.take()
    table.add(entry("a in (1, 2)"))
    assert table.take() == Difference([], [])
    table.remove(entry("a = 1"))
    assert table.take() == Difference([], [])


@given(
    texts=st.lists(st.sampled_from(TEXTS), unique=True),
    later=st.lists(st.sampled_from(TEXTS), unique=True),
    work=st.integers(_MERGER_WORK, 40),
    steps=st.integers(0, 12),
)
def test_carried_on_in_parts_it_comes_to_the_same(
    texts: list[str], later: list[str], work: int, steps: int
) -> None:
    parts, whole = Merging(), Merging()
    for text in texts:
        parts.add(entry(text))
        whole.add(entry(text))
    for _ in range(steps):
        parts.carry_on(work)
    for text in later:
        change = parts.remove if text in texts else parts.add
        change(entry(text))
        parts.carry_on(work)
        (whole.remove if text in texts else whole.add)(entry(text))
    assert dict(parts.owed()) == dict(whole.owed())
    touched = {**dict.fromkeys(parts.take_touched())}
    assert touched.keys() >= parts.owed().keys()
    while not parts.carry_on(work):
        pass
    assert dict(parts.owed()) == dict(whole.owed())


def test_what_stands_behind_mergers_is_what_covering_would_owe() -> None:
    ledger = EdgeLedger("N", "merging")
    for text in ("x = 1", "x = 2", "x in (1, 3)", "y = 1"):
        ledger.add(entry(text))
    standing = ("x = 2", "x in (1, 3)", "y = 1")
    assert ledger.standing().keys() == {Filter(text).id for text in standing}
    assert ledger.owed().keys() == {Filter(text).id for text in ("x in (1, 2, 3)", "y = 1")}
    plain = EdgeLedger("N", "identity")
    plain.add(entry("x = 1"))
    assert plain.standing() == plain.owed()
