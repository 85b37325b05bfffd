"""Tests for the side that is dialled: who comes in, who does not, and who goes on."""

from __future__ import annotations

from typing import Any

import pytest

from protocol.joined import Network, RawPeer, hello_of, line_of
from protocol.link.test_handshake import transcript
from sapwood.protocol.link import admission
from sapwood.protocol.link.admission import (
    CHALLENGE_SECONDS,
    NO_CERTIFICATE,
    PUBLISHER_BYTES_MAX,
)
from sapwood.protocol.link.handshake import (
    ALREADY_LINKED,
    BAD_CREDENTIALS,
    BROKER,
    BUSY,
    COUNT_MAX,
    ID_IN_USE,
    LINK_CODEC,
    NO_COMMON_VERSION,
    PROTOCOL,
    SHUTDOWN,
    WRONG_NETWORK,
    WRONG_ROUTING,
    Ack,
    Goodbye,
    Hello,
    LinkMessage,
    Ping,
    Pong,
    Resume,
    Welcome,
)
from sapwood.protocol.link.limits import ClientLimits, LinkLimits
from sapwood.protocol.link.line import HANDSHAKE_SECONDS
from sapwood.protocol.messages import ClientMoved
from sapwood.protocol.ports import Close, Connected, Data, Write
from sapwood.wire.frames import LINK, split

TOKEN = {"token": "t"}


def network(**config: Any) -> Network:
    net = Network()
    net.add("B1", **config)
    return net


def test_a_client_is_welcome() -> None:
    """The whole list of effects."""
    net = network(session=42, addresses=("tcp://a:1",))
    assert net.bring("B1", Connected(7, address="raw:1")) == []
    hello = LINK_CODEC.encode(hello_of("alice", 7, credit=1000, silence=9.0))
    assert net.bring("B1", Data(7, hello)) == [
        Write(
            7,
            LINK_CODEC.encode(
                Welcome(
                    id="B1",
                    session=42,
                    version=1,
                    addresses=("tcp://a:1",),
                    credit=2**18,
                    silence=30.0,
                    secret="B1.42-secret-1",
                )
            ),
        )
    ]
    peer = net.nodes["B1"].peers["alice.7"]
    assert (peer.line and peer.line.silence, peer.secret) == (9.0, "B1.42-secret-1")


def test_a_client_of_version_1_is_answered_as_it_was_recorded() -> None:
    """The recorded transcript; fields that came later are left out, as that client would.

    Messages are compared, not bytes: how a map says its length is the encoder's choice.
    """
    net = network(session=42)
    client = net.dial("B1")
    client.acknowledges = False
    expected: list[bytes] = []
    for direction, data in transcript():
        if direction == ">":
            client.send(data)
            net.advance(0.1)
        else:
            expected.append(data)
    heard = [_as_it_was(message) for message in client.heard]
    said = [
        LINK_CODEC.decode(body) for one in expected for kind, _, body in split(one) if kind == LINK
    ]
    assert [one for one in heard if one in said] == said
    assert all(one in (Ack(1, 2**18), Ack(2, 2**18 + 70)) for one in heard if one not in said)
    stream = [one for one in expected if one[0] != LINK]
    assert client.frames == [body for one in stream for _, _, body in split(one)]
    assert net.nodes["B1"].peers == {}


def _as_it_was(message: LinkMessage) -> LinkMessage:
    if not isinstance(message, Welcome):
        return message
    return Welcome(
        id=message.id,
        session=message.session,
        version=message.version,
        credit=message.credit,
        silence=message.silence,
    )


REFUSALS = [
    (hello_of("a", versions=(2, 3)), NO_COMMON_VERSION, "you speak 2-3, this broker 1-1"),
    (hello_of("a", network="other"), WRONG_NETWORK, "'sapwood', not 'other'"),
    (hello_of("a", credentials={"token": "guess"}), BAD_CREDENTIALS, "give this network's token"),
    (hello_of("a", role="king", credentials=TOKEN), PROTOCOL, "there are broker and client"),
    (hello_of("", credentials=TOKEN), PROTOCOL, "is no name"),
    (hello_of("a b", credentials=TOKEN), PROTOCOL, "is no name"),
    (hello_of("a", slow_policy="cry", credentials=TOKEN), PROTOCOL, "there are drop_oldest"),
    (hello_of("B.1", role=BROKER, credentials=TOKEN), ID_IN_USE, "this broker itself is 'B.1'"),
    (hello_of("B", 1, credentials=TOKEN), ID_IN_USE, "this broker itself"),
    (
        hello_of("B2", role=BROKER, routing="flooding", credentials=TOKEN),
        WRONG_ROUTING,
        "--routing covering",
    ),
    (
        hello_of("B2", role=BROKER, routing="by magic", credentials=TOKEN),
        WRONG_ROUTING,
        "by magic",
    ),
    (Pong(), PROTOCOL, "begin with Hello"),
    (Ping(), PROTOCOL, "begin with Hello"),
]


@pytest.mark.parametrize(("said", "code", "words"), REFUSALS)
def test_who_does_not_come_in_is_told_why(said: LinkMessage, code: str, words: str) -> None:
    net = Network()
    node = net.add("B.1", token="t")
    peer = net.dial("B.1").say(said)
    assert peer.goodbye.code == code
    assert words in peer.goodbye.reason
    assert peer.is_gone
    assert (node.peers, node.lines, node.admission.next_at) == ({}, {}, None)
    assert node.counts["refused"] == isinstance(said, Hello)


def test_a_refusal_is_a_goodbye_and_an_end() -> None:
    """The whole list of effects."""
    net = network()
    net.bring("B1", Connected(7))
    effects = net.bring("B1", Data(7, LINK_CODEC.encode(hello_of("a", network="other"))))
    reason = (
        "this is network 'sapwood', not 'other'; give the right address or the right network name"
    )
    assert effects == [
        Write(7, LINK_CODEC.encode(Goodbye(WRONG_NETWORK, reason))),
        Close(7, reason),
    ]
    again = LINK_CODEC.encode(hello_of("a"))
    assert net.bring("B1", Data(7, again)) == []  # nothing is looked at any more


def test_whoever_says_nothing_is_sent_away_and_leaves_nothing_behind() -> None:
    net = network()
    node = net.nodes["B1"]
    silent = net.dial("B1")
    half = net.dial("B1").send(LINK_CODEC.encode(hello_of("a"))[:-1])
    net.advance(HANDSHAKE_SECONDS - 0.01)
    assert (silent.heard, len(node.lines)) == ([], 2)
    net.advance(0.02)
    for peer in (silent, half):
        assert peer.goodbye == Goodbye(PROTOCOL, "no Hello within 5.0 s")
    assert (node.lines, node.admission.greeting, node.admission.next_at) == ({}, {}, None)


def test_handshakes_that_fail_leave_no_line_and_no_timer() -> None:
    net = network()
    node = net.nodes["B1"]
    for number in range(50):
        net.dial("B1").leave()
        net.dial("B1").say(hello_of("a", network="other"))
        net.dial("B1").send(b"\xff" * 20)
        peer = net.dial("B1").say(hello_of(f"B{number}", role=BROKER, network="other"))
        assert peer.is_gone
    net.advance(1.0)
    assert (node.lines, node.peers, node.keepalive.due) == ({}, {}, [])
    assert (node.admission.greeting, node.admission.applicants) == ({}, {})


def test_an_id_too_long_to_publish_with_is_refused() -> None:
    net = network()
    fits = "x" * (PUBLISHER_BYTES_MAX - 2)
    client = net.client(fits, "B1")
    assert isinstance(client.welcome, Welcome)
    client.subscribe("n = 1").publish(f"{fits}.1", 1)
    net.advance(0.1)
    assert client.got == [(f"{fits}.1", 1)]
    for peer in (
        net.client(fits + "x", "B1"),
        net.client("é" * 150, "B1"),
        net.dial("B1").say(hello_of("y" * 254, role=BROKER)),
    ):
        assert peer.goodbye.code == PROTOCOL
        assert "choose a shorter id" in peer.goodbye.reason
    assert len(net.nodes["B1"].peers) == 1


# Certificates


def test_where_certificates_are_required_a_broker_shows_one_with_its_id() -> None:
    net = network(require_certificate=True)
    none = net.dial("B1").say(hello_of("a"))
    assert none.goodbye == Goodbye(BAD_CREDENTIALS, NO_CERTIFICATE)
    anybody = net.dial("B1", certificate=("someone",)).say(hello_of("a"))
    assert anybody.welcome.id == "B1"
    other = net.dial("B1", certificate=("b3", "x")).say(hello_of("B2", role=BROKER))
    assert other.goodbye.code == BAD_CREDENTIALS
    assert "is for b3, x, not for 'B2'" in other.goodbye.reason
    for name, shown in (("B2", "B2"), ("B3", "b3")):  # names of hosts are in lower case
        good = net.dial("B1", certificate=(shown,)).say(hello_of(name, role=BROKER))
        net.advance(0.5)
        assert good.welcome.id == "B1"
        good.leave()


# Clients


def test_only_so_many_clients_come_in_and_those_who_are_in_may_come_back() -> None:
    net = network(client=ClientLimits(max_clients=1))
    alice = net.client("alice", "B1")
    assert net.client("bob", "B1").goodbye.code == BUSY
    alice.leave()
    resume = Resume("B1", 1, 0, alice.welcome.secret)
    assert net.client("alice", "B1", resume=(resume,)).welcome.resumed == 0


def test_a_client_cannot_take_the_place_of_a_broker_nor_a_broker_that_of_a_client() -> None:
    net = network()
    net.add("B.2", "B1")
    client = net.client("B", "B1", session=2)
    assert client.goodbye == Goodbye(ID_IN_USE, "there is a broker 'B.2'; choose another id")
    net.client("c", "B1")
    broker = net.dial("B1").say(hello_of("c.1", role=BROKER))
    assert broker.goodbye == Goodbye(ID_IN_USE, "there is a client 'c.1'; choose another id")
    assert net.nodes["B1"].peers["B.2"].line is not None


def subscribed(net: Network, name: str = "alice") -> RawPeer:
    client = net.client(name, "B1").subscribe("n >= 0")
    net.advance(0.1)
    return client


def test_a_client_goes_on_where_the_connection_broke() -> None:
    """It has three frames of five; it gets the other two, and what it sent is not sent again."""
    net = network()
    alice, bob = subscribed(net), net.client("bob", "B1")
    alice.acknowledges = False
    bob.publish("bob.1", 1, 5)
    alice.leave()
    again = net.connect(RawPeer(net), "B1")
    again.say(hello_of("alice", resume=(Resume("B1", 1, 3, alice.welcome.secret),)))
    assert (again.welcome.resumed, again.welcome.secret) == (1, alice.welcome.secret)
    assert again.got == [("bob.1", 4), ("bob.1", 5)]
    assert net.nodes["B1"].counts["resumed"] == 1


def test_a_stream_that_cannot_be_is_begun_anew() -> None:
    net = network()
    for session, received in ((1, 0), (2, 0), (1, 5)):
        peer = net.client("alice", "B1", resume=(Resume("B1", session, received),))
        assert peer.welcome.resumed is None
        peer.leave()
    assert len(net.nodes["B1"].peers) == 1


@pytest.mark.parametrize("shown", ["", "a guess"])
@pytest.mark.parametrize("is_living", [True, False])
def test_a_name_without_its_secret_takes_over_nothing(shown: str, is_living: bool) -> None:
    net = network()
    alice, bob = subscribed(net), net.client("bob", "B1")
    if not is_living:
        alice.leave()
    thief = net.client("alice", "B1", resume=(Resume("B1", 1, 0, shown),))
    assert thief.goodbye.code == BUSY
    assert "its secret was not shown" in thief.goodbye.reason
    without = net.client("alice", "B1")  # nor as a new stream of the same session
    assert without.goodbye.code == BUSY
    bob.publish("bob.1", 1, 3)
    assert (thief.got, without.got) == ([], [])
    if is_living:
        assert alice.got == [("bob.1", number) for number in (1, 2, 3)]
    resume = Resume("B1", 1, alice.received, alice.welcome.secret)
    again = net.client("alice", "B1", resume=(resume,))
    assert again.welcome.resumed == 1
    assert alice.got + again.got == [("bob.1", number) for number in (1, 2, 3)]


def test_a_session_that_never_got_its_welcome_may_try_again() -> None:
    net = network()
    lost = net.client("alice", "B1")
    lost.leave()  # before it had read anything
    again = net.client("alice", "B1")
    assert again.welcome.resumed is None
    assert again.welcome.secret != lost.welcome.secret
    assert len(net.nodes["B1"].peers) == 1


def test_another_session_of_a_client_is_another_client() -> None:
    net = network()
    subscribed(net)
    second = net.client("alice", "B1", session=2)
    assert second.welcome.resumed is None
    assert sorted(net.nodes["B1"].peers) == ["alice.1", "alice.2"]


# Brokers


def test_an_id_that_a_living_broker_holds_is_refused() -> None:
    net = line_of(1)
    net.add("B2", "B1")
    net.add("B3", "B1")
    net.advance(1.0)
    for at in ("B1", "B3"):  # also where it is not a neighbour
        impostor = net.dial(at).say(hello_of("B2", 9, role=BROKER))
        net.advance(0.5)
        assert impostor.goodbye.code == ID_IN_USE
        assert "a living broker has the id 'B2'" in impostor.goodbye.reason
    assert net.nodes["B1"].peers["B2"].session == 1


def test_a_broker_that_is_linked_already_is_told_so() -> None:
    net = line_of(2)
    second = net.dial("B1").say(hello_of("B2", 1, role=BROKER))
    net.advance(0.1)
    expected = Goodbye(
        ALREADY_LINKED, "there is a connection between these two brokers already", "B1"
    )
    assert second.goodbye == expected


def test_a_broker_that_names_its_connection_is_told_so_though_it_is_not_known_here() -> None:
    """Its line is lost here and not yet there: to begin another stream would lose the first."""
    net = line_of(1)
    linked = Resume("B1", 1, COUNT_MAX, "s")
    second = net.dial("B1").say(hello_of("B2", 1, role=BROKER, resume=(linked,)))
    assert second.goodbye.code == ALREADY_LINKED
    former = Resume("B1", 99, COUNT_MAX, "s")  # with another session of this broker
    third = net.dial("B1").say(hello_of("B2", 1, role=BROKER, resume=(former,)))
    net.advance(0.1)
    assert third.welcome.resumed is None


def test_a_broker_is_told_whether_it_is_expected() -> None:
    net = Network()
    net.add("B1", session=5, expected=("B2",), expected_sessions=(1,), former=3)
    hello = hello_of("B2", 8, role=BROKER, expected=("B1",), former=7)
    welcome = net.dial("B1").say(hello).welcome
    assert (welcome.is_expected, welcome.former) == (True, 3)
    peer = net.nodes["B1"].peers["B2"]
    assert (peer.expects_us, peer.former) == (True, 7)
    welcome = net.client("c", "B1").welcome
    assert (welcome.is_expected, welcome.former) == (False, 0)


@pytest.mark.parametrize(
    ("changes", "is_told"),
    [
        ({}, False),
        ({"resume": (Resume("B1", 9, 0, "s"),)}, False),
        ({"resume": (Resume("B7", 1, 0, "s"),)}, True),
        ({"is_astray": True}, True),
    ],
    ids=["new", "was here", "was elsewhere", "may be elsewhere"],
)
def test_the_network_is_told_of_a_client_that_may_be_known_elsewhere(
    changes: dict[str, Any], is_told: bool
) -> None:
    net = Network()
    net.add("B1")
    broker = net.dial("B1").say(hello_of("B2", 1, role=BROKER))
    net.advance(0.1)
    net.client("c", "B1", streams=3, **changes)
    net.advance(0.1)
    moved = [one for one in broker.told if isinstance(one, ClientMoved)]
    assert moved == [ClientMoved("c.1", 3, home="B1.1")] * is_told


def test_a_broker_takes_its_place_over_from_its_dead_session() -> None:
    """The machine is gone, the connection still looks alive: nobody answers the challenge."""
    net = line_of(2, link=LinkLimits(silence_seconds=60.0))
    net.freeze("B1", "B2")
    new = net.dial("B1").say(hello_of("B2", 2, role=BROKER))
    net.advance(CHALLENGE_SECONDS - 0.05)
    assert new.heard == []
    net.advance(0.1)
    assert new.welcome.resumed is None
    peer = net.nodes["B1"].peers["B2"]
    assert (peer.session, peer.line is not None) == (2, True)


def test_a_broker_that_came_back_while_its_dead_line_was_challenged_keeps_its_name() -> None:
    """The line that does not answer is not the one it has now."""
    net = line_of(1)
    dead = net.dial("B1").say(hello_of("B2", 1, role=BROKER))
    net.advance(0.1)
    node, secret = net.nodes["B1"], dead.welcome.secret
    dead.acknowledges = False
    new = net.dial("B1").say(hello_of("B2", 2, role=BROKER))
    resume = Resume("B1", 1, dead.received, secret)
    back = net.dial("B1").say(hello_of("B2", 1, role=BROKER, resume=(resume,)))
    assert back.welcome.resumed is not None
    net.advance(2 * CHALLENGE_SECONDS)
    assert (new.goodbye.code, back.is_gone) == (ID_IN_USE, False)
    peer = node.peers["B2"]
    assert (peer.session, peer.line is not None) == (1, True)


def test_an_applicant_that_leaves_during_its_examination_is_forgotten() -> None:
    net = line_of(2, link=LinkLimits(silence_seconds=60.0))
    net.freeze("B1", "B2")
    node = net.nodes["B1"]
    new = net.dial("B1").say(hello_of("B2", 2, role=BROKER))
    assert len(node.admission.applicants) == 1
    new.leave()
    assert node.admission.applicants == {}
    net.advance(2 * CHALLENGE_SECONDS)
    assert node.peers["B2"].session == 1


def test_a_neighbour_with_the_wrong_secret_does_not_resume() -> None:
    net = line_of(2)
    net.crash("B2")
    net.run()
    here = net.nodes["B1"].peers["B2"]
    wrong = Resume("B1", 1, here.channel.received, "a guess")
    peer = net.dial("B1").say(hello_of("B2", 1, role=BROKER, resume=(wrong,)))
    net.advance(1.0)
    assert peer.welcome.resumed is None
    assert net.nodes["B1"].peers["B2"] is not here


def test_a_second_way_into_the_same_tree_is_a_link_outside_it() -> None:
    net = line_of(2)
    net.add("B3", "B1", "B2")
    net.advance(2.0)
    in_tree = [net.nodes["B3"].peers[name].in_tree for name in ("B1", "B2")]
    assert in_tree == [True, False]
    one = net.client("a", "B3").subscribe("n >= 0")
    net.advance(0.2)
    net.client("b", "B2").publish("b.1", 1, 50)
    net.advance(0.2)
    assert one.got == [("b.1", number) for number in range(1, 51)]


def test_a_network_that_does_not_answer_a_survey_lets_nobody_in_for_now() -> None:
    """The neighbour behind which the rest lies is frozen, so nobody knows what is there."""
    net = line_of(2, settle_patience=1.0, link=LinkLimits(silence_seconds=60.0))
    net.freeze("B1", "B2")
    new = net.dial("B1").say(hello_of("B3", role=BROKER))
    net.advance(3.0)
    assert new.goodbye.code == BUSY
    assert net.nodes["B1"].admission.applicants == {}


def test_nobody_comes_in_while_the_broker_ends() -> None:
    net = network()
    client = subscribed(net)
    client.acknowledges = False
    net.client("bob", "B1").publish("bob.1", 1)
    net.stop("B1")  # it waits for the acknowledgement
    assert net.client("carol", "B1").goodbye == Goodbye(SHUTDOWN, "broker B1 is shutting down")


def test_so_many_may_dial_and_say_nothing_and_the_next_one_still_comes_in(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(admission, "GREETING_MAX", 5)
    net = network()
    silent = [net.dial("B1") for _ in range(12)]
    node = net.nodes["B1"]
    assert len(node.admission.greeting) == 5
    assert [one.goodbye.code for one in silent[:7]] == [BUSY] * 7
    assert not any(one.count(Goodbye) for one in silent[7:])
    assert isinstance(net.client("alice", "B1").welcome, Welcome)
    net.advance(HANDSHAKE_SECONDS + 1.0)
    assert node.admission.greeting == {}
