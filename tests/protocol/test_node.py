"""Tests for a node: what goes through it, who is slow, who is silent, and what time does."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from protocol.joined import CREDIT, Network, RawPeer, hello_of, line_of
from sapwood.protocol.events import Tick
from sapwood.protocol.link.handshake import (
    BROKER,
    LINK_CODEC,
    PROTOCOL,
    SLOW_CONSUMER,
    Ack,
    GivenUp,
    Goodbye,
    Ping,
    Pong,
    Resume,
)
from sapwood.protocol.link.limits import ClientLimits, LinkLimits
from sapwood.protocol.link.line import Line
from sapwood.protocol.link.overflow import EXCESS_MAX
from sapwood.protocol.link.states import LineState
from sapwood.protocol.messages import CODEC, Missed, Refused, Subscribe
from sapwood.protocol.node import Node
from sapwood.protocol.node_config import NodeConfig
from sapwood.protocol.ports import (
    TICK_SECONDS,
    Abort,
    Close,
    Connected,
    Data,
    Disconnected,
    Unsent,
    Write,
)
from sapwood.wire.frames import LINK, frame

SMALL = ClientLimits(buffer_bytes=64 * 1024, window_bytes=8 * 1024)
PAYLOAD = bytes(1000)


def sequences(peer: RawPeer) -> list[int]:
    return [sequence for _, sequence in peer.got]


def network(**config: Any) -> Network:
    net = Network()
    net.add("B1", **config)
    return net


# What goes through


def test_a_notification_goes_out_with_the_read_that_brought_it() -> None:
    """The whole list of effects: a write to the subscriber, and the acknowledgement later."""
    net = network()
    for number, name in ((1, "s"), (2, "p")):
        net.bring("B1", Connected(number))
        net.bring("B1", Data(number, LINK_CODEC.encode(hello_of(name))))
    net.bring("B1", Data(1, CODEC.encode(Subscribe("1", "n >= 0"))))
    net.advance(1.0)
    (note,) = RawPeer(net).notes("p.1", 1, 1)
    assert net.bring("B1", Data(2, note)) == [Write(1, note)]
    node = net.nodes["B1"]
    assert node.deadline == net.now + node.config.ack_seconds
    net.now = node.deadline
    credit = node.config.client.window_bytes + len(note)
    assert Write(2, LINK_CODEC.encode(Ack(1, credit))) in net.bring("B1", Tick())


def test_all_that_one_event_brings_leaves_as_one_write_for_each_line() -> None:
    net = network()
    reader, publisher = net.client("s", "B1").subscribe("n >= 0"), net.client("p", "B1")
    net.advance(0.1)
    assert publisher.end is not None
    data = b"".join(publisher.notes("p.1", 1, 100)) + LINK_CODEC.encode(Ping(5))
    effects = net.bring("B1", Data(publisher.end.other.number, data))
    writes = [effect for effect in effects if isinstance(effect, Write)]
    assert sorted(effect.connection for effect in writes) == sorted(
        peer.end.other.number for peer in (reader, publisher) if peer.end is not None
    )
    assert len(writes) == len(effects)


def test_a_refusal_is_there_before_the_acknowledgement_of_what_is_refused() -> None:
    net = network()
    client = net.client("p", "B1")
    client.publish("somebody.1", 1, 64)  # as many as are acknowledged at once
    net.advance(0.1)
    heard = [type(one) for one in (*client.told, *client.heard)]
    assert Refused in heard
    raw = client.raw
    assert raw.index(b"Refused") < raw.index(b"Ack")


def test_nothing_is_carried_for_lines_that_nobody_knows() -> None:
    net = network()
    assert net.bring("B1", Data(99, b"\xff" * 100)) == [Abort(99, "nobody knows this connection")]
    assert net.bring("B1", Disconnected(99)) == []
    assert net.bring("B1", Unsent(99, 2**40)) == []


def test_it_shows_who_it_is() -> None:
    assert repr(network(session=7).nodes["B1"]) == "<node B1.7>"


# Who breaks the protocol


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"\x02\xff\xff\xff\xff\x00\x00", "at most 16777216 are taken"),
        (LINK_CODEC.encode(hello_of("a")), "Hello after the handshake"),
        (frame(LINK, b"", b"\x00"), "does not decode"),
    ],
)
def test_a_client_that_breaks_the_protocol_is_told_and_the_network_does_not_notice(
    data: bytes, words: str
) -> None:
    net = line_of(2)
    other = net.client("o", "B1").subscribe("n = 1")
    publisher = net.client("p", "B2")
    client = net.client("a", "B1").send(data)
    net.advance(0.5)
    assert client.goodbye.code == PROTOCOL
    assert words in client.goodbye.reason
    publisher.publish("p.1", 1)
    net.advance(0.1)
    assert sequences(other) == [1]


def test_a_frame_before_the_handshake_ends_the_line() -> None:
    net = network()
    client = net.dial("B1").subscribe("n = 1")
    assert client.goodbye == Goodbye(PROTOCOL, "a frame before the handshake is done")


def test_who_sends_far_more_than_its_credit_is_sent_away() -> None:
    """Whoever it sends to does not keep up, so it gets no credit; a client that minds waits."""
    net = network(link=LinkLimits(buffer_bytes=128 * 1024, slow_seconds=100.0))
    far = net.connect(RawPeer(net, acknowledges=False), "B1")
    far.say(hello_of("B2", role=BROKER, credit=1)).subscribe("n >= 0")
    client = net.client("p", "B1")
    payload = bytes(20_000)
    sent = 0
    while not client.is_gone:
        for _ in range(30):  # fewer than are acknowledged at once
            client.publish("p.1", 1, 1, payload)
        net.advance(0.05)
        sent += 30 * len(payload)
        assert sent < EXCESS_MAX + 2**21
    assert sent > EXCESS_MAX  # one message may always be whole
    assert client.goodbye == Goodbye(PROTOCOL, "sent more than it was given credit for")


# Slow clients


def slow_client(net: Network, policy: str) -> RawPeer:
    """It subscribes to everything, and then neither reads nor acknowledges."""
    slow = net.client("slow", "B1", acknowledges=False, slow_policy=policy, credit=4096)
    slow.subscribe("n >= 0")
    net.advance(0.1)
    return slow


def test_a_slow_client_loses_the_oldest_and_is_told_how_many() -> None:
    net = network(client=SMALL)
    slow, quick = slow_client(net, ""), net.client("q", "B1").subscribe("n >= 0")
    publisher = net.client("p", "B1")
    for _ in range(300):
        publisher.publish("p.1", 1, 1, PAYLOAD)
    assert sequences(quick) == list(range(1, 301))
    lost = net.nodes["B1"].counts["given_up"]
    assert lost > 200
    slow.acknowledges = True
    slow.say(Ack(len(slow.frames), CREDIT))
    assert (len(slow.got), slow.missed) == (300 - lost, lost)
    assert sequences(slow) == sorted(set(sequences(slow)))
    assert sequences(slow)[-1] == 300


def test_a_slow_client_can_ask_to_be_disconnected_instead() -> None:
    net = network(client=SMALL)
    slow = slow_client(net, "disconnect")
    net.client("p", "B1").publish("p.1", 1, 100, PAYLOAD)
    reason = "the client does not keep up with what it subscribed"
    assert slow.goodbye == Goodbye(SLOW_CONSUMER, reason)
    node = net.nodes["B1"]
    assert node.counts["slow_clients_disconnected"] == 1
    assert list(node.peers) == ["p.1"]


def test_a_slow_client_can_hold_back_those_who_publish_to_it() -> None:
    net = network(client=SMALL)
    slow, publisher = slow_client(net, "block"), Polite(net, "p", "B1")
    publisher.offer(300)
    net.advance(1.0)
    assert publisher.left > 0
    assert len(net.nodes["B1"].flow) == 1
    net.advance(25.0)  # as long as it takes
    assert publisher.left > 0
    slow.acknowledges = True
    slow.say(Ack(len(slow.frames), CREDIT))
    net.advance(1.0)
    assert (publisher.left, len(slow.got), slow.missed) == (0, 300, 0)
    assert net.nodes["B1"].counts["given_up"] == 0


class Polite:
    """A client that publishes no more than it has credit for."""

    def __init__(self, net: Network, name: str, at: str) -> None:
        self.peer = net.client(name, at)
        self.name = f"{name}.1"
        self.net = net
        self.left = 0
        self._spent = 0
        hear = self.peer.hear

        def heard(data: bytes) -> None:
            hear(data)
            self._go_on()

        self.peer.hear = heard  # type: ignore[method-assign]

    @property
    def credit(self) -> int:
        granted = [one.credit for one in self.peer.heard if isinstance(one, Ack)]
        return (granted or [self.peer.welcome.credit])[-1]

    def offer(self, count: int) -> None:
        """Publish so many more, as soon as that may be."""
        self.left += count
        self._go_on()
        self.net.run()

    def _go_on(self) -> None:
        assert self.peer.end is not None
        while self.left and self._spent < self.credit:
            (note,) = self.peer.notes(self.name, 1, 1, PAYLOAD)
            self._spent += len(note)
            self.left -= 1
            self.net.write(self.peer.end, note)


# Slow neighbours


def test_a_slow_but_living_link_withholds_credit_and_gives_nothing_up() -> None:
    """A trickle goes over the link for ten minutes: the publisher waits, and nothing is lost."""
    link = LinkLimits(buffer_bytes=128 * 1024, window_bytes=16 * 1024, slow_seconds=5.0)
    net = network(link=link)
    far = net.connect(RawPeer(net, acknowledges=False), "B1")
    far.say(hello_of("B2", role=BROKER, credit=8 * 1024)).subscribe("n >= 0")
    publisher = Polite(net, "p", "B1")
    publisher.offer(500)
    node = net.nodes["B1"]
    credit = 8 * 1024
    waited = 0
    while len(far.got) < 500:
        waited += node.peers["p.1"].channel.withheld
        net.advance(4.0)
        credit += 4 * 1024
        far.say(Ack(far.received, credit))
    assert waited > 50
    assert (sequences(far), far.missed) == (list(range(1, 501)), 0)
    assert (node.counts["given_up"], publisher.left) == (0, 0)


def test_a_neighbour_that_takes_nothing_holds_others_back_for_a_stated_time_only() -> None:
    link = LinkLimits(
        buffer_bytes=128 * 1024, window_bytes=16 * 1024, slow_seconds=5.0, silence_seconds=100.0
    )
    net = network(link=link)
    far = net.connect(RawPeer(net, acknowledges=False), "B1")
    far.say(hello_of("B2", role=BROKER, credit=1)).subscribe("n >= 0")
    publisher = Polite(net, "p", "B1")
    publisher.offer(300)
    net.advance(4.0)
    node = net.nodes["B1"]
    assert (node.counts["given_up"], publisher.left > 0) == (0, True)
    net.advance(2.0)
    assert node.counts["given_up"] > 0
    net.advance(60.0)
    assert publisher.left == 0
    far.acknowledges = True
    far.say(Ack(far.received, CREDIT))
    assert len(far.got) + far.missed == 300
    assert far.missed == node.counts["given_up"]


@pytest.mark.slow
def test_the_backlog_of_an_outage_is_not_cut_while_the_link_drains() -> None:
    """It is far more than half of the buffer, and takes far longer than slow_seconds."""
    link = LinkLimits(buffer_bytes=256 * 1024, window_bytes=16 * 1024, slow_seconds=5.0)
    net = network(link=link)
    far = net.connect(RawPeer(net), "B1")
    far.say(hello_of("B2", role=BROKER)).subscribe("n >= 0")
    net.advance(0.2)
    far.leave()
    publisher = net.client("p", "B1")
    for _ in range(200):
        publisher.publish("p.1", 1, 1, PAYLOAD)
    net.advance(360.0)
    again = net.connect(far.again(acknowledges=False), "B1")
    resume = Resume("B1", 1, far.received, far.welcome.secret)
    again.say(hello_of("B2", role=BROKER, resume=(resume,), credit=4096))
    credit, more = 4096, 0
    while len(again.got) < 200 + more:
        if more < 100:
            publisher.publish("p.1", 1, 1, PAYLOAD)  # so that the link is congested
            more += 1
        net.advance(2.0)
        credit += 4096
        again.say(Ack(again.received, credit)).say(Pong())
    assert sequences(again) == list(range(1, 201 + more))
    assert (again.missed, net.nodes["B1"].counts["given_up"]) == (0, 0)


@pytest.mark.slow
def test_a_slow_link_slows_publishers_two_brokers_away() -> None:
    """The broker between them drains for longer than slow_seconds before it gives credit again."""
    link = LinkLimits(buffer_bytes=128 * 1024, window_bytes=16 * 1024, slow_seconds=5.0)
    net = line_of(2, link=link)
    far = net.connect(RawPeer(net, acknowledges=False), "B2")
    far.say(hello_of("B3", role=BROKER, credit=8 * 1024))
    net.advance(0.5)
    far.say(Ack(far.received, 8 * 1024)).subscribe("n >= 0")
    net.advance(0.5)
    publisher = Polite(net, "p", "B1")
    publisher.offer(600)
    credit, step = 8 * 1024, 0
    while len(far.got) < 600 and step < 200:
        net.advance(2.0)
        credit, step = credit + 8 * 1024, step + 1
        far.say(Ack(far.received, credit)).say(Pong())
    assert (sequences(far), far.missed) == (list(range(1, 601)), 0)
    assert net.nodes["B1"].counts["given_up"] == net.nodes["B2"].counts["given_up"] == 0


def test_what_a_neighbour_gave_up_is_acknowledged_and_told() -> None:
    net = network()
    client = net.client("s", "B1").subscribe("n >= 0")
    far = net.connect(RawPeer(net), "B1").say(hello_of("B2", role=BROKER))
    net.advance(0.2)
    far.say(GivenUp(7))
    net.advance(0.1)
    assert [one.count for one in client.told if isinstance(one, Missed)] == [7]
    assert far.last(Ack).received == 7


# Control messages that nobody takes


@pytest.mark.slow
def test_a_client_that_sends_but_does_not_read_is_sent_away() -> None:
    """Its answers overrun the room for control messages."""
    small = ClientLimits(buffer_bytes=64 * 1024, control_bytes=64 * 1024)
    net = network(client=small)
    client = net.client("deaf", "B1", acknowledges=False)
    for number in range(1000):
        client.tell(Subscribe("1", "this is ( no filter", number))
    net.advance(1.0)
    node = net.nodes["B1"]
    assert client.goodbye == Goodbye(SLOW_CONSUMER, "too many control messages wait")
    assert (node.counts["overruns"], node.peers) == (1, {})


def test_a_line_on_which_far_too_much_waits_is_aborted() -> None:
    net = network(client=ClientLimits(buffer_bytes=64 * 1024, control_bytes=64 * 1024))
    net.bring("B1", Connected(7))
    net.bring("B1", Data(7, LINK_CODEC.encode(hello_of("a"))))
    limit = 128 * 1024 + EXCESS_MAX
    assert net.bring("B1", Unsent(7, limit)) == []
    expected = Abort(7, "the other side sends, but does not read")
    assert net.bring("B1", Unsent(7, limit + 1)) == [expected]
    assert net.nodes["B1"].peers["a.1"].line is None


# Silence


def test_a_dead_line_is_noticed_and_a_living_one_is_kept_alive() -> None:
    net = network(client=ClientLimits(silence_seconds=4.0))
    quiet = net.client("q", "B1", silence=2.0, acknowledges=False)
    peer = net.nodes["B1"].peers["q.1"]
    net.advance(3.9)
    assert peer.line is not None
    assert quiet.count(Ping) >= 4  # each before a half of its patience is over
    net.advance(1.0)
    assert (peer.away_since is not None, quiet.is_gone) == (True, True)


@pytest.mark.slow
def test_two_nodes_keep_each_other_alive_for_hours() -> None:
    net = line_of(2)
    net.advance(3600.0)
    assert net.nodes["B1"].counts["connections_lost"] == 0
    net.freeze("B1", "B2")
    net.advance(11.0)
    assert net.nodes["B1"].counts["connections_lost"] >= 1


def test_who_stood_still_itself_takes_nobody_for_dead() -> None:
    net = line_of(2)
    node = net.nodes["B1"]
    net.now += 120.0  # B1's process was stopped
    net.bring("B1", Tick())
    assert node.counts["connections_lost"] == 0
    net.now += 1.0
    net.bring("B1", Tick())
    assert node.counts["connections_lost"] == 0


def test_one_client_with_a_tiny_silence_does_not_make_the_node_look_at_the_others_more_often() -> (
    None
):
    def looks(*others: float) -> tuple[int, int]:
        """Ticks of a node in ten seconds, and pings to clients that tolerate much."""
        net = network()
        patient = [net.client(f"c{number}", "B1", silence=8.0) for number in range(20)]
        for number, silence in enumerate(others):
            net.client(f"hasty{number}", "B1", silence=silence)
        seen = count_looks(net.nodes["B1"], [f"c{number}.1" for number in range(20)])
        for peer in patient:
            peer.acknowledges = False
        net.advance(10.0)
        return len(seen), sum(peer.count(Ping) for peer in patient)

    assert looks(1e-6) == looks()


def count_looks(node: Node, names: list[str]) -> list[int]:
    """Numbers of the lines of some clients, each time that one is looked at."""
    seen: list[int] = []
    watch = node.keepalive.watch
    lines = [node.peers[name].line for name in names]

    def counted(line: Line, now: float) -> None:
        if line in lines:
            seen.append(line.number)
        watch(line, now)

    node.keepalive.watch = counted  # type: ignore[method-assign]
    return seen


def test_an_idle_node_wants_few_ticks() -> None:
    net = network()
    net.advance(10.0)
    assert net.ticks["B1"] <= 10.0 / TICK_SECONDS + 2
    assert net.nodes["B1"].deadline > net.now


# Ends


def test_the_goodbye_of_the_other_side_is_answered_by_an_abort() -> None:
    net = network()
    net.bring("B1", Connected(7))
    net.bring("B1", Data(7, LINK_CODEC.encode(hello_of("a"))))
    goodbye = Goodbye("leaving", "that was all")
    effects = net.bring("B1", Data(7, LINK_CODEC.encode(goodbye)))
    assert effects == [Abort(7, "that was all")]
    node = net.nodes["B1"]
    assert (node.peers, node.lines[7].state) == ({}, LineState.CLOSING)
    assert net.bring("B1", Data(7, LINK_CODEC.encode(Ping()))) == []
    net.bring("B1", Disconnected(7))
    assert node.lines == {}


def test_an_end_is_written_before_the_line_is_closed() -> None:
    net = network()
    net.bring("B1", Connected(7))
    net.bring("B1", Data(7, LINK_CODEC.encode(hello_of("a"))))
    effects = net.bring("B1", Data(7, LINK_CODEC.encode(Ping(3)) + frame(LINK, b"", b"")))
    assert [type(effect) for effect in effects] == [Write, Close]
    written = effects[0]
    assert isinstance(written, Write)
    assert written.data.startswith(LINK_CODEC.encode(Pong(3)))


def test_random_numbers_and_secrets_come_from_outside() -> None:
    """Two nodes with the same ones do the same."""
    config = NodeConfig(id="B1", joins=("a", "b"))
    nodes = [Node(config, Random(5), lambda: "s") for _ in range(2)]
    for at in range(50):
        first, second = (node.handle(Tick(), at / 10) for node in nodes)
        assert first == second
        assert nodes[0].deadline == nodes[1].deadline
