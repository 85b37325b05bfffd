"""SwapLink in every interleaving: as published only causal order breaks, mended nothing does."""

from __future__ import annotations

from functools import partial
from itertools import permutations

import pytest

from protocol.reconfigure.published.exploring import Script, explore
from sapwood.protocol.reconfigure.published.swap_link import SwapLink

causal = partial(SwapLink, is_causal=True)
RIGHT = {"states", "ends"}


@pytest.mark.slow
def test_what_waited_on_c_when_the_change_was_over_was_delivered_twice_once() -> None:
    """A broker is not free before all that it holds back is taken: found by exploring."""
    assert explore(causal, 2, Script(0, 1, 2, again=False)).keys() == RIGHT


@pytest.mark.slow
def test_as_published_an_answer_may_come_before_what_it_answers() -> None:
    found = explore(SwapLink, 2, Script(2, 1, 0, again=False))
    assert found.keys() == {*RIGHT, "causal"}


@pytest.mark.slow
@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_everybody_in_every_role(k: int, order: tuple[int, int, int]) -> None:
    assert explore(causal, k, Script(*order, again=False)).keys() == RIGHT
    assert explore(SwapLink, k, Script(*order, again=False)).keys() - {"causal"} == RIGHT


@pytest.mark.long
@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_so_it_is_if_the_first_publishes_twice(k: int, order: tuple[int, int, int]) -> None:
    assert explore(causal, k, Script(*order)).keys() == RIGHT
