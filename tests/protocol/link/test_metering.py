"""What a node says of itself to others: rates, queues, losses, and how long things take."""

from __future__ import annotations

import pytest

from protocol.joined import Network
from protocol.wiring import notification
from sapwood.protocol.link.metering import LATENCY_BOUNDS, SAMPLED_READS, Metering
from sapwood.protocol.messages import LoadReport, Survey, Surveyed


def busy() -> Network:
    net = Network()
    net.add("B1")
    net.add("B2", "B1")
    net.advance(2.0)
    return net


def test_a_hub_sees_by_a_survey_what_its_sites_do() -> None:
    """No admin endpoint is asked: all of it travels through the network."""
    net = busy()
    reader, writer, operator = (net.client(name, "B2") for name in ("r", "w", "o"))
    reader.subscribe("n >= 0")
    net.advance(1.0)
    writer.publish("w.1", 1, count=50)
    net.advance(0.6)
    watcher = net.client("watcher", "B1")
    watcher.tell(Survey(5))
    net.advance(0.2)
    answer = next(one for one in watcher.told if isinstance(one, Surveyed))
    loads = {one.id: one.load for one in answer.brokers}
    assert isinstance(loads["B2"], LoadReport)
    assert loads["B2"].frames_in >= 50
    assert loads["B2"].frames_out >= 50
    assert loads["B1"] is not None
    assert loads["B1"].frames_out == 0
    assert operator.got == []


def test_bytes_and_round_trips_are_of_each_neighbour() -> None:
    net = busy()
    net.client("r", "B1").subscribe("n >= 0")
    net.advance(15.0)
    before = net.nodes["B1"].peers["B2"].bytes_in
    writer = net.client("w", "B2")
    frame = next(writer.notes("w.1", 1, 1))
    writer.send(frame)
    net.advance(1.0)
    assert net.nodes["B2"].peers["B1"].bytes_out == len(frame)
    assert net.nodes["B1"].peers["B2"].bytes_in == before + len(frame)
    assert net.nodes["B1"].peers["B2"].round_trip >= 0.0


def test_the_latency_of_a_sample_goes_into_its_bucket() -> None:
    net = busy()
    metering, peer = Metering(), net.nodes["B1"].peers["B2"]
    frame = notification("p.1", {"x": 1})  # published at 0
    for _ in range(2 * SAMPLED_READS):
        metering.came(peer, frame, 1, 0.003)
    assert metering.latencies[LATENCY_BOUNDS.index(0.005)] == 2
    assert sum(metering.latencies) == 2
    for _ in range(SAMPLED_READS):
        metering.came(peer, frame, 1, 1e9)
    assert metering.latencies[-1] == 1


def test_a_clock_that_is_behind_makes_no_negative_latency() -> None:
    metering, peer = Metering(), busy().nodes["B1"].peers["B2"]
    for _ in range(SAMPLED_READS):
        metering.came(peer, notification("p.1", {"x": 1}), 1, -5.0)
    assert metering.latencies[0] == 1
    assert metering.latency_seconds == 0.0


def test_spoilt_counts_begin_anew() -> None:
    net = busy()
    metering = net.nodes["B1"].metering
    metering.latencies = None  # type: ignore[assignment]
    metering.unsampled = "x"  # type: ignore[assignment]
    metering.came(net.nodes["B1"].peers["B2"], notification("p.1", {"x": 1}), 1, 1.0)
    assert metering.latencies == Metering().latencies
    metering._before = None  # type: ignore[assignment]
    assert metering.look(net.nodes["B1"], net.now + 1.0) is None
    assert isinstance(metering.look(net.nodes["B1"], net.now + 2.0), LoadReport)


def test_a_peer_that_cannot_be_looked_at_stops_no_tick() -> None:
    """Others find that out, and mend it; nothing else may begin anew because somebody counts."""
    net = busy()
    node = net.nodes["B1"]
    node.peers["B2"].channel = None  # type: ignore[assignment]
    assert node.metering.look(node, net.now) is None


@pytest.mark.parametrize("wrong", [2**70, -1])
def test_numbers_that_nobody_could_read_are_not_told_and_are_put_right(wrong: int) -> None:
    net = busy()
    node = net.nodes["B1"]
    node.counts["given_up"] = wrong
    assert node.metering.look(node, net.now + 1.0) is None
    node.checking.screen(net.now)
    report = node.metering.look(node, net.now + 2.0)
    assert isinstance(report, LoadReport)
    assert report.given_up == 0
