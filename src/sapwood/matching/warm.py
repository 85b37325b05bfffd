"""Use all kernels of the matching engine once, so that they are compiled, or loaded from disk."""

from __future__ import annotations

from sapwood.filters import kinds
from sapwood.filters.constraint import ANY_TEXT, MISSING, PRESENT, Constraint
from sapwood.filters.filter import Filter
from sapwood.filters.values import Value
from sapwood.matching.engine import CompiledIndex
from sapwood.matching.segments import NEW_ROWS_MAX


def exercise() -> None:
    """Do everything that an index can do, once, on a small one."""
    index: CompiledIndex[int] = CompiledIndex()
    for key in range(4 * NEW_ROWS_MAX):
        constraints = _constraints(key)
        name = "abc"[key % 3]
        chosen = constraints[key % len(constraints)]
        filter_ = Filter.all_of({name: chosen, "d": kinds.at_least(key), "e": kinds.equal(key)})
        index.add(key, filter_, destination=key % 5)
        if key % 100 == 0:
            index.match({name: "text"})
    events: list[dict[str, Value]] = [
        {"a": "text", "b": 1, "c": True, "d": 10_000, "e": number} for number in range(100)
    ]
    index.match_batch(events)
    index.destinations_batch(events, exclude=1)
    for key in range(0, 4 * NEW_ROWS_MAX, 2):
        index.remove(key)
    index.optimize()
    index.match_batch(events)


def _constraints(number: int) -> list[Constraint]:
    """One of each kind of constraint."""
    return [
        kinds.equal(number),
        kinds.equal(True),
        kinds.equal(f"text {number}"),
        kinds.between(number, number + 1.5),
        kinds.prefix("te"),
        kinds.between("a", f"z{number}"),
        kinds.one_of([number, f"text {number}", False]),
        kinds.not_equal("text"),
        kinds.suffix("xt"),
        kinds.contains("ex"),
        kinds.like("t_x%"),
        MISSING,
        PRESENT,
        ANY_TEXT,
    ]
