"""Attacks on a network, each with and without accounts: without they succeed, with they do not.

Mallory holds what anybody holds who may connect at all: a token of their own, or a certificate.
"""

from __future__ import annotations

from typing import Any

import pytest

from protocol.accounts_of import ACCOUNTS, shown
from protocol.joined import Network, RawPeer, hello_of
from sapwood.protocol.accounts import Accounts
from sapwood.protocol.link.handshake import BAD_CREDENTIALS, BROKER, Goodbye, Resume, Welcome
from sapwood.protocol.link.limits import ClientLimits
from sapwood.protocol.messages import Refresh, Refused, Repeat, Settled, Subscribe, Whole
from sapwood.protocol.neighbours import MOVES, REFRESH
from sapwood.protocol.ports import Row
from sapwood.protocol.reconfigure.asking import ChangeTree, TreeChangeEnded
from sapwood.protocol.stabilize.digest import digest
from sapwood.protocol.stabilize.settings import StabilizationSettings

MALLORY = shown("bob")
"""Whoever attacks has an account, too."""


def network(accounts: Accounts | None, **config: Any) -> Network:
    """Two brokers, each with a login of its own."""
    net = Network()
    net.add("B1", accounts=accounts, account="B1", secret="hub-token", **config)
    net.add("B2", "B1", accounts=accounts, account="B2", secret="site-token", **config)
    net.advance(1.0)
    assert list(net.nodes["B1"].peers) == ["B2"]
    return net


def alice(net: Network, at: str = "B1", **hello: Any) -> RawPeer:
    peer = net.client("alice", at, credentials=shown("alice"), **hello)
    assert isinstance(peer.welcome, Welcome)
    return peer


def is_refused(peer: RawPeer) -> bool:
    goodbyes = [one for one in peer.heard if isinstance(one, Goodbye)]
    return bool(goodbyes) and goodbyes[-1].code == BAD_CREDENTIALS


both = pytest.mark.parametrize("accounts", [None, ACCOUNTS], ids=["without", "with"])


@both
def test_nobody_goes_on_with_the_stream_of_another(accounts: Accounts | None) -> None:
    """Even if the secret of the stream has leaked."""
    net = network(accounts)
    victim = alice(net)
    victim.subscribe("n >= 0")
    stolen = Resume("B1", 1, victim.received, victim.welcome.secret)
    thief = net.client("alice", "B1", credentials=MALLORY, resume=(stolen,))
    net.client("bob", "B2", session=2, credentials=MALLORY).publish("bob.2", 1)
    net.advance(1.0)
    got = {"victim": len(victim.got), "thief": len(thief.got)}
    assert got == ({"victim": 0, "thief": 1} if accounts is None else {"victim": 1, "thief": 0})
    assert is_refused(thief) is (accounts is not None)


@both
def test_nobody_sends_another_away_for_good(accounts: Accounts | None) -> None:
    """A session that seems to have moved to another broker is over where it was."""
    net = network(accounts, recording=True)
    victim = alice(net, features=(MOVES, REFRESH))
    thief = net.client(
        "alice", "B2", credentials=MALLORY, is_astray=True, streams=2**60, features=(MOVES,)
    )
    net.advance(1.0)
    assert ("alice.1" in net.nodes["B1"].peers) is (accounts is not None)
    assert is_refused(thief) is (accounts is not None)
    assert victim.is_gone is (accounts is None)


@both
def test_nobody_publishes_in_the_name_of_another(accounts: Accounts | None) -> None:
    """At a broker where the other one is not: there nobody could know better by the name."""
    net = network(accounts)
    reader = net.client("bob", "B1", session=9, credentials=MALLORY).subscribe("true")
    thief = net.client("alice", "B2", credentials=MALLORY)
    if not thief.is_gone:
        thief.publish("alice.1", 1)
    net.advance(1.0)
    assert reader.got == ([("alice.1", 1)] if accounts is None else [])


def test_nobody_publishes_as_another_over_a_connection_of_their_own() -> None:
    net = network(ACCOUNTS)
    mallory = net.client("bob", "B1", credentials=MALLORY).publish("alice.1", 1)
    assert [one for one in mallory.told if isinstance(one, Refused)] == [
        Refused("published as 'alice.1' by 'bob.1': a client publishes as itself", sequence=1)
    ]


@both
@pytest.mark.parametrize("is_certificate", [False, True])
def test_no_client_becomes_a_broker(accounts: Accounts | None, is_certificate: bool) -> None:
    """Neither by the secret of a client nor by its certificate."""
    net = network(accounts)
    certificate = ("bob.example",) if is_certificate else None
    credentials = {} if is_certificate else MALLORY
    peer = net.dial("B1", certificate=certificate)
    peer.say(hello_of("bob", role=BROKER, credentials=credentials))
    net.advance(3.0)
    assert ("bob" in net.nodes["B1"].peers) is (accounts is None)
    assert is_refused(peer) is (accounts is not None)


@both
def test_no_broker_takes_the_place_of_another(accounts: Accounts | None) -> None:
    net = network(accounts)
    net.freeze("B1", "B2")
    impostor = net.dial("B1")
    impostor.say(hello_of("B2", 2, role=BROKER, credentials=shown("B1")))
    net.advance(5.0)
    session = net.nodes["B1"].peers["B2"].session
    assert session == (2 if accounts is None else 1)
    assert is_refused(impostor) is (accounts is not None)


def test_a_broker_is_no_client() -> None:
    net = network(ACCOUNTS)
    assert is_refused(net.client("B2", "B1", credentials=shown("B2")))


def test_a_certificate_says_who_it_is() -> None:
    """The id is bound by the account that the name in the certificate belongs to."""
    net = network(ACCOUNTS)
    bob = net.dial("B1", certificate=("bob.example",)).say(hello_of("bob"))
    thief = net.dial("B1", certificate=("bob.example",)).say(hello_of("alice"))
    site = net.dial("B1", certificate=("site.example",))
    site.say(hello_of("B2-b", role=BROKER))
    net.advance(2.0)
    assert isinstance(bob.welcome, Welcome)
    assert isinstance(site.welcome, Welcome)
    assert is_refused(thief)
    assert {"bob.1", "B2-b"} <= net.nodes["B1"].peers.keys()
    assert "alice.1" not in net.nodes["B1"].peers


def test_the_token_of_the_network_is_not_enough() -> None:
    net = network(ACCOUNTS, token="t")
    assert is_refused(net.client("x", "B1", credentials={"token": "t"}))


# Permissions


def test_a_client_publishes_within_its_filter() -> None:
    """Again and again: what was decided is remembered, for this client only."""
    net = network(ACCOUNTS)
    reader = net.client("bob", "B2", credentials=MALLORY).subscribe("true")
    writer = alice(net)
    for n in (1, -1, 1, -1):
        writer.publish("alice.1", n)
    net.client("bob", "B1", session=7, credentials=MALLORY).publish("bob.7", -1)
    writer.publish("alice.1", -1)
    net.advance(1.0)
    reason = "account 'alice' may publish what matches 'n >= 0'; this does not"
    assert reader.got == [("alice.1", 1), ("alice.1", 3), ("bob.7", 1)]
    assert [one for one in writer.told if isinstance(one, Refused)] == [
        Refused(reason, sequence=number) for number in (2, 4, 5)
    ]


def test_a_long_read_is_held_to_the_filter_as_well() -> None:
    net = network(ACCOUNTS)
    reader = net.client("bob", "B2", credentials=MALLORY).subscribe("true")
    writer = alice(net)
    frames = [
        *writer.notes("alice.1", 1, 100, b"x" * 50),
        *writer.notes("alice.1", -1, 3, b"x" * 50),
        *writer.notes("alice.1", 2, 100, b"x" * 50),
    ]
    writer.send(b"".join(frames))
    net.advance(1.0)
    numbers = [number for _, number in reader.got]
    assert numbers == [*range(1, 101), *range(104, 204)]


def test_a_client_subscribes_within_its_filter() -> None:
    net = network(ACCOUNTS)
    client = alice(net)
    client.tell(Subscribe("1", "n > 5", request=1)).tell(Subscribe("2", "true", request=2))
    client.tell(Subscribe("1", "n > -5", request=3))
    net.advance(1.0)
    answers = {one.request: one for one in client.told if isinstance(one, Settled | Refused)}
    assert isinstance(answers[1], Settled)
    assert [answers[number] for number in (2, 3)] == [
        Refused(
            "account 'alice' may subscribe to what is within 'n >= 0', and "
            f"{text!r} is not; narrow the filter",
            number,
        )
        for number, text in ((2, "true"), (3, "n > -5"))
    ]
    table = net.nodes["B1"].broker.subscriptions
    assert [(one.id, str(one.filter)) for one in table.of("alice.1")] == [("alice.1/1", "n > 5")]


@both
def test_a_client_that_says_its_whole_table_gets_no_more_by_that(
    accounts: Accounts | None,
) -> None:
    net = network(accounts, stabilization=StabilizationSettings(refresh_seconds=2.0))
    client = alice(net, features=(REFRESH,))
    entries = (("1", "n > 5"), ("2", "true"))
    said = digest((f"alice.1/{name}", text) for name, text in entries)
    client.tell(Refresh(subscriptions=said))
    assert [one for one in client.told if isinstance(one, Repeat)] == [Repeat("s")]
    client.tell(Whole("s", entries, said))
    table = net.nodes["B1"].broker.subscriptions
    held = ["n > 5", "true"] if accounts is None else ["n > 5"]
    assert [str(one.filter) for one in table.of("alice.1")] == held


@pytest.mark.parametrize(("who", "is_allowed"), [("alice", False), ("chief", True)])
def test_only_who_may_administer_changes_the_tree(who: str, is_allowed: bool) -> None:
    net = network(ACCOUNTS)
    client = net.client(who, "B1", credentials=shown(who))
    client.tell(ChangeTree(1, "swap", (("B1", "B2"), ("B1", "B3"))))
    net.advance(5.0)
    refused = [one.reason for one in client.told if isinstance(one, Refused)]
    ended = [one for one in client.told if isinstance(one, TreeChangeEnded)]
    assert bool(ended) is is_allowed
    assert any("'alice' may not do this: action = 'swap'" in one for one in refused) is (
        not is_allowed
    )


def test_who_came_in_is_recorded() -> None:
    net = network(ACCOUNTS, recording=True)
    alice(net)
    rows = [one.fields for one in net.asked("B1", Row) if one.kind == "login"]
    assert rows == [{"source": "B2", "message": "B2"}, {"client": "alice.1", "message": "alice"}]


def test_a_client_has_no_more_subscriptions_than_allowed() -> None:
    """With or without accounts; a refusal says what to do."""
    net = network(None, client=ClientLimits(subscriptions_max=2))
    client = alice(net)
    for number in (1, 2, 3):
        client.tell(Subscribe(str(number), f"n > {number}", request=number))
    net.advance(1.0)
    refused = [one for one in client.told if isinstance(one, Refused)]
    assert [one.request for one in refused] == [3]
    assert "end some, or put several into one filter" in refused[0].reason
    assert len(net.nodes["B1"].broker.subscriptions.of("alice.1")) == 2
