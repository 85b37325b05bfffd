"""Drawing places in proportion; what runs come to is in `test_traffic` and `test_triangle`."""

from __future__ import annotations

from typing import Any

import numpy as np

from sapwood.compiled.compiling import kernel
from sapwood.sim.flow.stationary import drawn


@kernel
def counts(cumulated: Any, random: Any, number: int) -> Any:
    found = np.zeros(len(cumulated), np.int64)
    for _ in range(number):
        found[drawn(cumulated, random)] += 1
    return found


def test_places_are_drawn_in_proportion() -> None:
    rates = np.array([0.0, 1.0, 0.0, 3.0, 0.0])
    found = counts(np.cumsum(rates), np.random.default_rng(1), 40_000)
    assert found[[0, 2, 4]].tolist() == [0, 0, 0]
    assert abs(found[1] - 10_000) < 5 * np.sqrt(7500)
