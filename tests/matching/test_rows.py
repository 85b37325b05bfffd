"""Rows: what kind of predicate a constraint becomes, and what remains after a clean-up."""

from __future__ import annotations

import pytest

from sapwood.filters import (
    ANY_BOOL,
    ANY_NUMBER,
    ANY_TEXT,
    MISSING,
    PRESENT,
    Constraint,
    Filter,
    at_least,
    between,
    contains,
    equal,
    less_than,
    like,
    none_of,
    not_equal,
    one_of,
    prefix,
    suffix,
)
from sapwood.matching.engine import CompiledIndex
from sapwood.matching.layout import (
    ENTRY_FIRST_ROW,
    NUMBER_RANGE,
    ON_DEMAND,
    POINT,
    PREDICATE_KIND,
    ROW_COUNT,
    ROW_ENTRY,
    ROW_FIRST,
    TEXT_RANGE,
    Memory,
)
from sapwood.matching.rows import RowStore, Waiting
from sapwood.matching.vocabulary import Vocabulary


def row_store() -> tuple[Memory, RowStore]:
    memory = Memory()
    return memory, RowStore(memory, Vocabulary(memory))


def test_what_waits_is_numbered_before_it_is_written() -> None:
    waiting = Waiting()
    assert [waiting.add(item) for item in "abc"] == [0, 1, 2]
    assert waiting.take() == (0, ["a", "b", "c"])
    assert waiting.take() == (3, [])
    assert waiting.add("d") == 3
    assert waiting.take() == (3, ["d"])


@pytest.mark.parametrize(
    ("constraint", "kind"),
    [
        (equal(1), POINT),
        (equal("a"), POINT),
        (equal(True), POINT),
        (between(1, 1), POINT),
        (like("abc"), POINT),
        (between(1, 2), NUMBER_RANGE),
        (less_than(1.5), NUMBER_RANGE),
        (at_least(2**53 + 1), NUMBER_RANGE),
        (ANY_NUMBER, NUMBER_RANGE),
        (prefix("a"), TEXT_RANGE),
        (at_least("a"), TEXT_RANGE),
        (ANY_TEXT, TEXT_RANGE),
        (one_of(["a", "a\0"]), TEXT_RANGE),
        (one_of([1, "a"]), ON_DEMAND),
        (ANY_BOOL, ON_DEMAND),
        (not_equal(1), ON_DEMAND),
        (none_of(["a", "b"]), ON_DEMAND),
        (suffix("a"), ON_DEMAND),
        (contains("a"), ON_DEMAND),
        (like("a%b"), ON_DEMAND),
        (MISSING, ON_DEMAND),
        (PRESENT, ON_DEMAND),
    ],
)
def test_kinds_of_predicates(constraint: Constraint, kind: int) -> None:
    memory, rows = row_store()
    rows.add((("x", constraint),), 0)
    rows.flush()
    assert memory[PREDICATE_KIND][0] == kind


def test_rows_know_their_entry_and_their_predicates() -> None:
    memory, rows = row_store()
    boxes = [Filter(text).boxes[0] for text in ("a = 1 and b = 2", "true", "c > 1")]
    assert [rows.add(box, entry) for entry, box in enumerate(boxes, start=5)] == [0, 1, 2]
    assert rows.count == 3
    assert rows.longest == 2
    rows.flush()
    assert memory[ROW_ENTRY][:3].tolist() == [5, 6, 7]
    assert memory[ROW_FIRST][:3].tolist() == [0, 2, 2]
    assert memory[ROW_COUNT][:3].tolist() == [2, 0, 1]


def test_rows_that_were_dropped_are_gone_after_a_clean_up() -> None:
    index: CompiledIndex[int] = CompiledIndex()
    for key in range(6):
        index.add(key, Filter(f"a > {key} and t prefix 'p{key}' or b = {key}"))
    for key in (0, 2, 5):
        index.remove(key)
    index.optimize()
    memory, rows = index._memory, index._rows
    assert rows.count == 6
    assert memory[ROW_ENTRY][:6].tolist() == [1, 1, 3, 3, 4, 4]
    assert memory[ENTRY_FIRST_ROW][[1, 3, 4]].tolist() == [0, 2, 4]
    numbers, texts = rows.ranges()
    assert len(numbers) == len(texts) == 3
    assert sorted(index.match({"a": 9, "t": "p3", "b": 4})) == [3, 4]
