"""Links between nodes that break, freeze and slow down, in virtual time.

The same as tests/runtime/test_link_faults.py over real sockets, with many more faults.
"""

from __future__ import annotations

from random import Random

import msgspec
import pytest

from sapwood.protocol.link.limits import LinkLimits
from sapwood.sim.faithful.network import FaithfulNetwork
from sim.faithful.loading import (
    PAYLOAD,
    QUICK_LINK,
    Publisher,
    client,
    got,
    line,
    missed,
    sequences,
)

pytestmark = pytest.mark.slow

FRAME_BYTES = len(PAYLOAD) + 50


def break_often(network: FaithfulNetwork, chance: Random, times: int) -> None:
    """Break the connection after a random byte of either direction, or freeze it."""
    driver = network.driver
    for number in range(times):
        before = driver.connections
        if number % 25 == 24:
            network.freeze("B1", "B2")
            assert driver.run_until(lambda: not network.is_linked("B1", "B2"), 10, step=0.05)
            network.thaw("B1", "B2")
        else:
            source, target = chance.choice((("B1", "B2"), ("B2", "B1")))
            driver.cut_after(source, target, chance.randint(1, 3000))
        assert driver.run_until(
            lambda before=before: (
                driver.connections > before  # type: ignore[misc]
                and network.is_linked("B1", "B2")
            ),
            20,
            step=0.01,
        )


def cuts_under_load(seed: int, times: int) -> None:
    network = line(2, seed)
    left = client(network, "left.1", "B1", "side = 'right'")
    right = client(network, "right.1", "B2", "side = 'left'")
    load = [
        Publisher(network, "right.1", rate=150, near=left, side="right"),
        Publisher(network, "left.1", rate=150, near=right, side="left"),
    ]
    break_often(network, Random(seed), times)
    for publisher in load:
        publisher.stop()
    assert network.driver.run_until(network.is_idle, 20)
    for name, there, publisher in (("right.1", left, load[0]), ("left.1", right, load[1])):
        assert sequences(there, name) == list(range(1, publisher.count + 1))
        assert there.reports == []
        assert publisher.count > 5 * times
    # Now and then it is the handshake that is cut.
    assert network.nodes["B1"].counts["resumed"] > times * 0.8
    assert network.count("given_up") == 0


def test_a_link_cut_all_the_time_loses_and_repeats_nothing() -> None:
    cuts_under_load(seed=4, times=300)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10, 14))
def test_a_link_cut_thousands_of_times(seed: int) -> None:
    cuts_under_load(seed, times=1000)


def test_a_connection_that_is_half_open_is_noticed_in_the_stated_time() -> None:
    """Silence, and a look at most. Nothing is lost by it."""
    network = line(2)
    left = client(network, "left.1", "B1", "n >= 0")
    client(network, "right.1", "B2")
    silence = QUICK_LINK.silence_seconds
    network.freeze("B1", "B2")
    frozen_at = network.kernel.now
    Publisher(network, "right.1", count=5)
    peer = network.nodes["B1"].peers["B2"]
    assert network.driver.run_until(lambda: peer.line is None, 10, step=0.01)
    assert silence * 0.7 <= network.kernel.now - frozen_at <= silence * 1.25
    assert left.deliveries == []
    network.thaw("B1", "B2")
    assert network.driver.run_until(network.is_idle, 10)
    assert sequences(left, "right.1") == [1, 2, 3, 4, 5]


def test_an_idle_connection_is_kept_alive() -> None:
    network = line(2)
    (end,) = network.driver.ends_between("B2", "B1")
    before = end.received
    network.driver.run(600)
    assert end.received > before + 1000
    assert network.count("connections_lost") == 0
    assert network.driver.connections == 1
    assert network.faults() == {}


def test_an_outage_of_ten_times_the_buffer_is_counted_to_the_last_notification() -> None:
    limits = changed(buffer_bytes=64 * 1024, window_bytes=16 * 1024)
    network = line(2, link=limits)
    left = client(network, "left.1", "B1", "n >= 0")
    client(network, "right.1", "B2")
    load = Publisher(network, "right.1")
    assert network.driver.run_until(lambda: got(left, "right.1") > 500, 10)
    network.refuse("B1", "B2")
    network.cut("B1", "B2")
    stream = network.nodes["B2"].peers["B1"].channel
    begin = stream.last
    assert network.driver.run_until(
        lambda: (stream.last - begin) * FRAME_BYTES > 10 * limits.buffer_bytes, 60
    )
    assert stream.buffered <= limits.buffer_bytes
    network.refuse("B1", "B2", is_refused=False)
    assert network.driver.run_until(lambda: missed(left) > 0, 20)
    load.stop()
    assert network.driver.run_until(network.is_idle, 20)
    assert got(left, "right.1") + missed(left) == load.count
    assert missed(left) == network.nodes["B2"].counts["given_up"] > 0
    assert sequences(left, "right.1") == sorted(sequences(left, "right.1"))
    afterwards = Publisher(network, "right.1", count=500)
    assert network.driver.run_until(lambda: afterwards.is_done and network.is_idle(), 20)
    wanted = list(range(load.count + 1, load.count + 501))
    assert sequences(left, "right.1")[-500:] == wanted
    assert got(left, "right.1") + missed(left) == load.count + 500


def test_the_backlog_of_an_outage_drains_whole() -> None:
    """A link that drains is not slow, however long it takes."""
    limits = changed(buffer_bytes=2**20, window_bytes=16 * 1024, slow_seconds=1.0)
    network = line(2, link=limits)
    left = client(network, "left.1", "B1", "n >= 0")
    client(network, "right.1", "B2")
    network.refuse("B1", "B2")
    network.cut("B1", "B2")
    load = Publisher(network, "right.1", count=5000)
    assert network.driver.run_until(lambda: load.is_done, 60)
    network.slow("B1", "B2", 50_000)
    network.refuse("B1", "B2", is_refused=False)
    again = Publisher(network, "right.1", count=500, rate=100)
    assert network.driver.run_until(lambda: again.is_done and network.is_idle(), 120)
    assert network.kernel.now > 15
    assert sequences(left, "right.1") == list(range(1, 5501))
    assert left.reports == []


def test_a_slow_link_slows_its_publishers_and_loses_nothing() -> None:
    limits = changed(buffer_bytes=128 * 1024, window_bytes=16 * 1024, slow_seconds=1.0)
    network = line(3, link=limits)
    left = client(network, "left.1", "B1", "n >= 0")
    client(network, "right.1", "B3", buffer_bytes=2**16)
    network.slow("B1", "B2", 40_000)
    load = Publisher(network, "right.1", count=6000, rate=2000)
    assert network.driver.run_until(lambda: load.is_done and network.is_idle(), 120)
    assert network.kernel.now > 6000 * len(PAYLOAD) / 40_000
    assert sequences(left, "right.1") == list(range(1, 6001))
    assert left.reports == []


def test_a_slow_neighbour_slows_its_publishers_and_nobody_else() -> None:
    """Credits hold the publisher back before anything is given up; others go on."""
    limits = changed(buffer_bytes=128 * 1024, window_bytes=16 * 1024)
    network = line(2, link=limits)
    network.add_broker("B3", ("B1",))
    assert network.driver.run_until(lambda: network.is_joined("B1", "B3"), 5)
    slow = client(network, "slow.1", "B2", "to = 'both'")
    quick = client(network, "quick.1", "B3", "to = 'both' or to = 'quick'")
    client(network, "both.1", "B1", buffer_bytes=2**17)
    client(network, "other.1", "B1")
    network.driver.route("B1", "B2").bytes_per_second = 100_000
    held_back = Publisher(network, "both.1", count=6000, rate=5000, to="both")
    assert network.driver.run_until(lambda: len(network.nodes["B1"].flow) > 0, 20)
    free = Publisher(network, "other.1", count=1000, rate=2000, to="quick")
    assert network.driver.run_until(lambda: got(quick, "other.1") == 1000, 2)
    assert free.is_done
    assert not held_back.is_done
    assert got(slow, "both.1") < 6000
    assert network.driver.run_until(lambda: held_back.is_done and network.is_idle(), 60)
    assert sequences(slow, "both.1") == list(range(1, 6001))
    assert sequences(quick, "both.1") == list(range(1, 6001))
    assert slow.reports == quick.reports == []
    assert network.count("given_up") == 0


def test_a_neighbour_that_stands_still_holds_others_back_for_the_stated_time_only() -> None:
    limits = changed(
        buffer_bytes=64 * 1024, window_bytes=16 * 1024, slow_seconds=0.5, silence_seconds=30.0
    )
    network = line(2, link=limits)
    network.add_broker("B3", ("B1",))
    assert network.driver.run_until(lambda: network.is_joined("B1", "B3"), 5)
    stuck = client(network, "stuck.1", "B2", "n >= 0", silence_seconds=60.0)
    quick = client(network, "quick.1", "B3", "n >= 0")
    client(network, "load.1", "B1", buffer_bytes=2**17)
    network.driver.hang(network.driver.hosts["B2"])
    Publisher(network, "load.1", count=1500, rate=5000)
    assert network.driver.run_until(lambda: got(quick, "load.1") == 1500, 20)
    assert network.nodes["B1"].counts["given_up"] > 0
    network.driver.resume(network.driver.hosts["B2"])
    assert network.driver.run_until(network.is_idle, 20)
    network.driver.run_until(lambda: got(stuck, "load.1") + missed(stuck) >= 1500, 5)
    assert got(stuck, "load.1") + missed(stuck) == 1500
    assert missed(stuck) == network.nodes["B1"].counts["given_up"]
    assert sequences(stuck, "load.1") == sorted(sequences(stuck, "load.1"))
    assert quick.reports == []


def test_both_directions_saturated_do_not_stop_each_other() -> None:
    limits = changed(buffer_bytes=32 * 1024, window_bytes=4 * 1024)
    network = line(3, link=limits)
    left = client(network, "left.1", "B1", "side = 'right'", buffer_bytes=2**16)
    right = client(network, "right.1", "B3", "side = 'left'", buffer_bytes=2**16)
    network.slow("B1", "B2", 100_000)
    load = [
        Publisher(network, "right.1", count=3000, rate=10_000, side="right"),
        Publisher(network, "left.1", count=3000, rate=10_000, side="left"),
    ]
    assert network.driver.run_until(
        lambda: all(one.is_done for one in load) and network.is_idle(), 60
    )
    assert sequences(left, "right.1") == list(range(1, 3001))
    assert sequences(right, "left.1") == list(range(1, 3001))
    assert left.reports == right.reports == []


def changed(**limits: float) -> LinkLimits:
    return msgspec.structs.replace(QUICK_LINK, **limits)
