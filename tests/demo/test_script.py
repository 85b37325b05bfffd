"""What goes wrong in the demonstration, and when."""

from __future__ import annotations

from random import Random

import pytest

from sapwood.demo.script import Cut, Kill, Restart, script
from sapwood.sim.topology import make_topology


@pytest.mark.parametrize("brokers", [2, 3, 8, 20])
def test_faults_come_in_order_and_concern_what_is_there(brokers: int) -> None:
    tree = make_topology("tree", brokers, Random(0))
    scheduled = script(tree)
    shares = [one.share for one in scheduled]
    assert shares == sorted(shares)
    assert 0 < shares[0] < shares[-1] < 1
    for one in scheduled:
        if isinstance(one.fault, Cut):
            assert set(one.fault.links) <= set(tree.links)
        else:
            assert one.fault.broker in tree.leaves()


def test_who_is_killed_is_started_again() -> None:
    faults = [one.fault for one in script(make_topology("tree", 8, Random(0)))]
    assert faults.index(Restart("B8")) == faults.index(Kill("B8")) + 1


def test_a_lonely_broker_is_left_alone() -> None:
    assert script(make_topology("tree", 1, Random(0))) == []
