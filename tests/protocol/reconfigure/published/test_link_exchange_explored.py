"""Link exchange around three brokers in every interleaving."""

from __future__ import annotations

from functools import partial
from itertools import permutations

import pytest

from protocol.reconfigure.published.exploring import Script, explore
from sapwood.protocol.reconfigure.published.link_exchange import (
    CORRECTED,
    FIFO,
    PRINTED,
    Correction,
    LinkExchange,
)

RIGHT = {"states", "ends"}
SCRIPT = Script(0, 1, 2, again=False)


@pytest.mark.slow
def test_as_printed_every_end_is_stuck() -> None:
    found = explore(partial(LinkExchange, corrections=PRINTED), 1, SCRIPT)
    assert found["stuck"] == found["ends"] > 1
    assert found["lost"]


@pytest.mark.slow
@pytest.mark.parametrize("k", [1, 2])
def test_corrected_no_order_of_events_goes_wrong(k: int) -> None:
    assert explore(LinkExchange, k, SCRIPT).keys() == RIGHT


@pytest.mark.slow
def test_the_last_correction_matters_where_the_shared_end_is_on_the_right() -> None:
    without = partial(LinkExchange, corrections=CORRECTED - {Correction.ASK_BEFORE})
    assert explore(without, 1, SCRIPT).keys() == RIGHT
    assert explore(without, 2, SCRIPT)["stuck"]


@pytest.mark.slow
@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_everybody_in_every_role(k: int, order: tuple[int, int, int]) -> None:
    script = Script(*order, again=False)
    assert explore(LinkExchange, k, script).keys() == RIGHT
    fifo = explore(partial(LinkExchange, order=FIFO), k, script)
    assert fifo.keys() - {"causal"} == RIGHT


@pytest.mark.long
@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_so_it_is_if_the_first_publishes_twice(k: int, order: tuple[int, int, int]) -> None:
    assert explore(LinkExchange, k, Script(*order)).keys() == RIGHT
