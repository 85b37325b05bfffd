"""Streams that contradict themselves begin anew; without a fault nothing of that happens."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, nan
from typing import Any

import pytest

from protocol.joined import Network, RawPeer, hello_of, line_of
from sapwood.protocol.events import Tick
from sapwood.protocol.link.checking import RAISED_MAX
from sapwood.protocol.link.handshake import (
    BROKER,
    CHECKS,
    CONTRADICTION,
    LINK_CODEC,
    PROTOCOL,
    Ack,
    Check,
    GivenUp,
    Goodbye,
    Ping,
    Resume,
)
from sapwood.protocol.link.states import LineState, TargetState
from sapwood.protocol.messages import Missed
from sapwood.protocol.neighbours import RESTART
from sapwood.protocol.node import Node
from sapwood.protocol.node_invariants import node_problems
from sapwood.protocol.ports import Restart, Stop
from sapwood.protocol.stabilize.settings import StabilizationSettings

PERIOD = 4.0
SETTINGS = StabilizationSettings(refresh_seconds=PERIOD)


def network(**config: Any) -> Network:
    return line_of(1, stabilization=SETTINGS, **config)


def two(**config: Any) -> Network:
    return line_of(2, stabilization=SETTINGS, **config)


def client(net: Network, name: str = "c", **hello: Any) -> RawPeer:
    peer = net.client(name, "B1", features=(CHECKS,), **hello)
    assert CHECKS in peer.welcome.features
    return peer


def keep_alive(net: Network, seconds: float, *peers: RawPeer) -> None:
    for _ in range(int(seconds)):
        net.advance(1.0)
        for peer in peers:
            peer.say(Ping())


# --- what is said --------------------------------------------------------------------------


def test_both_ends_say_every_period_how_far_they_are() -> None:
    net = network()
    peer = client(net).subscribe("n >= 0")
    peer.publish("c.1", 1, count=3)
    keep_alive(net, 3 * PERIOD, peer)
    checks = [one for one in peer.heard if isinstance(one, Check)]
    size = sum(len(one) for one in peer.notes("c.1", 1, 3))
    assert 3 <= len(checks) <= 4
    assert checks[-1] == Check(sent=3, spent=size)
    acks = [one for one in peer.heard if isinstance(one, Ack)]
    assert len(acks) >= len(checks)
    assert acks[-1].received == 4
    assert net.nodes["B1"].counts[CONTRADICTION] == 0


def test_what_was_given_up_counts_as_sent_and_as_received() -> None:
    net = network()
    peer = net.connect(RawPeer(net), "B1")
    peer.say(hello_of("B2", role=BROKER, features=(RESTART, CHECKS)))
    net.advance(0.2)
    peer.say(GivenUp(5)).say(Check(5, 0))
    assert not peer.is_gone
    peer.say(Check(4, 0))
    assert peer.goodbye.code == CONTRADICTION


def test_older_releases_are_left_alone() -> None:
    net = network()
    peer = net.client("c", "B1")
    keep_alive(net, 3 * PERIOD, peer)
    assert peer.count(Check) == 0
    assert not peer.is_gone


def test_lines_are_not_all_looked_at_at_once() -> None:
    net = network()
    for number in range(40):
        client(net, f"c{number}")
    times = {peer.check_at for peer in net.nodes["B1"].peers.values()}
    assert len(times) > 30
    assert all(net.now < at <= net.now + PERIOD for at in times)


def test_nodes_that_are_linked_agree() -> None:
    net = two()
    reader = net.client("r", "B2").subscribe("n >= 0")
    writer = net.client("w", "B1")
    net.advance(0.2)
    for number in range(20):
        writer.publish("w.1", number)
        net.advance(PERIOD / 4)
        for peer in (reader, writer):
            peer.say(Ping())
    assert len(reader.got) == 20
    for node in net.nodes.values():
        assert node.counts[CONTRADICTION] == node.counts["connections_lost"] == 0


# --- what contradicts ----------------------------------------------------------------------


def test_frames_that_did_not_come_end_the_stream() -> None:
    net = network()
    peer = client(net).subscribe("n >= 0")
    peer.say(Check(1, 0)).say(Check(2, 0))
    assert peer.goodbye == Goodbye(CONTRADICTION, "2 frames were sent, 1 came")
    resume = Resume("B1", 1, peer.received, peer.welcome.secret)
    again = net.connect(peer.again(), "B1").say(hello_of("c", resume=(resume,)))
    assert again.welcome.resumed is None
    assert net.nodes["B1"].counts[CONTRADICTION] == 1
    assert node_problems(net.nodes["B1"]) == []


def test_bytes_that_did_not_come_end_the_connection_only() -> None:
    net = network()
    peer = client(net).subscribe("n >= 0")
    peer.say(Check(1, 7))
    assert peer.goodbye.code == PROTOCOL
    resume = Resume("B1", 1, peer.received, peer.welcome.secret)
    again = net.connect(peer.again(), "B1").say(hello_of("c", resume=(resume,)))
    assert again.welcome.resumed == 1


@pytest.mark.parametrize("received", [2, 2**40])
def test_an_acknowledgement_of_what_was_never_sent(received: int) -> None:
    net = network()
    peer = client(net, acknowledges=False).subscribe("n >= 0")
    peer.publish("c.1", 1)
    peer.say(Ack(1, 2**40))
    assert not peer.is_gone
    peer.say(Ack(received, 2**40))
    assert peer.goodbye.code == CONTRADICTION


def test_an_acknowledgement_of_less_than_before() -> None:
    net = network()
    peer = client(net, acknowledges=False).subscribe("n >= 0")
    peer.publish("c.1", 1, count=2)
    peer.say(Ack(2, 2**40)).say(Ack(1, 2**40))
    assert peer.goodbye.code == CONTRADICTION


def test_two_errors_in_a_row_at_the_same_place_end_the_stream() -> None:
    net = network()
    peer = client(net).subscribe("n >= 0")
    codes, resumed = [], []
    for _ in range(3):
        peer.send(b"\x02\x01\x00\x00\x00\x00\x00")
        codes.append(peer.goodbye.code)
        resume = Resume("B1", 1, peer.received, peer.welcome.secret)
        peer = net.connect(peer.again(), "B1").say(hello_of("c", resume=(resume,)))
        resumed.append(peer.welcome.resumed)
        if resumed[-1] is None:
            break
    assert codes == [PROTOCOL, CONTRADICTION]
    assert resumed == [1, None]


def test_progress_between_two_errors() -> None:
    net = network()
    peer = client(net)
    for number in range(3):
        peer.publish("c.1", number)
        peer.send(b"\x02\x01\x00\x00\x00\x00\x00")
        assert peer.goodbye.code == PROTOCOL
        resume = Resume("B1", 1, peer.received, peer.welcome.secret)
        peer = net.connect(peer.again(), "B1").say(hello_of("c", resume=(resume,)))
        assert peer.welcome.resumed == number + 1


def test_a_frame_that_never_ends_is_not_waited_for() -> None:
    """The second time at the same place the stream ends: what was spoilt would come for ever."""
    net = network()
    peer = client(net).subscribe("n >= 0")
    codes = []
    for _ in range(2):
        peer.send(b"\x02\x00\x02\x00\x00\x00\x00abc")
        for _ in range(100):
            if any(isinstance(one, Goodbye) for one in peer.heard):
                break
            net.advance(0.5)
            peer.send(b"x")  # it is not silent
        codes.append(peer.goodbye.code)
        resume = Resume("B1", 1, peer.received, peer.welcome.secret)
        peer = net.connect(peer.again(), "B1").say(hello_of("c", resume=(resume,)))
    assert codes == [PROTOCOL, CONTRADICTION]
    assert peer.welcome.resumed is None


def test_a_neighbour_is_told_and_both_tell_those_concerned() -> None:
    """A count is wrong on one side: the link is new, and both sides know of a gap."""
    net = two()
    readers = [net.client("r", name).subscribe("n >= 0") for name in net.nodes]
    net.advance(0.2)
    net.nodes["B1"].peers["B2"].channel.received += 1
    keep_alive(net, PERIOD + 3, *readers)
    for reader in readers:
        assert [one.count for one in reader.told if isinstance(one, Missed)] == [0]
    assert sum(node.counts[CONTRADICTION] for node in net.nodes.values()) == 1
    for name, node in net.nodes.items():
        peer = node.peers["B1" if name == "B2" else "B2"]
        assert (peer.line is not None, peer.is_over) == (True, False)
        assert node_problems(node) == []
    writer = net.client("w", "B1").publish("w.1", 1)
    net.advance(0.2)
    assert [reader.got for reader in readers] == [[("w.1", 1)]] * 2
    assert not writer.is_gone


def test_what_waits_goes_into_the_new_stream_unless_it_is_spoilt() -> None:
    for is_spoilt in (False, True):
        net = two()
        reader = net.client("r", "B2").subscribe("n >= 0")
        writer = net.client("w", "B1")
        net.advance(0.2)
        net.cut("B1", "B2")
        net.refusing.add("B1")
        writer.publish("w.1", 1)
        peer = net.nodes["B1"].peers["B2"]
        peer.is_over = True
        if is_spoilt:
            net.is_spoilt = True
            peer.channel.spool.size += 1
        net.refusing.clear()
        keep_alive(net, PERIOD + 3, reader, writer)
        assert reader.got == ([] if is_spoilt else [("w.1", 1)])
        assert [one.count for one in reader.told if isinstance(one, Missed)] == [0]


def test_nobody_takes_over_a_stream_that_is_over_without_its_secret() -> None:
    net = network()
    peer = client(net).subscribe("n >= 0")
    peer.say(Check(9, 0))
    other = net.connect(RawPeer(net), "B1").say(hello_of("c"))
    assert other.goodbye.code == "busy"


def test_a_node_that_stops_compares_nothing() -> None:
    """It does not count what comes any more, so whoever sent it keeps it."""
    net = network()
    peer = client(net, acknowledges=False).subscribe("n >= 0")
    peer.publish("c.1", 1)
    net.bring("B1", Stop())
    size = len(b"".join(peer.notes("c.1", 1, 1)))
    peer.publish("c.1", 2)
    peer.say(Check(3, 2 * size))
    assert net.nodes["B1"].counts[CONTRADICTION] == 0
    assert peer.count(Goodbye) == 0


# --- what is derived, and times ------------------------------------------------------------


def neighbour(node: Node) -> Any:
    return node.peers["B2"]


def lose_away_since(node: Node) -> None:
    neighbour(node).away_since = 5.0


def hold_nobody(node: Node) -> None:
    neighbour(node).holds["ghost"] = None


def be_held_by_nobody(node: Node) -> None:
    neighbour(node).holders["ghost"] = None
    neighbour(node).channel.withheld = True


def withhold(node: Node) -> None:
    neighbour(node).channel.withheld = True


def miscount(node: Node) -> None:
    node.client_count = 77


def watch_nobody(node: Node) -> None:
    node.keepalive.due.clear()


def watch_too_late(node: Node) -> None:
    node.keepalive.due[:] = [(inf, number) for _, number in node.keepalive.due]


def condemn(node: Node) -> None:
    neighbour(node).is_condemned = True


def be_outside(node: Node) -> None:
    neighbour(node).in_tree = False


MENDED_BEFORE = (miscount, be_outside)
"""What is agreed on with the broker by and by, before anybody looks for contradictions."""


@pytest.mark.parametrize(
    "spoil",
    [
        lose_away_since,
        hold_nobody,
        be_held_by_nobody,
        withhold,
        miscount,
        watch_nobody,
        watch_too_late,
        condemn,
        be_outside,
    ],
)
def test_what_follows_from_other_things_is_derived_again(spoil: Callable[[Node], None]) -> None:
    net = two()
    node = net.nodes["B1"]
    line = neighbour(node).line
    net.is_spoilt = True
    spoil(node)
    net.advance(PERIOD + 1.0)
    assert node_problems(node) == []
    assert neighbour(node).line is line, "the connection stays"
    assert spoil in MENDED_BEFORE or node.counts[CONTRADICTION] >= 1


@pytest.mark.parametrize("time", [-1e12, 1e12, nan, inf])
@pytest.mark.parametrize("field", ["check_at", "progress_at", "heard_at", "congested_since"])
def test_no_time_of_a_peer_stops_anything(field: str, time: float) -> None:
    net = two()
    reader = client(net).subscribe("n >= 0")
    net.is_spoilt = True
    setattr(net.nodes["B1"].peers["B2"], field, time)
    setattr(net.nodes["B1"].peers["c.1"], field, time)
    before = reader.count(Check)
    keep_alive(net, 2 * PERIOD, reader)
    assert reader.count(Check) > before
    assert node_problems(net.nodes["B1"]) == []


@pytest.mark.parametrize("time", [-1e12, 1e12, nan])
def test_a_client_that_is_away_is_let_go_whenever_that_was(time: float) -> None:
    net = network()
    client(net).leave()
    node = net.nodes["B1"]
    node.peers["c.1"].away_since = time
    net.advance(node.config.client.grace_seconds + 2.0)
    assert "c.1" not in node.peers


@pytest.mark.parametrize("time", [-1e12, 1e12, nan, inf])
@pytest.mark.parametrize("field", ["heard_at", "wrote_at"])
def test_no_time_of_a_line_keeps_a_dead_one_or_says_nothing(field: str, time: float) -> None:
    net = two()
    line = net.nodes["B1"].peers["B2"].line
    assert line is not None
    setattr(line, field, time)
    net.freeze("B1", "B2")
    net.advance(25.0)
    assert net.nodes["B1"].peers["B2"].line is not line


@pytest.mark.parametrize("time", [1e12, nan, inf])
def test_no_time_of_a_target_stops_dialing(time: float) -> None:
    for state in (TargetState.WAITING, TargetState.DIALING, TargetState.CALLING):
        net = two()
        net.cut("B1", "B2")
        target = net.nodes["B2"].dialing.targets[0]
        target.state, target.at = state, time
        net.advance(3.0)
        assert net.nodes["B2"].peers["B1"].line is not None


def test_a_target_is_never_given_up_by_itself() -> None:
    net = two()
    net.cut("B1", "B2")
    target = net.nodes["B2"].dialing.targets[0]
    net.is_spoilt = True
    target.state, target.delay = TargetState.GIVEN_UP, nan
    net.advance(PERIOD + 3.0)
    assert net.nodes["B2"].peers["B1"].line is not None


@pytest.mark.parametrize("time", [1e12, nan, inf])
def test_no_time_keeps_somebody_who_says_nothing(time: float) -> None:
    net = network()
    silent = net.dial("B1")
    number = next(iter(net.nodes["B1"].admission.greeting))
    net.nodes["B1"].admission.greeting[number] = time
    net.advance(1.0)
    assert silent.goodbye.code == PROTOCOL


@pytest.mark.parametrize("time", [-1e12, 1e12, nan, inf])
def test_an_examination_ends(time: float) -> None:
    net = two()
    net.freeze("B1", "B2")
    applicant = net.dial("B1").say(hello_of("B3", role=BROKER))
    found = next(iter(net.nodes["B1"].admission.applicants.values()))
    found.until = time
    net.advance(1.0)
    assert applicant.goodbye.code == "busy"


@pytest.mark.parametrize("time", [-1e12, 1e12, nan, inf])
@pytest.mark.parametrize("field", ["_acknowledge_at", "_look_at"])
def test_no_time_of_a_node_stops_it(field: str, time: float) -> None:
    net = network()
    peer = client(net)
    net.is_spoilt = True
    setattr(net.nodes["B1"], field, time)
    peer.publish("c.1", 1)
    net.advance(1.0)
    assert peer.last(Ack).received == 1


@pytest.mark.parametrize("time", [1e12, nan])
def test_a_stop_ends(time: float) -> None:
    net = network(leave_seconds=0.5)
    peer = client(net, acknowledges=False).subscribe("n >= 0")
    peer.publish("c.1", 1)
    net.stop("B1")
    stopping = net.nodes["B1"].stopping
    assert stopping is not None
    stopping._until = stopping._linger_until = time
    net.advance(0.5)
    assert peer.goodbye.code == "shutdown"


# --- what cannot happen --------------------------------------------------------------------


def test_in_tests_it_is_raised() -> None:
    net = network()
    peer = client(net)
    net.nodes["B1"].peers["c.1"].channel.received = None  # type: ignore[assignment]
    with pytest.raises(TypeError):
        peer.publish("c.1", 1)


def test_in_production_whoever_it_was_about_begins_anew() -> None:
    net = network(raises_faults=False)
    reader = client(net, "r").subscribe("n >= 0")
    spoilt = client(net, "s").subscribe("n >= 0")
    node = net.nodes["B1"]
    net.is_spoilt = True
    node.peers["s.1"].channel.spool.size = None  # type: ignore[assignment]
    client(net, "w").publish("w.1", 1)
    assert reader.got == [("w.1", 1)], "the others get it"
    assert spoilt.goodbye.code == CONTRADICTION
    assert (node.counts["impossible"], node.peers["s.1"].is_over) == (1, True)
    assert node_problems(node) == []


def test_what_came_when_it_raised_is_not_acknowledged() -> None:
    net = network(raises_faults=False)
    writer = client(net, "w")
    node = net.nodes["B1"]
    node.peers["w.1"].channel._granted = None  # type: ignore[assignment]
    writer.publish("w.1", 1)
    assert (writer.is_gone, node.peers["w.1"].is_over) == (True, True)
    assert all(ack.received == 0 for ack in writer.heard if isinstance(ack, Ack))


def test_if_nothing_helps_all_begins_anew() -> None:
    net = two(raises_faults=False)
    reader = client(net, "r").subscribe("n >= 0")
    node = net.nodes["B1"]
    net.is_spoilt = True
    node.lines[next(iter(node.lines))].state = "ghost"  # type: ignore[assignment]
    node.peers["B2"].line = 3  # type: ignore[assignment]
    node.admission.applicants = None  # type: ignore[assignment]
    net.advance(PERIOD + 5.0)
    assert node_problems(node) == []
    assert node.peers["B2"].line is not None
    assert node.peers["B2"].line.state is LineState.OPEN
    assert reader.count(Goodbye) + reader.is_gone >= 0


def test_a_check_is_a_message_of_the_connection() -> None:
    check = Check(3, 2**40)
    assert LINK_CODEC.decode(LINK_CODEC.encode(check)[7:]) == check
    assert len(LINK_CODEC.encode(check)) <= 60


SPOILT_BROKERS: list[Callable[[Node], None]] = [
    lambda node: setattr(node.broker, "clients", None),
    lambda node: setattr(node.broker, "neighbours", {}),
    lambda node: setattr(node.broker, "tree", None),
    lambda node: setattr(node.broker, "restoration", None),
    lambda node: setattr(node.broker.neighbours["B2"], "features", None),
    lambda node: setattr(node.broker.tree, "parent", 7),
    lambda node: setattr(node.broker.clients, "_claims", {1: {}}),
]


@pytest.mark.parametrize("spoil", SPOILT_BROKERS)
def test_a_broker_that_cannot_be_read_is_reborn_before_anybody_is_blamed(
    spoil: Callable[[Node], None],
) -> None:
    net = two(raises_faults=False)
    reader = client(net).subscribe("n >= 0")
    node = net.nodes["B1"]
    net.is_spoilt = True
    spoil(node)
    node.checking.impossible(ValueError("test"), None, net.now)
    assert node.broker.faults["impossible"] == 1
    keep_alive(net, 2 * PERIOD, reader)
    assert node_problems(node) == []
    assert {"c.1", "B2"} <= {*node.peers}
    assert node.broker.faults["impossible"] == 1, "once is enough"


def test_too_many_faults_in_one_period_end_the_session() -> None:
    net = two(raises_faults=False)
    node = net.nodes["B1"]
    net.is_spoilt = True
    for _ in range(RAISED_MAX):
        node.checking.impossible(ValueError("test"), None, net.now)
    assert net.asked("B1", Restart) == []
    assert not any(isinstance(one, Restart) for one in node.handle(Tick(), net.now))
    node.checking.impossible(ValueError("test"), None, net.now)
    assert any(isinstance(one, Restart) for one in node.handle(Tick(), net.now))


def test_faults_of_another_period_do_not_count() -> None:
    net = two(raises_faults=False)
    node = net.nodes["B1"]
    net.is_spoilt = True
    for number in range(3 * RAISED_MAX):
        node.checking.impossible(ValueError("test"), None, net.now + number * PERIOD / 4)
    assert not any(isinstance(one, Restart) for one in node.handle(Tick(), net.now))
