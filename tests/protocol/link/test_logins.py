"""Tests for logins: who somebody is, which id they may have, and what waiting costs."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from protocol.accounts_of import ACCOUNTS, ALICE, BOB, PASSWORD, SITE, shown
from protocol.joined import Network, hello_of
from sapwood.protocol.accounts import Account, Accounts
from sapwood.protocol.hashing import SECRET_BYTES_MAX
from sapwood.protocol.link.handshake import (
    BAD_CREDENTIALS,
    BROKER,
    BUSY,
    LINK_CODEC,
    Goodbye,
    Hello,
    Welcome,
)
from sapwood.protocol.link.line import HANDSHAKE_SECONDS
from sapwood.protocol.link.logins import (
    CROWDED,
    NO_ACCOUNT,
    WAITING_MAX,
    WAITING_PER_HOST_MAX,
    WRONG,
    Unproved,
    identify,
    usurpation,
)
from sapwood.protocol.ports import (
    Connected,
    Data,
    DriverEffect,
    Reload,
    SecretVerified,
    VerifySecret,
)

UNKNOWN = Goodbye(BAD_CREDENTIALS, WRONG)


@pytest.mark.parametrize(
    ("credentials", "certificate", "who"),
    [
        (shown("alice"), None, ALICE),
        (shown("alice", "guess"), None, UNKNOWN),
        (shown("alice", ""), None, UNKNOWN),
        ({"account": "alice"}, None, UNKNOWN),
        ({"account": "nobody", "secret": "alice-token"}, None, UNKNOWN),
        (shown("bob"), None, Unproved(BOB, "open sesame")),
        (shown("bob", "x" * (SECRET_BYTES_MAX + 1)), None, UNKNOWN),
        ({}, None, Goodbye(BAD_CREDENTIALS, NO_ACCOUNT)),
        ({"token": "t"}, None, Goodbye(BAD_CREDENTIALS, NO_ACCOUNT)),
        ({}, ("x", "bob.example"), BOB),
        ({}, ("bob",), Goodbye(BAD_CREDENTIALS, NO_ACCOUNT)),
        ({"account": "bob"}, ("bob.example",), BOB),
    ],
)
def test_who_it_is(
    credentials: dict[str, str], certificate: tuple[str, ...] | None, who: object
) -> None:
    assert identify(ACCOUNTS, credentials, certificate) == who


def test_a_certificate_of_one_account_is_not_that_of_another() -> None:
    said = identify(ACCOUNTS, shown("alice"), ("bob.example",))
    assert isinstance(said, Goodbye)
    assert "the certificate is that of account 'bob', not of 'alice'" in said.reason


@pytest.mark.parametrize(
    ("account", "name", "role", "words"),
    [
        (ALICE, "alice", "client", ""),
        (ALICE, "alice/1", "client", ""),
        (ALICE, "a-1", "client", ""),
        (ALICE, "bob", "client", "the id 'bob' is not one of account 'alice'"),
        (ALICE, "new", "client", "which has 'alice', 'alice/*', 'a-*'; choose one of these"),
        (ALICE, "alice", BROKER, "is for a client, and says to be a broker"),
        (SITE, "B2", BROKER, ""),
        (SITE, "B2-a", BROKER, ""),
        (SITE, "B1", BROKER, "the id 'B1' is not one of account 'B2'"),
        (SITE, "B2", "client", "is for a broker, and says to be a client"),
    ],
)
def test_which_id_it_may_have(account: Account, name: str, role: str, words: str) -> None:
    goodbye = usurpation(ACCOUNTS, account, hello_of(name, role=role))
    assert (goodbye is None) is not bool(words)
    if goodbye is not None:
        assert (goodbye.code, words in goodbye.reason) == (BAD_CREDENTIALS, True)


def network(**config: Any) -> Network:
    net = Network()
    net.add("B1", accounts=ACCOUNTS, **config)
    return net


def said_hello(
    net: Network, hello: Hello, number: int, address: str = "raw:1"
) -> list[DriverEffect]:
    """Somebody dials B1 and says hello; what B1 does because of that."""
    net.bring("B1", Connected(number, address=address))
    return net.bring("B1", Data(number, LINK_CODEC.encode(hello)))


def test_a_password_is_verified_by_the_driver_and_known_from_then_on() -> None:
    """The whole lists of effects; the second time the driver is not asked."""
    net = network()
    net.verifies = False
    net.bring("B1", Connected(7, address="10.0.0.1:5"))
    hello = hello_of("bob", credentials=shown("bob"))
    assert said_hello(net, hello, 8) == [VerifySecret(8, (PASSWORD,), "open sesame")]
    assert net.nodes["B1"].peers == {}
    net.bring("B1", SecretVerified(8, is_right=True))
    assert list(net.nodes["B1"].peers) == ["bob.1"]
    later = hello_of("bob", 2, credentials=shown("bob"))
    said_hello(net, later, 9)
    assert list(net.nodes["B1"].peers) == ["bob.1", "bob.2"]
    wrong = hello_of("bob", 3, credentials=shown("bob", "open Sesame"))
    assert said_hello(net, wrong, 10) == [VerifySecret(10, (PASSWORD,), "open Sesame")]


def test_a_wrong_password_is_refused() -> None:
    net = network()
    client = net.client("bob", "B1", credentials=shown("bob", "guess"))
    assert (client.goodbye, client.is_gone) == (UNKNOWN, True)
    node = net.nodes["B1"]
    assert (node.peers, node.admission.applicants, node.counts["refused"]) == ({}, {}, 1)


def test_whoever_leaves_while_the_password_is_verified_is_forgotten() -> None:
    net = network()
    net.verifies = False
    client = net.client("bob", "B1", credentials=shown("bob"))
    number = next(iter(net.nodes["B1"].admission.applicants))
    client.leave()
    net.bring("B1", SecretVerified(number, is_right=True))
    assert (net.nodes["B1"].peers, net.nodes["B1"].lines) == ({}, {})


def test_an_answer_that_nobody_waits_for_changes_nothing() -> None:
    net = network()
    net.client("alice", "B1", credentials=shown("alice"))
    assert net.bring("B1", SecretVerified(1, is_right=True)) == []
    assert net.bring("B1", SecretVerified(99, is_right=False)) == []
    assert list(net.nodes["B1"].peers) == ["alice.1"]


def test_a_password_that_nobody_verifies_does_not_keep_anybody_for_ever() -> None:
    net = network()
    net.verifies = False
    client = net.client("bob", "B1", credentials=shown("bob"))
    net.advance(HANDSHAKE_SECONDS - 0.1)
    assert client.heard == []
    net.advance(0.2)
    assert client.goodbye == Goodbye(BUSY, CROWDED)
    assert net.nodes["B1"].admission.applicants == {}


def test_a_flood_of_logins_costs_no_more_than_a_few_verifications() -> None:
    """One host may have some waiting, all together some more; tokens do not wait at all."""
    net = network()
    net.verifies = False
    asked = []
    for number in range(200):
        hello = hello_of("bob", number + 1, credentials=shown("bob", f"guess {number}"))
        host = f"10.0.0.{number // 40}:{number}"
        asked += said_hello(net, hello, 1000 + number, host)
    verifications = [one for one in asked if isinstance(one, VerifySecret)]
    assert len(verifications) == WAITING_MAX
    assert {one.connection for one in verifications} == {
        1000 + 40 * host + number for host in range(4) for number in range(WAITING_PER_HOST_MAX)
    }
    alice = net.client("alice", "B1", credentials=shown("alice"))
    assert isinstance(alice.welcome, Welcome)


def test_an_account_that_changes_while_its_password_is_verified_is_refused() -> None:
    net = network()
    net.verifies = False
    client = net.client("bob", "B1", credentials=shown("bob"))
    number = next(iter(net.nodes["B1"].admission.applicants))
    config = net.nodes["B1"].config
    net.bring("B1", Reload(_with(config, Accounts([ALICE]))))
    net.bring("B1", SecretVerified(number, is_right=True))
    net.run()
    assert client.goodbye == UNKNOWN


def test_a_spoilt_memory_of_passwords_only_costs_time() -> None:
    net = network()
    net.client("bob", "B1", credentials=shown("bob"))
    known = net.nodes["B1"].admission.recognized
    for digests, key in (({"bob": None}, "x"), ({"bob": b""}, ""), ({}, None)):
        known.digests, known.key = digests, key  # type: ignore[assignment]
        net.verifies = False
        net.client("bob", "B1", session=5, credentials=shown("bob", "guess"))
        assert "bob.5" not in net.nodes["B1"].peers
        net.verifies = True
    net.client("bob", "B1", session=6, credentials=shown("bob"))
    assert "bob.6" in net.nodes["B1"].peers


def test_brokers_log_in_where_they_dial() -> None:
    net = network()
    net.add("B2", "B1", account="B2", secret="site-token")
    net.advance(1.0)
    assert list(net.nodes["B1"].peers) == ["B2"]


def _with(config: Any, accounts: Accounts) -> Any:
    return msgspec.structs.replace(config, accounts=accounts)
