"""Tests for the side that dials: back-off, crossing dials, refusals, and what a welcome means."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import pytest

from protocol.joined import Network, RawPeer, hello_of, line_of
from sapwood.protocol.events import Tick
from sapwood.protocol.link.dialing import NEIGHBOUR_RETRY_SECONDS_MAX
from sapwood.protocol.link.handshake import (
    ALREADY_LINKED,
    BROKER,
    BUSY,
    CHECKS,
    LINK_CODEC,
    PROTOCOL,
    REPLACED,
    WRONG_NETWORK,
    Goodbye,
    Hello,
    Resume,
    Welcome,
)
from sapwood.protocol.link.limits import LinkLimits
from sapwood.protocol.link.line import HANDSHAKE_SECONDS
from sapwood.protocol.link.states import LineState, TargetState
from sapwood.protocol.messages import CODEC, Unsubscribe
from sapwood.protocol.neighbours import EDGES, MOVES, REFRESH, RESTART
from sapwood.protocol.node import Node
from sapwood.protocol.node_config import NodeConfig
from sapwood.protocol.ports import (
    Abort,
    Connected,
    Dial,
    DialFailed,
    Disconnected,
    Hint,
    Joined,
    JoinFailed,
    Write,
)
from sapwood.protocol.stabilize.beacon import BEACONS

LIMITS = LinkLimits(retry_first_seconds=1.0, retry_max_seconds=15.0)


def dialler(*joins: str, **config: object) -> Node:
    """A node that has not been ticked yet."""
    made = NodeConfig(id="B1", joins=joins, link=LIMITS, **config)  # type: ignore[arg-type]
    return Node(made, Random(1), lambda: "secret")


def test_an_attempt_as_a_whole() -> None:
    """Every list of effects from the first tick to the link."""
    node = dialler("there")
    assert node.handle(Tick(), 0.0) == [Dial(1, "there")]
    assert node.handle(Tick(), 0.1) == []
    hello = Hello(
        role=BROKER,
        network="sapwood",
        id="B1",
        session=1,
        features=(RESTART, CHECKS, BEACONS, REFRESH, MOVES, EDGES),
        refresh=30.0,
        routing="covering",
        credit=2**20,
        silence=10.0,
        is_open=True,
    )
    assert node.handle(Connected(7, dial=1), 0.2) == [Write(7, LINK_CODEC.encode(hello))]
    (target,) = node.dialing.targets
    assert (target.state, repr(target)) == (TargetState.CALLING, "<target there calling>")
    welcome = Welcome(id="B2", session=3, version=1, credit=100, silence=4.0, secret="s")
    effects = node.receive(7, LINK_CODEC.encode(welcome), 0.3)
    assert effects[-1] == Joined("there")
    peer = node.peers["B2"]
    assert (peer.session, peer.secret, peer.line and peer.line.silence) == (3, "s", 4.0)
    assert target.state is TargetState.LINKED


def test_an_attempt_that_fails_is_made_again_later_and_told_once() -> None:
    node = dialler("there")
    node.handle(Tick(), 0.0)
    failed = node.handle(DialFailed(1, "nobody there"), 0.1)
    assert failed == [JoinFailed("there", "nobody there")]
    (target,) = node.dialing.targets
    assert 0.6 <= target.at <= 1.1
    assert node.deadline <= target.at
    assert node.handle(Tick(), target.at) == [Dial(2, "there")]
    assert node.handle(DialFailed(2, "nobody there"), target.at) == []  # nothing new
    assert node.handle(DialFailed(1, "late"), target.at) == []  # of an attempt that is over


@pytest.mark.parametrize("spoilt", [-1, -99, None, "ghost"])
def test_no_attempt_gets_a_number_that_means_none(spoilt: object) -> None:
    """Zero is the number of whoever dialled: the answer would be taken for somebody's call."""
    node = dialler("there")
    node.dialing._dials = spoilt  # type: ignore[assignment]
    assert node.handle(Tick(), 0.0) == [Dial(1, "there")]


def attempts(net: Network, name: str, address: str) -> list[float]:
    times = [at for at, who, where in net.dials if (who, where) == (name, address)]
    return [later - sooner for sooner, later in pairwise(times)]


def test_the_time_between_attempts_doubles_up_to_a_limit_and_is_drawn() -> None:
    net = Network()
    net.add("B1", "nobody", link=LIMITS)
    net.advance(300.0)
    waits = attempts(net, "B1", "nobody")
    for number, wait in enumerate(waits):
        longest = min(2.0**number, 15.0)
        assert longest / 2 <= wait <= longest
    assert len({round(wait, 3) for wait in waits}) > 5
    assert len(net.asked("B1", JoinFailed)) == 1


def test_a_neighbour_is_looked_for_every_two_seconds_at_least() -> None:
    """However long it is away: others wait for it."""
    net = line_of(2, link=LIMITS)
    net.crash("B1")
    net.advance(600.0)
    waits = attempts(net, "B2", "B1")
    assert max(waits[2:]) <= NEIGHBOUR_RETRY_SECONDS_MAX
    assert len(waits) > 250


def test_a_broker_that_is_not_there_yet_is_dialled_until_it_is() -> None:
    net = Network()
    net.add("B1", "B2")
    (target,) = net.nodes["B1"].dialing.targets
    assert target.problem == "cannot reach B2"
    net.advance(60.0)
    net.add("B2")
    net.advance(15.0)
    assert (target.state, target.problem) == (TargetState.LINKED, "")
    assert net.asked("B1", Joined) == [Joined("B2")]


def test_who_never_answers_is_not_waited_for() -> None:
    net = Network()
    net.mute.add("B2")
    node = net.add("B1", "B2")
    net.advance(HANDSHAKE_SECONDS - 0.1)
    assert net.asked("B1", JoinFailed) == []
    net.advance(0.2)
    reason = "B2 does not answer within 5.0 s"
    assert net.asked("B1", JoinFailed) == [JoinFailed("B2", reason)]
    found = net.listen("B3")
    net.add("B4", "B3")
    net.advance(HANDSHAKE_SECONDS + 0.1)
    assert found[0].is_gone  # it took the connection and said nothing
    assert node.lines == {}


def test_a_connection_that_nobody_waits_for_any_more_is_aborted() -> None:
    node = dialler("there")
    node.handle(Tick(), 0.0)
    node.handle(Tick(), HANDSHAKE_SECONDS + 0.1)
    effects = node.handle(Connected(7, dial=1), HANDSHAKE_SECONDS + 0.2)
    assert effects == [Abort(7, "nobody waits for this connection")]
    assert node.lines == {}


def test_a_line_that_is_lost_before_the_answer_counts_as_a_failure() -> None:
    node = dialler("there")
    node.handle(Tick(), 0.0)
    node.handle(Connected(7, dial=1), 0.1)
    effects = node.handle(Disconnected(7, "reset"), 0.2)
    assert effects == [JoinFailed("there", "connection lost: reset")]
    assert (node.lines, node.dialing.targets[0].state) == ({}, TargetState.WAITING)


# Refusals


def refuse(code: str) -> Network:
    net = Network()

    def accept(peer: RawPeer) -> None:
        net.write(peer.end, LINK_CODEC.encode(Goodbye(code, "go away")))  # type: ignore[arg-type]

    net.listen("B2", accept)
    return net


def test_a_refused_broker_that_joins_for_ever_goes_on_trying() -> None:
    net = refuse(WRONG_NETWORK)
    net.add("B1", "B2")
    net.advance(300.0)
    assert net.asked("B1", JoinFailed) == [JoinFailed("B2", "go away", WRONG_NETWORK)]
    assert len(net.dials) > 15
    net.listening.clear()
    net.add("B2")
    net.advance(15.0)
    assert net.asked("B1", Joined) == [Joined("B2")]


def test_a_refused_broker_with_a_limit_ends() -> None:
    net = refuse(WRONG_NETWORK)
    net.add("B1", "B2", joins_for_ever=False)
    net.advance(300.0)
    final = JoinFailed("B2", "go away", WRONG_NETWORK, is_final=True)
    assert net.asked("B1", JoinFailed) == [final]
    assert len(net.dials) == 1
    assert net.nodes["B1"].dialing.targets[0].state is TargetState.GIVEN_UP


@pytest.mark.parametrize("code", [BUSY, REPLACED])
def test_a_refusal_that_may_go_away_is_not_final(code: str) -> None:
    net = refuse(code)
    net.add("B1", "B2", joins_for_ever=False)
    net.advance(60.0)
    assert net.asked("B1", JoinFailed) == [JoinFailed("B2", "go away", code)]
    assert len(net.dials) > 5


def test_a_dial_that_cannot_succeed_is_final_for_those_with_a_limit() -> None:
    for for_ever in (True, False):
        node = dialler("there", joins_for_ever=for_ever)
        node.handle(Tick(), 0.0)
        effects = node.handle(DialFailed(1, "not trusted", is_final=True), 0.1)
        assert effects == [JoinFailed("there", "not trusted", "", not for_ever)]


# Circles and crossings


def linked(net: Network, a: str, b: str) -> bool:
    here, there = net.nodes[a].peers.get(b), net.nodes[b].peers.get(a)
    return all(peer is not None and peer.line is not None for peer in (here, there))


@pytest.mark.parametrize("seed", range(20))
def test_two_brokers_that_join_each_other_have_one_link(seed: int) -> None:
    """Whoever is first, and however bytes are carried; what is published arrives once."""
    random = Random(seed)
    net = Network(random)
    names = ["B1", "B2"]
    random.shuffle(names)
    net.refusing.update(names)
    net.add(names[0], names[1])
    net.add(names[1], names[0])
    net.refusing.clear()
    net.advance(3.0)
    assert linked(net, "B1", "B2")
    assert len(net.wires_between("B1", "B2")) == 1
    for name, other in (("B1", "B2"), ("B2", "B1")):
        assert net.asked(name, Joined) == [Joined(other)]
    left, right = net.client("a", "B1").subscribe("n >= 0"), net.client("b", "B2")
    net.advance(0.2)
    right.publish("b.1", 1, 100)
    net.advance(1.0)
    assert left.got == [("b.1", number) for number in range(1, 101)]


def test_dials_that_cross_at_the_same_moment_leave_one_link() -> None:
    """Both are connected before either has said a word."""
    net = Network()
    net.mute.update(("B1", "B2"))
    for name, other in (("B1", "B2"), ("B2", "B1")):
        net.add(name, other)
    for name, other, numbers in (("B1", "B2", (101, 102)), ("B2", "B1", (103, 104))):
        net.attach(name, other, *numbers)
    net.run()
    net.advance(1.0)
    assert linked(net, "B1", "B2")
    assert len(net.wires_between("B1", "B2")) == 1


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_a_link_that_both_sides_dial_is_kept_whole_when_it_breaks(seed: int) -> None:
    """Both dial again at once; whichever connection stays, the stream goes on."""
    net = Network(Random(seed))
    net.add("B1", "B2")
    net.add("B2", "B1")
    net.advance(3.0)
    left, right = net.client("a", "B1").subscribe("n >= 0"), net.client("b", "B2")
    net.advance(0.2)
    for number in range(200):
        right.publish("b.1", number)
        if number % 20 == 10:
            net.cut("B1", "B2")
            net.advance(0.3 * (number % 3))
    net.advance(5.0)
    assert left.got == [("b.1", number) for number in range(1, 201)]
    assert (left.missed, linked(net, "B1", "B2")) == (0, True)


def test_one_new_way_into_the_tree_is_looked_for_at_a_time() -> None:
    """So the second broker sees the link to the first one, and no circle is closed."""
    net = line_of(2)
    node = net.nodes["B3"] = Node(NodeConfig(id="B3", joins=("B1", "B2")), Random(1), str)
    assert node.handle(Tick(), 0.0) == [Dial(1, "B1")]
    assert [target.state for target in node.dialing.targets] == [
        TargetState.DIALING,
        TargetState.QUEUED,
    ]
    effects = node.handle(DialFailed(1, "no"), 0.1)
    assert effects == [JoinFailed("B1", "no")]
    assert Dial(2, "B2") in node.handle(Tick(), 0.11)


def test_neighbours_from_before_a_restart_are_dialled_at_once() -> None:
    """One that does not answer must not keep the others from telling their tables in time."""
    book = tuple(Hint(name, (name.lower(),), 1.0) for name in ("B2", "B3", "B4"))

    def dialled(*joins: str) -> list[str]:
        effects = dialler(*joins, expected=("B2", "B3"), book=book).handle(Tick(), 0.0)
        return [one.address for one in effects if isinstance(one, Dial)]

    assert dialled("b2", "b3", "b4") == ["b2", "b3", "b4"]
    assert dialled("b4", "b3", "b5", "b2") == ["b4", "b3", "b2"], "and one new way at a time"


def test_a_broker_that_has_connected_by_itself_is_found() -> None:
    net = line_of(2)
    net.crash("B1")
    net.run()
    net.refusing.add("B2")
    net.add("B1", "B2", session=2)
    net.advance(3.0)  # B2 has dialled B1 meanwhile
    net.refusing.clear()
    net.advance(20.0)
    assert net.asked("B1", Joined) == [Joined("B2")]
    assert len(net.wires_between("B1", "B2")) == 1


# What a welcome means, case by case: meanwhile the other side may have connected from its side.


class Case:
    """A broker B5 that has dialled another one, perhaps with a stream to it already."""

    def __init__(
        self, other: str, *, known: bool = True, received: int = 0, is_linked: bool = False
    ) -> None:
        self.other = other
        limits = LinkLimits(retry_first_seconds=1000.0, retry_max_seconds=1000.0)
        config = NodeConfig(id="B5", joins=("there",), link=limits)
        self.node = Node(config, Random(1), lambda: "secret")
        self.node.handle(Tick(), 0.0)
        if known:
            self.node.handle(Connected(10), 0.0)
            hello = hello_of(other, 7, role=BROKER)
            self.node.receive(10, LINK_CODEC.encode(hello), 0.0)
            self.node.receive(10, CODEC.encode(Unsubscribe("x")) * received, 0.0)
            if not is_linked:
                self.node.handle(Disconnected(10), 0.0)
        self.before = self.node.peers.get(other)
        self.node.handle(Connected(11, dial=1), 0.0)

    def welcome(self, *, resumed: int | None = None, session: int = 7) -> str:
        """Take a welcome; what has become of the stream and of the connection."""
        welcome = Welcome(id=self.other, session=session, version=1, resumed=resumed)
        self.node.receive(11, LINK_CODEC.encode(welcome), 0.0)
        after = self.node.peers.get(self.other)
        stream = "gone" if after is None else "same" if after is self.before else "new"
        stays = after is not None and after.line is self.node.lines[11]
        assert stays == (self.node.lines[11].state is LineState.OPEN)
        return f"{stream} stream, {'new' if stays else 'old'} connection"

    def move(self, frames: int) -> None:
        """The other side connects, and goes on with the stream, before it answers."""
        self.node.handle(Connected(12), 0.0)
        resume = Resume("B5", 1, 0, "secret")
        hello = hello_of(self.other, 7, role=BROKER, resume=(resume,))
        self.node.receive(12, LINK_CODEC.encode(hello), 0.0)
        self.node.receive(12, CODEC.encode(Unsubscribe("x")) * frames, 0.0)


def test_a_broker_that_was_never_here_begins_a_stream() -> None:
    assert Case("B9", known=False).welcome() == "new stream, new connection"


def test_a_welcome_says_whether_this_broker_was_expected() -> None:
    case = Case("B9", known=False)
    welcome = Welcome(id="B9", session=7, version=1, is_expected=True, former=4)
    case.node.receive(11, LINK_CODEC.encode(welcome), 0.0)
    peer = case.node.peers["B9"]
    assert (peer.expects_us, peer.former) == (True, 4)


def test_a_stream_goes_on_where_the_hello_said_it_was() -> None:
    assert Case("B9", received=3).welcome(resumed=0) == "same stream, new connection"


def test_a_stream_that_has_moved_since_the_hello_does_not_go_on_from_there() -> None:
    """The other side would send again what has come meanwhile."""
    case = Case("B9", received=2)
    case.move(1)
    assert case.welcome(resumed=0) == "same stream, old connection"


def test_streams_that_do_not_fit_together_are_over() -> None:
    """What is kept for the neighbour is not thrown away: the next stream begins with a report."""
    case = Case("B9", received=3)
    case.welcome(resumed=99)
    peer = case.node.peers["B9"]
    assert (peer.is_over, peer.line) == (True, None)


@pytest.mark.parametrize("is_lost_again", [False, True])
def test_a_welcome_that_is_older_than_the_stream_says_nothing_about_it(
    is_lost_again: bool,
) -> None:
    """More has come and gone over another connection since the hello of this one."""
    case = Case("B9", received=3)
    case.move(0)
    if is_lost_again:
        case.node.handle(Disconnected(12), 1.0)
    assert case.welcome(resumed=99) == "same stream, old connection"


def test_a_stream_that_the_other_side_does_not_have_any_more_begins_anew() -> None:
    assert Case("B9", received=3).welcome() == "new stream, new connection"
    assert Case("B9", received=3, is_linked=True).welcome() == "new stream, new connection"


def test_a_new_session_begins_a_new_stream() -> None:
    assert Case("B9").welcome(session=8) == "new stream, new connection"


def test_of_two_connections_that_cross_the_one_of_the_smaller_id_stays() -> None:
    """On both sides the same one: B5 has dialled this one, and B9 or B1 the other."""
    assert Case("B9", is_linked=True).welcome() == "same stream, new connection"
    assert Case("B1", is_linked=True).welcome() == "same stream, old connection"


@pytest.mark.parametrize(
    "changes", [{"version": 9}, {"routing": "by magic"}], ids=["version", "routing"]
)
def test_a_welcome_to_something_that_was_never_offered_is_refused(
    changes: dict[str, object],
) -> None:
    node = dialler("there")
    node.handle(Tick(), 0.0)
    node.handle(Connected(7, dial=1), 0.1)
    values: dict[str, object] = {"id": "B2", "session": 1, "version": 1, **changes}
    welcome = Welcome(**values)  # type: ignore[arg-type]
    effects = node.receive(7, LINK_CODEC.encode(welcome), 0.2)
    (failed,) = [effect for effect in effects if isinstance(effect, JoinFailed)]
    assert (failed.code, failed.is_final) == (PROTOCOL, False)
    assert (node.peers, node.lines[7].state) == ({}, LineState.CLOSING)


def test_a_target_that_is_linked_elsewhere_is_found_by_its_refusal() -> None:
    """The broker behind a second address is one that is linked already."""
    net = line_of(2)

    def accept(peer: RawPeer) -> None:
        goodbye = Goodbye(ALREADY_LINKED, "", "B1")
        net.write(peer.end, LINK_CODEC.encode(goodbye))  # type: ignore[arg-type]

    net.listen("another address of B1", accept)
    net.add("B3", "B1", "another address of B1")
    net.advance(5.0)
    assert sorted(one.address for one in net.asked("B3", Joined)) == [
        "B1",
        "another address of B1",
    ]
    assert net.asked("B3", JoinFailed) == []
