"""Brokers that restart under load: what neighbours could keep is not lost, the rest is reported."""

from __future__ import annotations

import pytest

from sapwood.sim.faithful.driver import Crash
from sim.faithful.loading import Publisher, client, got, line, missed, sequences

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("down_seconds", [0.0, 1.0, 5.0])
@pytest.mark.parametrize("seed", range(5))
def test_an_orderly_restart_in_the_middle_loses_nothing(seed: int, down_seconds: float) -> None:
    network = line(4, seed)
    left = client(network, "left.1", "B1", "n >= 0")
    client(network, "right.1", "B4")
    load = Publisher(network, "right.1", rate=500)
    network.driver.run(1)
    network.stop("B2")
    assert network.driver.run_until(lambda: "B2" not in network.nodes, 5, step=0.01)
    network.driver.run(down_seconds)
    network.restart("B2")
    network.driver.run(5)
    load.stop()
    assert network.driver.run_until(network.is_idle, 20)
    assert sequences(left, "right.1") == list(range(1, load.count + 1))
    assert left.reports == []


@pytest.mark.parametrize("seed", range(3))
def test_one_broker_after_the_other_is_restarted_and_nobody_misses_anything(seed: int) -> None:
    """An upgrade of all that are in the middle, one of them twice."""
    network = line(5, seed)
    left = client(network, "left.1", "B1", "n >= 0")
    client(network, "right.1", "B5")
    load = Publisher(network, "right.1", rate=100)
    for name in ("B2", "B3", "B3", "B4"):
        network.driver.run(3)
        network.stop(name)
        network.driver.run(3)
        assert name not in network.nodes
        network.restart(name)
    network.driver.run(5)
    load.stop()
    assert network.driver.run_until(network.is_idle, 20)
    assert sequences(left, "right.1") == list(range(1, load.count + 1))
    assert left.reports == []


@pytest.mark.parametrize("how", list(Crash))
@pytest.mark.parametrize("seed", range(5))
def test_a_crash_in_the_middle_loses_what_was_inside_and_says_so(seed: int, how: Crash) -> None:
    network = line(4, seed)
    left = client(network, "left.1", "B1", "n >= 0")
    client(network, "right.1", "B4")
    load = Publisher(network, "right.1", rate=500)
    network.driver.run(1)
    network.crash("B2", how)
    network.driver.run(0.5)
    network.restart("B2")
    network.driver.run(10)
    load.stop()
    assert network.driver.run_until(network.is_idle, 20)
    arrived = sequences(left, "right.1")
    assert arrived == sorted(set(arrived))
    lost = load.count - got(left, "right.1")
    # What was under way in and around the dead process, until the others knew.
    assert lost < (600 if how is Crash.SILENT else 200)
    if lost:
        assert left.reports
    assert missed(left) <= load.count
