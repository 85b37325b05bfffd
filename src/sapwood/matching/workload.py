"""Seeded content-based workloads: subscriptions and events with popular and rare attributes.

`plain` is the workload of the matching benchmark: twenty attributes of Zipf(1) popularity (ten
categorical with 2 to 10,000 values of Zipf(1.2) popularity, four integers below a million, four
floats, two texts of twelve letters over an alphabet of sixteen), subscriptions of three to five
predicates (half equality, two in five a range of 1–10% of the domain, one in ten a prefix), events
with five to twenty attributes. `mixed` has skewed numbers, and ``<>``, ``in``, ``suffix``,
``contains``, ``exists`` and disjunctions beside these.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import accumulate
from random import Random
from typing import Generic, NamedTuple, TypeVar

from sapwood.filters import kinds
from sapwood.filters.box import Box, make_box
from sapwood.filters.constraint import PRESENT, Constraint
from sapwood.filters.filter import Filter
from sapwood.filters.values import Value

_LETTERS = "abcdefghijklmnop"
_TEXT_LENGTH = 12
_INTEGER_LIMIT = 1_000_000
_FLOAT_LIMIT = 1_000.0
_DISJUNCTIONS = 0.2
"""Share of the subscriptions of `mixed` that have two conjunctions."""

Item = TypeVar("Item")


class Popularity(Generic[Item]):
    """Items of which some are drawn more often than others."""

    def __init__(self, items: Sequence[Item], weights: Sequence[float]) -> None:
        self.items = items
        self._cumulative = list(accumulate(weights))

    def draw(self, random: Random) -> Item:
        """One item, by its weight."""
        share = random.random() * self._cumulative[-1]
        return self.items[bisect_right(self._cumulative, share, hi=len(self.items) - 1)]


def zipf(items: Sequence[Item], exponent: float) -> Popularity[Item]:
    """The k-th item, from 1, with weight k to the power of minus the exponent."""
    return Popularity(items, [(rank + 1) ** -exponent for rank in range(len(items))])


class Domain(NamedTuple):
    """An attribute: its name, how its values are drawn, and, of numbers, where a share lies."""

    name: str
    kind: str
    draw: Callable[[Random], Value]
    at_share: Callable[[float], float | int] = float


def _categorical(name: str, size: int) -> Domain:
    values = zipf([f"{name}-{rank}" for rank in range(size)], 1.2)
    return Domain(name, "category", values.draw)


def _integer(name: str, skewed: bool) -> Domain:
    def at_share(share: float) -> int:
        return int(_INTEGER_LIMIT * (share**4 if skewed else share))

    return Domain(name, "number", lambda random: at_share(random.random()), at_share)


def _float(name: str, skewed: bool) -> Domain:
    def at_share(share: float) -> float:
        if skewed:
            return -math.log1p(-min(share, 1 - 1e-12)) * _FLOAT_LIMIT / 10
        return share * _FLOAT_LIMIT

    return Domain(name, "number", lambda random: at_share(random.random()), at_share)


def _text(name: str) -> Domain:
    def draw(random: Random) -> str:
        return "".join(random.choices(_LETTERS, k=_TEXT_LENGTH))

    return Domain(name, "text", draw)


def _domains(skewed: bool) -> list[Domain]:
    """The twenty attributes, most popular first, the kinds spread over the ranks."""
    sizes = [round(2 * 5000 ** (step / 9)) for step in range(10)]
    categories = [_categorical(f"c{size}", size) for size in sizes[1::2] + sizes[::2]]
    numbers = [
        make(f"{letter}{number}", skewed)
        for number in range(4)
        for letter, make in (("i", _integer), ("f", _float))
    ]
    source = {"c": iter(categories), "n": iter(numbers), "t": iter([_text("s0"), _text("s1")])}
    return [next(source[letter]) for letter in "cncntcncncncncntcncc"]


class Workload:
    """Streams of subscriptions and events, each from a seed of its own.

    >>> print(next(Workload("plain", seed=2).filters(1)))
    c13 = 'c13-0' and c1507 = 'c1507-74' and c5 = 'c5-3' and s0 prefix 'ff' and s1 prefix 'o'
    """

    def __init__(self, name: str, seed: int = 1) -> None:
        if name not in _PREDICATES:
            raise ValueError(f"no workload {name!r}; there are {', '.join(_PREDICATES)}")
        self.name = name
        self.seed = seed
        self._predicates = _PREDICATES[name]
        self._domains = _domains(skewed=name == "mixed")
        self._weights = [1 / (rank + 1) for rank in range(len(self._domains))]
        self._of_kind = {kind: self._popularity(kind) for kind in ("category", "number", "text")}
        self._of_kind["any"] = Popularity(self._domains, self._weights)

    def filters(self, count: int) -> Iterator[Filter]:
        """That many subscriptions; a larger count begins with the same ones."""
        random = Random(f"{self.name} {self.seed} filters")
        disjunctions = _DISJUNCTIONS if self.name == "mixed" else 0.0
        for _ in range(count):
            boxes = [self._conjunction(random)]
            if random.random() < disjunctions:
                boxes.append(self._conjunction(random))
            yield Filter.from_boxes(boxes)

    def events(self, count: int) -> list[dict[str, Value]]:
        """That many events; a larger count begins with the same ones."""
        random = Random(f"{self.name} {self.seed} events")
        return [self._event(random) for _ in range(count)]

    def _popularity(self, kind: str) -> Popularity[Domain]:
        """The attributes of a kind, as popular as among all."""
        ranks = [rank for rank, domain in enumerate(self._domains) if domain.kind == kind]
        domains, weights = self._domains, self._weights
        return Popularity([domains[rank] for rank in ranks], [weights[rank] for rank in ranks])

    def _event(self, random: Random) -> dict[str, Value]:
        """Five to twenty attributes, drawn one after the other by their popularity."""
        wanted = random.randint(5, 20)
        # The largest of u ** (1 / weight) are such a sample (Efraimidis and Spirakis, 2006).
        keys = [random.random() ** (1 / weight) for weight in self._weights]
        ranks = sorted(range(len(keys)), key=keys.__getitem__, reverse=True)[:wanted]
        return {self._domains[rank].name: self._domains[rank].draw(random) for rank in ranks}

    def _conjunction(self, random: Random) -> Box:
        """Three to five predicates on different attributes."""
        conjunction: dict[str, Constraint] = {}
        wanted = random.randint(3, 5)
        while len(conjunction) < wanted:
            kind, make = self._predicates.draw(random)
            domains = self._of_kind[kind]
            if all(domain.name in conjunction for domain in domains.items):
                continue
            domain = domains.draw(random)
            while domain.name in conjunction:
                domain = domains.draw(random)
            conjunction[domain.name] = make(random, domain)
        box = make_box(conjunction.items())
        assert box is not None, "every predicate of a workload can be fulfilled"
        return box


def _equal(random: Random, domain: Domain) -> Constraint:
    return kinds.equal(domain.draw(random))


def _range(random: Random, domain: Domain) -> Constraint:
    width = random.uniform(0.01, 0.1)
    start = random.uniform(0, 1 - width)
    return kinds.between(domain.at_share(start), domain.at_share(start + width))


def _prefix(random: Random, domain: Domain) -> Constraint:
    return kinds.prefix(str(domain.draw(random))[: random.randint(1, 3)])


# There are few such texts, and a pattern takes long to make.
_suffix_of, _contains_of = cache(kinds.suffix), cache(kinds.contains)


def _suffix(random: Random, domain: Domain) -> Constraint:
    return _suffix_of(str(domain.draw(random))[-random.randint(1, 2) :])


def _contains(random: Random, domain: Domain) -> Constraint:
    return _contains_of(str(domain.draw(random))[: random.randint(1, 2)])


def _one_of(random: Random, domain: Domain) -> Constraint:
    return kinds.one_of([domain.draw(random) for _ in range(random.randint(2, 6))])


def _unequal(random: Random, domain: Domain) -> Constraint:
    return kinds.not_equal(domain.draw(random))


def _exists(random: Random, domain: Domain) -> Constraint:
    return PRESENT


Predicate = tuple[str, Callable[[Random, Domain], Constraint]]
"""The kind of attribute a predicate is on, and how it is made."""

_PREDICATES: dict[str, Popularity[Predicate]] = {
    "plain": Popularity(
        [("category", _equal), ("number", _range), ("text", _prefix)],
        [0.5, 0.4, 0.1],
    ),
    "mixed": Popularity(
        [
            ("category", _equal),
            ("number", _range),
            ("text", _prefix),
            ("category", _one_of),
            ("category", _unequal),
            ("text", _suffix),
            ("text", _contains),
            ("any", _exists),
        ],
        [0.35, 0.25, 0.05, 0.1, 0.1, 0.05, 0.05, 0.05],
    ),
}

WORKLOADS = tuple(_PREDICATES)
"""The names of all workloads."""
