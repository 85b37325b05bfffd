"""Warming compiles all kernels, in all forms that are used later."""

from __future__ import annotations

from random import Random

import pytest

from compiled.forms import forms, kernels_of
from matching.drawing import any_filter, events
from matching.model import Pair
from sapwood.matching import arranging, kernel, stores, warm


def all_forms() -> dict[str, list[str]]:
    """In which forms each kernel is compiled or loaded."""
    return {name: forms(one) for name, one in kernels_of(arranging, kernel, stores).items()}


@pytest.mark.slow
def test_every_kernel_is_exercised_and_nothing_is_compiled_later() -> None:
    warm.exercise()
    before = all_forms()
    assert len(before) >= 5
    assert [name for name, compiled in before.items() if not compiled] == []
    random = Random(1)
    pair = Pair()
    for key in range(1500):
        pair.add(key, any_filter(random), key % 3)
        if key % 100 == 0:
            pair.check(events(random, 2))
    for key in range(1400):
        pair.remove(key)
    pair.index.optimize()
    pair.check(events(random, 100))
    pair.check_destinations(events(random, 100), exclude=1)
    assert all_forms() == before
