"""The published heuristics as formulas: against the papers' example and against brute force."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from sapwood.protocol.optimize.published.judging import (
    HEURISTICS,
    Prospect,
    ci_contribution,
    ci_pays,
    link_to_remove,
    lmit_contribution,
    lmst_contribution,
    lmst_pays,
)
from sapwood.protocol.optimize.published.summaries import Members

Sets = tuple[frozenset[int], ...]


def prospect(
    place: int, links: tuple[float, ...], processing: tuple[float, ...], seen: Sets
) -> Prospect:
    """A ring as the broker at a place knows it, by the notifications that concern each broker."""
    own = sorted(seen[place])
    members = tuple(
        None if other == place else Members(np.array([one in there for one in own], dtype=bool))
        for other, there in enumerate(seen)
    )
    return Prospect(place, links, processing, members)


def indirect(
    i: int, way: list[int], links: dict[int, float], p: tuple[float, ...], seen: Sets
) -> float:
    """Eq. 5.11 as it is written, from the far end."""
    if len(way) == 1:
        return links[way[0]]
    *before, j = way
    k = before[-1]
    both = len(seen[i] & seen[j])
    factor = (both - len(seen[i] & seen[k] & seen[j])) / both if both else 1.0
    return factor * (indirect(i, before, links, p, seen) + p[k]) + links[j]


def printed(links: tuple[float, ...], p: tuple[float, ...], seen: Sets) -> list[float]:
    """Eq. 5.12 and 5.13 as they are written: for each link, the cost of the ring without it."""
    size, found = len(links), []
    for gone in range(size):
        total = 0.0
        for i in range(size):
            for direction in (1, -1):
                way: list[int] = []
                costs: dict[int, float] = {}
                here = i
                while (edge := here if direction == 1 else (here - 1) % size) != gone:
                    here = (here + direction) % size
                    way.append(here)
                    costs[here] = links[edge]
                    total += len(seen[i] & seen[here]) * indirect(i, way, costs, p, seen)
        found.append(total)
    return found


@pytest.mark.parametrize("seed", range(6))
def test_what_brokers_contribute_adds_up_to_the_printed_sums(seed: int) -> None:
    random = Random(seed)
    size = random.choice((3, 4, 5))
    links = tuple(random.uniform(0, 10) for _ in range(size))
    processing = tuple(random.uniform(0, 10) for _ in range(size))
    seen = tuple(
        frozenset(random.sample(range(40), random.choice((0, 5, 20)))) for _ in range(size)
    )
    added = [ci_contribution(prospect(place, links, processing, seen)) for place in range(size)]
    assert [sum(one) for one in zip(*added, strict=True)] == pytest.approx(
        printed(links, processing, seen)
    )


EXAMPLES = ((3, 1, 0, 5, 3, 6), (4, 1, 1, 4, 2, 5), (5, 1, 2, 3, 1, 4), (6, 1, 3, 2, 0, 3))


@pytest.mark.parametrize("numbers", EXAMPLES)
@pytest.mark.parametrize("kept", ["12 13", "12 23"])
def test_ci_finds_the_best_tree_of_the_example(numbers: tuple[int, ...], kept: str) -> None:
    """5.4.3: from the minimum spanning tree as well as from the maximum interest tree."""
    p = (None, *numbers[:3])
    c = {"12": numbers[3], "13": numbers[4], "23": numbers[5]}
    first, eleventh = frozenset(range(10)), 10
    seen = {1: frozenset(range(5)) | {eleventh}, 2: first | {eleventh}, 3: first}
    middle = 1 if kept == "12 13" else 2
    ends = [one for one in (1, 2, 3) if one != middle]
    tree = {"12", "13"} if middle == 1 else {"12", "23"}
    for order in ([ends[0], middle, ends[1]], [ends[1], middle, ends[0]]):
        links = tuple(
            float(c["".join(sorted(f"{order[at]}{order[(at + 1) % 3]}"))]) for at in range(3)
        )
        processing = tuple(float(p[one] or 0) for one in order)
        sets = tuple(seen[one] for one in order)
        if not ci_pays(prospect(0, links, processing, sets)):
            continue
        added = [ci_contribution(prospect(at, links, processing, sets)) for at in range(3)]
        gone = link_to_remove([sum(one) for one in zip(*added, strict=True)], 0.0)
        if gone is not None:
            old = "".join(sorted(f"{order[gone]}{order[gone + 1]}"))
            new = "".join(sorted(f"{order[0]}{order[2]}"))
            tree = (tree - {old}) | {new}
            break
    assert tree == {"13", "23"}


def test_nothing_shared_means_no_link_and_no_division_by_zero() -> None:
    """Eq. 5.11 divides by what is shared: where that is nothing, the whole detour counts."""
    nothing = (frozenset({1}), frozenset({2}), frozenset({3}))
    ring = prospect(0, (1.0, 1.0, 0.1), (1.0, 1.0, 1.0), nothing)
    assert not ci_pays(ring)
    assert ci_contribution(ring) == [0.0, 0.0, 0.0]


def test_lmst_removes_the_dearest_link_and_lmit_the_least_shared() -> None:
    links = (3.0, 8.0, 5.0, 4.0)
    seen = (frozenset(range(6)), frozenset(range(4)), frozenset(range(2)), frozenset(range(9)))
    rings = [prospect(place, links, (0.0,) * 4, seen) for place in range(4)]
    assert lmst_pays(rings[0])
    sums = [sum(one) for one in zip(*map(lmst_contribution, rings), strict=True)]
    assert link_to_remove(sums, 0.0) == 1
    sums = [sum(one) for one in zip(*map(lmit_contribution, rings), strict=True)]
    assert sums == [4.0, 2.0, 2.0, 6.0]
    assert link_to_remove(sums, 0.0) == 1
    assert not lmst_pays(rings[0]._replace(links=(3.0, 4.0, 2.0, 4.0)))


def test_hysteresis_asks_for_more() -> None:
    assert link_to_remove([9.7, 12.0, 10.0], 0.0) == 0
    assert link_to_remove([9.7, 12.0, 10.0], 0.05) is None
    assert link_to_remove([10.0, 12.0, 10.0], 0.0) is None, "the new link itself had best go"


def test_all_have_a_name() -> None:
    assert set(HEURISTICS) == {"ci", "lmst", "lmit"}
