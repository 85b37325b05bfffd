"""RemoveBroker in every interleaving: a leaf with two clients beside a broker with one."""

from __future__ import annotations

from functools import partial
from itertools import permutations

import pytest

from protocol.reconfigure.published.exploring import Script, explore_change
from sapwood.protocol.reconfigure.published.changes import Leave
from sapwood.protocol.reconfigure.published.remove_broker import RemoveBroker

LEAVE = Leave("B3", "B2")
HOMES = ("B3", "B3", "B1")
RIGHT = {"states", "ends"}
printed = partial(RemoveBroker, is_corrected=False)


def test_as_printed_what_clients_of_the_leaf_publish_for_each_other_comes_twice() -> None:
    found = explore_change(printed, LEAVE, HOMES, Script(0, 1, 2, again=False))
    assert found["duplicated"]
    assert not found["lost"] + found["stuck"] + found["wrong"]


@pytest.mark.slow
def test_corrected_no_order_of_events_goes_wrong() -> None:
    found = explore_change(RemoveBroker, LEAVE, HOMES, Script(0, 1, 2, again=False))
    assert found.keys() == RIGHT


@pytest.mark.slow
@pytest.mark.parametrize("order", list(permutations(range(3))))
@pytest.mark.parametrize("homes", [HOMES, ("B3", "B2", "B1")])
def test_everybody_in_every_role(order: tuple[int, int, int], homes: tuple[str, ...]) -> None:
    found = explore_change(RemoveBroker, LEAVE, homes, Script(*order, again=False))
    assert found.keys() == RIGHT
