"""What a swap gains by what was counted, and how sure that is."""

from __future__ import annotations

from math import sqrt
from random import Random

import pytest

from sapwood.protocol.optimize.gain import Share, SwapCosts, gain, share
from sapwood.protocol.optimize.traffic import Bucket, Window
from sapwood.protocol.optimize.weighing import tables_of, tabulate, weigh

COSTS = SwapCosts(5.0, 2.0, 3.0, 1.0, 0.5)


def drawn(random: Random) -> dict[tuple[str, ...], list[int]]:
    names = ["", "a", "b", "c", "d"]
    sets = {}
    for _ in range(12):
        chosen = tuple(sorted(random.sample(names, random.randint(2, 4))))
        sets[chosen] = [random.randint(0, 50), 1]
    return sets


@pytest.mark.parametrize("seed", range(8))
def test_all_pairs_are_found_in_one_pass(seed: int) -> None:
    sets = drawn(Random(seed))
    table = tabulate(10.0, sets)
    counted = {concerned: float(cell[0]) for concerned, cell in sets.items()}
    for mover in "abcd":
        for onto in "abcd":
            if mover != onto:
                found = weigh([table], mover, onto, COSTS)
                expected = share(counted, mover, onto)
                assert found.share == Share(*(one / 10.0 for one in expected))
                assert found.gain == pytest.approx(gain(expected, COSTS) / 10.0)


def test_the_error_is_that_of_counting() -> None:
    """σ² = Σ count·d² / W²."""
    sets = {("a", "b"): [9, 1], ("", "a", "b"): [4, 1], ("", "a"): [16, 1]}
    found = weigh([tabulate(2.0, sets)], "a", "b", COSTS)
    each = (5 - 2 + 1 + 3, 5 - 2, 5 - 2 - 0.5 - 3)
    squares = 9 * each[0] ** 2 + 4 * each[1] ** 2 + 16 * each[2] ** 2
    assert found.sigma == pytest.approx(sqrt(squares / 4))
    assert found.counted == 29


def test_bursts_count_if_they_say_more() -> None:
    even = [tabulate(10.0, {("a", "b"): [100, 1]}) for _ in range(4)]
    bursts = [tabulate(10.0, {("a", "b"): [count, 1]}) for count in (400, 0, 0, 0)]
    assert weigh(even, "a", "b", COSTS).gain == weigh(bursts, "a", "b", COSTS).gain
    assert weigh(even, "a", "b", COSTS).sigma == pytest.approx(7 * sqrt(400) / 40)
    # s²/B of four gains per second: 280, 0, 0, 0
    assert weigh(bursts, "a", "b", COSTS).sigma == pytest.approx(sqrt(280**2 / 4 / 4))
    assert weigh(bursts[:3], "a", "b", COSTS).sigma == pytest.approx(7 * sqrt(400) / 30)


def test_a_table_for_each_bucket_with_its_length() -> None:
    window = Window(0.0, 7.0, (Bucket(0.0), Bucket(5.0)))
    assert [table.seconds for table in tables_of(window)] == [5.0, 2.0]
    assert weigh([], "a", "b", COSTS).gain == 0.0
