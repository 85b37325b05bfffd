"""What a swap gains."""

from __future__ import annotations

from random import Random
from statistics import stdev

import pytest

from sapwood.analysis.delivery.cost import Delivery, Prices, prices, total_cost
from sapwood.analysis.traffic.tree import rooted_tree
from sapwood.protocol.optimize.gain import (
    LOCAL,
    Concerned,
    Share,
    SwapCosts,
    doubted,
    gain,
    gain_of_one,
    renamed,
    rewritten,
    share,
)

Links = list[tuple[str, str]]

EXAMPLES = [(3, 1, 0, 5, 3, 6), (4, 1, 1, 4, 2, 5), (5, 1, 2, 3, 1, 4), (6, 1, 3, 2, 0, 3)]
"""p1, p2, p3, c12, c13, c23: all integers that fit the example of 5.4.3."""
TRAFFIC = [
    Delivery(("B2", "B3", "B1"), 5),
    Delivery(("B2", "B3"), 5),
    Delivery(("B1", "B2"), 1),
]


def around(links: Links, broker: str) -> list[str]:
    return [two if one == broker else one for one, two in links if broker in (one, two)]


def seen(links: Links, middle: str, deliveries: list[Delivery]) -> dict[Concerned, float]:
    """What a broker counts: for every notification it handles, whom that concerns."""
    branch = {middle: LOCAL}
    for neighbour in around(links, middle):
        waiting = [neighbour]
        while waiting:
            one = waiting.pop()
            if one not in branch:
                branch[one] = neighbour
                waiting += around(links, one)
    counts: dict[Concerned, float] = {}
    for delivery in deliveries:
        concerned = tuple(sorted({branch[broker] for broker in delivery.concerned}))
        if len(concerned) > 1 or concerned == (LOCAL,):
            counts[concerned] = counts.get(concerned, 0) + delivery.number
    return counts


def swapped(links: Links, middle: str, mover: str, onto: str) -> Links:
    gone = {middle, mover}
    return [*(link for link in links if set(link) != gone), (mover, onto)]


def costs(known: Prices, middle: str, mover: str, onto: str) -> SwapCosts:
    return SwapCosts(
        known.sending(mover, middle),
        known.sending(mover, onto),
        known.sending(middle, onto),
        known.handling([middle]),
        known.handling([onto]),
    )


def draw(random: Random) -> tuple[Links, Prices, list[Delivery]]:
    count = random.randint(3, 14)
    names = [f"B{number}" for number in range(count)]
    links = [(names[place], names[random.randrange(place)]) for place in range(1, count)]
    matrix = [[0.0] * count for _ in names]
    for row in range(count):
        for column in range(row):
            matrix[row][column] = matrix[column][row] = random.uniform(0, 10)
    known = prices(names, processing=[random.uniform(0, 10) for _ in names], links=matrix)
    deliveries = [
        Delivery(
            tuple(random.sample(names, random.randint(1, min(5, count)))), random.uniform(0, 3)
        )
        for _ in range(8)
    ]
    return links, known, deliveries


@pytest.mark.parametrize("seed", range(12))
def test_it_is_the_difference_of_the_total_cost(seed: int) -> None:
    """Formula (1), for every swap of random trees."""
    links, known, deliveries = draw(Random(seed))
    before = total_cost(rooted_tree(links), known, deliveries)
    for middle in known.brokers:
        counts = seen(links, middle, deliveries)
        for mover in around(links, middle):
            for onto in around(links, middle):
                if mover == onto:
                    continue
                price = costs(known, middle, mover, onto)
                found = gain(share(counts, mover, onto), price)
                after = swapped(links, middle, mover, onto)
                difference = before - total_cost(rooted_tree(after), known, deliveries)
                assert found == pytest.approx(difference, abs=1e-9)
                one_by_one = sum(
                    number * gain_of_one(concerned, mover, onto, price)
                    for concerned, number in counts.items()
                )
                assert one_by_one == pytest.approx(difference, abs=1e-9)


@pytest.mark.parametrize("seed", range(12))
def test_counts_stay_exact_after_a_swap(seed: int) -> None:
    """At the middle and at the mover nothing has to be counted anew."""
    links, known, deliveries = draw(Random(seed))
    for middle in known.brokers:
        for mover in around(links, middle):
            for onto in around(links, middle):
                if mover == onto:
                    continue
                after = swapped(links, middle, mover, onto)
                expected: dict[Concerned, float] = {}
                for concerned, number in seen(links, middle, deliveries).items():
                    new = rewritten(concerned, mover, onto)
                    if new is not None:
                        expected[new] = expected.get(new, 0) + number
                assert seen(after, middle, deliveries) == pytest.approx(expected)
                at_mover = {
                    renamed(concerned, middle, onto): number
                    for concerned, number in seen(links, mover, deliveries).items()
                }
                assert seen(after, mover, deliveries) == pytest.approx(at_mover)


@pytest.mark.parametrize("numbers", EXAMPLES)
def test_the_example_of_the_thesis(numbers: tuple[int, ...]) -> None:
    """5.4.3: from both trees, the cheapest one is one swap away, and the best swap leads there."""
    p1, p2, p3, c12, c13, c23 = numbers
    matrix = [[0, c12, c13], [c12, 0, c23], [c13, c23, 0]]
    known = prices(("B1", "B2", "B3"), processing=[p1, p2, p3], links=matrix)
    for links, cost in (
        ([("B1", "B2"), ("B1", "B3")], 129),
        ([("B1", "B2"), ("B2", "B3")], 119),
    ):
        middle = next(one for one in known.brokers if len(around(links, one)) == 2)
        counts = seen(links, middle, TRAFFIC)
        gains = {
            (mover, onto): gain(share(counts, mover, onto), costs(known, middle, mover, onto))
            for mover in around(links, middle)
            for onto in around(links, middle)
            if mover != onto
        }
        best = max(gains, key=lambda pair: gains[pair])
        assert total_cost(rooted_tree(links), known, TRAFFIC) == cost
        assert gains[best] == cost - 113
        after = swapped(links, middle, *best)
        assert total_cost(rooted_tree(after), known, TRAFFIC) == 113


def test_flooding_leads_to_the_cheapest_links() -> None:
    """Where everything concerns everybody, only the costs of the two links count."""
    assert gain(Share(7.0, 7.0, 0.0), SwapCosts(5.0, 3.0, 100.0, 100.0, 100.0)) == 14.0


@pytest.mark.parametrize("seed", range(8))
def test_errors_of_costs_make_an_error_of_the_gain(seed: int) -> None:
    """Costs that are drawn with their errors, many times over: gains differ by as much."""
    random = Random(f"doubts {seed}")
    joint = random.uniform(0, 10)
    traffic = Share(joint + random.uniform(0, 10), joint, random.uniform(0, joint))
    told = SwapCosts(*(random.uniform(0, 10) for _ in range(5)))
    doubts = SwapCosts(*(random.uniform(0, 3) for _ in range(5)))
    drawn = [gain(traffic, SwapCosts(*map(random.gauss, told, doubts))) for _ in range(2000)]
    assert stdev(drawn) == pytest.approx(doubted(traffic, doubts), rel=0.1)
