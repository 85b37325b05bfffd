"""What cannot be a peer or a line is sorted out before the broker or anybody else hears of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import nan
from typing import Any

import pytest

from expecting import expect_none
from protocol.joined import Network, RawPeer, line_of
from sapwood.protocol.fitting import misfits
from sapwood.protocol.link.applicant import APPLICANT_KINDS, Applicant
from sapwood.protocol.link.channel import ChannelLimits
from sapwood.protocol.link.dialing import TARGET_KINDS, Target
from sapwood.protocol.link.handshake import CHECKS, CONTRADICTION, RENEGOTIATE, Goodbye, Ping
from sapwood.protocol.link.line import LINE_KINDS, Line
from sapwood.protocol.link.peer import PEER_KINDS, STREAM_FIELDS, Peer
from sapwood.protocol.link.screening import NOBODYS, has_strangers, number_of
from sapwood.protocol.messages import Missed
from sapwood.protocol.node import Node
from sapwood.protocol.node_invariants import node_problems
from sapwood.protocol.ports import Remember, Restart
from sapwood.protocol.stabilize.beacon import BEACONS
from sapwood.protocol.stabilize.settings import StabilizationSettings

PERIOD = 4.0
ABSURD: tuple[Any, ...] = (None, "ghost", nan, [])


def network() -> Network:
    net = line_of(
        2, raises_faults=False, stabilization=StabilizationSettings(refresh_seconds=PERIOD)
    )
    net.advance(2.0)
    return net


def reader(net: Network, name: str, broker: str = "B1") -> RawPeer:
    return net.client(name, broker, features=(CHECKS,)).subscribe("n >= 0")


def keep_alive(net: Network, seconds: float, *peers: RawPeer) -> None:
    for _ in range(int(seconds)):
        net.advance(1.0)
        for peer in peers:
            if not peer.is_gone:
                peer.say(Ping())


def reports(peer: RawPeer) -> int:
    return sum(isinstance(one, Missed) for one in peer.told)


@pytest.mark.parametrize(
    ("kind", "kinds"),
    [
        (Peer, PEER_KINDS),
        (Line, LINE_KINDS),
        (Target, TARGET_KINDS),
        (Applicant, APPLICANT_KINDS),
    ],
)
def test_every_field_has_its_types(kind: Any, kinds: dict[str, object]) -> None:
    assert {*kinds} == {*kind.__slots__}
    assert {*kinds} >= (STREAM_FIELDS if kind is Peer else set())


def test_features_that_nobody_here_has_are_not_believed() -> None:
    net = network()
    node = net.nodes["B1"]
    peer = node.peers["B2"]
    agreed = peer.features
    peer.features = tuple("ghost" if one == BEACONS else one for one in agreed)
    assert has_strangers(node)
    net.is_spoilt = True
    net.advance(2 * PERIOD)
    assert not has_strangers(node)
    assert node.peers["B2"].features == agreed
    assert node.broker.neighbours["B2"].features == agreed


def test_a_line_ends_under_the_number_that_is_its_own() -> None:
    net = network()
    for name in ("c", "d"):
        reader(net, name)
    node = net.nodes["B1"]
    one, other = (node.peers[name].line for name in node.broker.clients)
    assert one is not None
    assert other is not None
    right = one.number
    assert number_of(node, one) == right
    one.number = other.number
    assert number_of(node, one) == right
    del node.lines[right]
    assert number_of(node, one) == NOBODYS


def test_without_a_fault_everything_fits() -> None:
    net = network()
    reader(net, "c")
    keep_alive(net, 2 * PERIOD)
    for node in net.nodes.values():
        assert not has_strangers(node)
        assert [misfits(one, PEER_KINDS) for one in node.peers.values()] == [[]] * len(node.peers)
        assert [misfits(one, LINE_KINDS) for one in node.lines.values()] == [[]] * len(node.lines)
        assert not any(misfits(one, TARGET_KINDS) for one in node.dialing.targets)
        assert node.counts[CONTRADICTION] == 0


# --- one place costs no more than what it is about ------------------------------------------


class Scene:
    """Two brokers; at the second one somebody to be spoilt, and somebody who is not concerned."""

    def __init__(self) -> None:
        self.net = network()
        self.node = self.net.nodes["B2"]
        self.clients = {name: reader(self.net, name, "B2") for name in ("spoilt", "witness")}

    def owner(self, name: str) -> Any:
        """Something with fields, whichever object it is by now."""
        peers, dialing = self.node.peers, self.node.dialing
        owners: dict[str, Callable[[], Any]] = {
            "client": lambda: peers["spoilt.1"],
            "line of a client": lambda: peers["spoilt.1"].line,
            "neighbour": lambda: peers["B1"],
            "line of a neighbour": lambda: peers["B1"].line,
            "target": lambda: dialing.targets[0],
        }
        return owners[name]() if name in owners else getattr(self.node, name)

    def let_in(self) -> None:
        """Whoever has lost the connection comes again, as a new session would."""
        for name, client in self.clients.items():
            if client.is_gone:
                peer = self.node.peers.get(f"{name}.1")
                if peer is not None:
                    self.node.membership.remove(peer, Goodbye("test"), self.net.now)
                self.clients[name] = reader(self.net, name, "B2")
        self.net.advance_until(self._is_linked, 20.0)

    def _is_linked(self) -> bool:
        peer = self.node.peers.get("B1")
        return peer is not None and peer.line is not None

    def costs(self) -> Iterator[str]:
        """What a spoilt field has cost beside what it is about, or is not mended."""
        keep_alive(self.net, PERIOD + 2.0, *self.clients.values())
        if self.node.counts["started_over"] or self.net.asked("B2", Restart):
            yield "all begins anew"
        if self.clients["witness"].is_gone:
            yield "somebody else has lost the connection"
        self.let_in()
        yield from node_problems(self.node)


CONSTANT = ("_node", "_random", "_peers", "_slow_seconds")
"""Set once, and compared with the node that they belong to (``wiring``)."""


def costs_of(name: str) -> Iterator[str]:
    scene = Scene()
    scene.net.is_spoilt = True
    owner = scene.owner(name)
    for field in [*getattr(type(owner), "__slots__", ()), *getattr(owner, "__dict__", ())]:
        for value in () if field in CONSTANT else ABSURD:
            owner = scene.owner(name)
            before = getattr(owner, field)
            if type(before) is not type(value):
                setattr(owner, field, value)
                done = f"{field} of {name} is {value!r} instead of {before!r:.60}"
                yield from (f"{done}: {one}" for one in scene.costs())


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        *("client", "line of a client", "neighbour", "line of a neighbour", "target"),
        *("admission", "dialing", "keepalive", "flow", "overflow", "membership", "checking"),
    ],
)
def test_a_spoilt_field_costs_nobody_else_anything(name: str) -> None:
    expect_none(costs_of(name))


# --- names, kinds, limits -------------------------------------------------------------------


def spoilt_network() -> tuple[Network, Node]:
    net = network()
    net.is_spoilt = True
    return net, net.nodes["B1"]


def test_what_comes_from_somebody_under_a_wrong_name_is_not_acknowledged() -> None:
    net, node = spoilt_network()
    writer = net.client("w", "B1", features=(CHECKS,))
    node.peers["w.1"].name = "ghost"
    writer.publish("w.1", 1)
    assert writer.is_gone
    assert (node.peers["w.1"].name, node.peers["w.1"].is_over) == ("w.1", True)
    assert node.peers["w.1"].channel.received == 0
    assert list(node.broker.clients) == ["w.1"]


def test_in_tests_it_is_raised() -> None:
    net = line_of(1)
    writer = net.client("w", "B1")
    net.nodes["B1"].peers["w.1"].name = "ghost"
    with pytest.raises(RuntimeError, match="whom nobody knows"):
        writer.publish("w.1", 1)


def test_the_broker_never_hears_of_a_name_that_nobody_has() -> None:
    """A link is kept under a second name, and goes: the second name is no neighbour."""
    net, node = spoilt_network()
    peer = node.peers["B2"]
    node.peers["\0"] = peer
    node.membership.remove(peer, Goodbye("test"), net.now)
    net.advance(PERIOD + 5.0)
    assert (list(node.peers), list(node.broker.neighbours)) == (["B2"], ["B2"])
    assert node_problems(node) == []


def test_somebody_who_is_kept_under_another_name_is_found_under_their_own() -> None:
    net, node = spoilt_network()
    client = reader(net, "c")
    node.peers["ghost"] = node.peers.pop("c.1")
    keep_alive(net, 2.0, client)
    assert {*node.peers} == {"B2", "c.1"}
    assert not client.is_gone


def test_a_client_is_not_told_what_brokers_tell_each_other() -> None:
    """Taken for a neighbour, it would be asked what both can do, and told that it is replaced."""
    net, node = spoilt_network()
    client = reader(net, "c")
    node.peers["c.1"].is_client = False
    node.peers["c.1"].name = "B2"
    keep_alive(net, PERIOD + 1.0, client)
    assert not any(isinstance(one, Goodbye) and one.code == "replaced" for one in client.heard)
    assert list(node.broker.clients) == ["c.1"]


def test_what_was_agreed_is_asked_for_again_with_a_code_that_ends_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    net, node = spoilt_network()
    node.peers["B2"].features = (CHECKS,)
    codes: list[str] = []
    close = node.close

    def note(line: Line, goodbye: Goodbye, now: float, *, lingers: bool = False) -> None:
        codes.append(goodbye.code)
        close(line, goodbye, now, lingers=lingers)

    monkeypatch.setattr(node, "close", note)
    net.advance(PERIOD + 1.0)
    assert codes[0] == RENEGOTIATE


def test_nobody_is_sent_away_because_of_spoilt_limits() -> None:
    net, node = spoilt_network()
    client = reader(net, "c")
    limits = node.peers["c.1"].channel.limits
    node.peers["c.1"].channel.limits = ChannelLimits(control_bytes=-1)
    keep_alive(net, 2.0, client)
    assert not client.is_gone
    assert node.peers["c.1"].channel.limits == limits


# --- who is told ----------------------------------------------------------------------------


def test_everybody_is_told_where_this_side_was_spoilt() -> None:
    net, node = spoilt_network()
    readers = [reader(net, "r", name) for name in net.nodes]
    net.advance(0.5)
    node.peers["B2"].order = None  # type: ignore[assignment]
    keep_alive(net, PERIOD + 1.0, *readers)
    assert [reports(one) for one in readers] == [1, 1]
    assert node.peers["B2"].order == 0


def test_and_again_when_a_link_comes_that_may_have_been_forgotten() -> None:
    net, node = spoilt_network()
    readers = [reader(net, "r", name) for name in net.nodes]
    net.advance(0.5)
    node.checking.suspect(net.now)
    keep_alive(net, 1.0, *readers)
    before = [reports(one) for one in readers]
    node.checking.tree_changed(net.now)
    keep_alive(net, 1.0, *readers)
    assert before == [1, 1]
    assert [reports(one) for one in readers] == [2, 2]


@pytest.mark.parametrize("spoilt", [-1e12, 1e12, nan, None])
def test_long_after_a_fault_a_change_of_the_tree_is_nothing_special(spoilt: Any) -> None:
    net = network()
    node = net.nodes["B1"]
    client = reader(net, "c")
    node.checking.suspect_until = spoilt
    node.checking.tree_changed(net.now)
    keep_alive(net, 2.0, client)
    assert reports(client) == 0


def test_a_link_that_nobody_remembers_is_gone_and_that_is_told() -> None:
    net, node = spoilt_network()
    client = reader(net, "c")
    del node.peers["B2"]
    node.membership._remembered = Remember((), (), "")
    node.checking._derive(net.now)
    keep_alive(net, 2.0, client)
    assert reports(client) >= 1
