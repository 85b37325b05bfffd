"""Nodes compare tables over their links: agreed in the handshake, healed live, cheap when idle."""

from __future__ import annotations

from typing import Any

import pytest

from protocol.joined import Network, RawPeer, hello_of, line_of
from sapwood.filters import Filter
from sapwood.protocol.link.handshake import BROKER, SILENT, Ping
from sapwood.protocol.link.limits import ClientLimits, LinkLimits
from sapwood.protocol.link.membership import EXCUSES_MAX
from sapwood.protocol.messages import Missed, Refresh, Repeat, Subscribe, TableComplete, Whole
from sapwood.protocol.neighbours import HOP_LEASE, REFRESH, RESTART
from sapwood.protocol.node import Node
from sapwood.protocol.stabilize.settings import StabilizationSettings
from sapwood.routing.strategy import Entry

QUICK = StabilizationSettings(refresh_seconds=2.0, delay_max=0.5)
QUICK_CLIENTS = ClientLimits(refresh_seconds=2.0)
OFF = StabilizationSettings(refresh="off")
LEASE = StabilizationSettings(refresh="hop-lease")
BOTH = (RESTART, REFRESH)


def findings(node: Node) -> dict[str, Any]:
    return node.broker.reports()["refresh"]


def one_broker(**config: Any) -> Network:
    net = Network()
    net.add("B1", stabilization=QUICK, client=QUICK_CLIENTS, **config)
    return net


def neighbour(net: Network, features: tuple[str, ...] = BOTH, **changes: Any) -> RawPeer:
    """A scripted broker B2, linked to B1."""
    peer = net.connect(RawPeer(net), "B1")
    peer.say(hello_of("B2", role=BROKER, features=features, **changes))
    net.advance(0.2)
    return peer


# What is agreed


@pytest.mark.parametrize(
    ("settings", "offered", "agreed", "refresh"),
    [
        (QUICK, BOTH, BOTH, 2.0),
        (QUICK, (RESTART,), (RESTART,), 0.0),
        (OFF, BOTH, (RESTART,), 0.0),
        (LEASE, BOTH, (RESTART,), 0.0),
        (LEASE, (RESTART, HOP_LEASE), (RESTART, HOP_LEASE), 0.0),
    ],
)
def test_brokers_use_what_both_can_do(
    settings: StabilizationSettings,
    offered: tuple[str, ...],
    agreed: tuple[str, ...],
    refresh: float,
) -> None:
    net = Network()
    net.add("B1", stabilization=settings)
    peer = neighbour(net, offered, refresh=7.0)
    assert (peer.welcome.features, peer.welcome.refresh) == (agreed, refresh)
    node = net.nodes["B1"]
    assert node.broker.neighbours["B2"].features == agreed
    assert node.broker.neighbours["B2"].refresh_seconds == 7.0


@pytest.mark.parametrize("settings", [QUICK, LEASE])
def test_clients_compare_by_digests_however_brokers_do(settings: StabilizationSettings) -> None:
    net = Network()
    net.add("B1", stabilization=settings, client=QUICK_CLIENTS)
    for name, features in (("new", (REFRESH,)), ("old", ())):
        client = net.connect(RawPeer(net), "B1").say(hello_of(name, features=features))
        assert client.welcome.features == features
        assert client.welcome.refresh == (2.0 if features else 0.0)
    assert findings(net.nodes["B1"])["clients_without"] == 1


def test_an_older_neighbour_hears_nothing_of_it() -> None:
    net = one_broker()
    peer = neighbour(net, (RESTART,))
    net.advance(60.0)
    assert peer.told == [TableComplete()]
    assert findings(net.nodes["B1"])["neighbours_without"] == ["B2"]


# Healing


def test_a_spoilt_table_is_right_again_and_so_are_those_behind_it() -> None:
    net = line_of(3, stabilization=QUICK, client=QUICK_CLIENTS)
    client = net.client("c", "B3")
    client.subscribe("n >= 0")
    net.advance(1.0)
    first, second = (net.nodes[name].broker for name in ("B1", "B2"))
    right = [first.subscriptions.texts("B2"), second.subscriptions.texts("B3")]
    assert all(right)
    for entry in second.subscriptions.of("B3"):
        second.remove(second.subscriptions, "B3", entry.id)
    second.add(second.subscriptions, Entry("B3", "junk", Filter("n = 7")))
    for name, effects in (("B2", second.tell_all()),):
        assert effects, name  # lost on the way
    net.advance(2.0 + 0.5 + 1.0)
    assert [first.subscriptions.texts("B2"), second.subscriptions.texts("B3")] == right
    assert findings(net.nodes["B2"])["mismatch"] == 1
    before = [findings(node) for node in net.nodes.values()]
    net.advance(20.0)
    assert [findings(node) for node in net.nodes.values()] == before


def test_an_idle_link_costs_one_small_message_a_period_and_direction() -> None:
    net = line_of(2, stabilization=QUICK)
    client = net.client("c", "B2")
    for number in range(50):
        client.subscribe(f"n = {number}", str(number))
    net.advance(1.0)
    first, second = net.nodes["B1"].peers["B2"], net.nodes["B2"].peers["B1"]
    frames = first.frames_in, second.frames_in
    net.advance(20.0)
    survey = 2  # each asks once, soon after they have joined, where everybody can be reached
    came = (first.frames_in - frames[0], second.frames_in - frames[1])
    assert came == (10 + survey, 10 + survey)


# Silence


def test_a_neighbour_that_compares_no_more_begins_anew_and_the_gap_is_told() -> None:
    net = one_broker(link=LinkLimits(silence_seconds=1000.0))
    client = net.client("c", "B1").subscribe("n >= 0")
    peer = neighbour(net)
    peer.tell(Refresh("covering"))
    limit = 2 * 2.0 + 0.5 + 0.5
    net.advance(limit + 1.0)  # it is excused: something had come since the last time
    assert net.nodes["B1"].counts["streams_reset"] == 0
    net.advance(limit + 1.0)
    node = net.nodes["B1"]
    assert node.counts["streams_reset"] == 1
    assert "B2" not in node.peers
    assert peer.goodbye.code == SILENT
    assert peer.goodbye.reason.startswith("no comparison of tables came for")
    assert [one for one in client.told if isinstance(one, Missed)] == [
        Missed(0, "B2-B1", ("n >= 0",))
    ]
    again = neighbour(net)
    assert again.welcome.resumed is None
    assert Subscribe(Filter("n >= 0").id, "n >= 0") in again.told


def test_a_stream_that_brings_anything_is_slow_and_not_wrong() -> None:
    net = one_broker(link=LinkLimits(silence_seconds=1000.0))
    peer = neighbour(net)
    limit = 2 * 2.0 + 0.5 + 0.5
    for number in range(EXCUSES_MAX - 2):
        peer.publish("far.1", number)
        net.advance(limit + 1.0)
    assert (net.nodes["B1"].counts["streams_reset"], findings(net.nodes["B1"])["silent"] > 5) == (
        0,
        True,
    )
    for number in range(5):
        peer.publish("far.1", number)
        net.advance(limit + 1.0)
    assert net.nodes["B1"].counts["streams_reset"] == 1


def test_a_silent_client_is_asked_and_sent_away_and_one_that_answers_stays() -> None:
    net = one_broker()
    silent, living = (
        net.connect(RawPeer(net), "B1").say(hello_of(name, features=(REFRESH,)))
        for name in ("silent", "living")
    )
    for _ in range(30):
        net.advance(1.0)
        if Repeat("s") in living.told:
            living.told.clear()
            living.tell(Whole("s"))
        for peer in (silent, living):
            if not peer.is_gone:
                peer.say(Ping())
    assert silent.told == [Repeat("s"), Repeat("a")]
    assert silent.goodbye.code == SILENT
    assert (silent.is_gone, living.is_gone) == (True, False)
