"""A covering storm: many filters behind one cover that is cancelled and issued again."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from sapwood.filters import Filter, between, equal, greater_than, less_than
from sapwood.routing.ledger import EdgeLedger
from sapwood.routing.strategy import Difference, Entry

COVER = Filter("exists x")


def _values(random: Random, number: int) -> Filter:
    return Filter.all_of({"x": equal(number), "y": greater_than(1)})


def _intervals(random: Random, number: int) -> Filter:
    return Filter.all_of({"x": between(3 * number, 3 * number + 1)})


def _boxes(random: Random, number: int) -> Filter:
    x, y = random.random(), random.random()
    return Filter.all_of({"x": between(x, x + 0.01), "y": between(y, y + 0.01)})


def _nested(random: Random, number: int) -> Filter:
    return Filter.all_of({"x": greater_than(number), "y": less_than(-number)})


KINDS: dict[str, Callable[[Random, int], Filter]] = {
    "values": _values,
    "intervals": _intervals,
    "boxes": _boxes,
    "nested": _nested,
}


def storm(algorithm: str, kind: str, count: int) -> list[Difference]:
    """What is told when the cover comes, is cancelled, comes again and is cancelled again."""
    told, random = EdgeLedger("X", algorithm), Random(5)
    told.add(Entry("A", "cover", COVER))
    for number in range(count):
        told.add(Entry("B", str(number), KINDS[kind](random, number)))
    differences = [told.take()]
    for _ in range(2):
        told.remove(Entry("A", "cover", COVER))
        differences.append(all_of(told))
        told.add(Entry("A", "cover", COVER))
        differences.append(all_of(told))
    return differences


def all_of(ledger: EdgeLedger) -> Difference:
    """What is told when nothing is left to do."""
    while ledger.left:
        ledger.carry_on(ledger.left)
    return ledger.take()
