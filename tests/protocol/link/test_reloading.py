"""Tests for settings that change while a node is running."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from protocol.accounts_of import ACCOUNTS, ALICE, BOB, HUB, SITE, shown
from protocol.joined import Network, hello_of
from sapwood.filters.filter import Filter
from sapwood.protocol.accounts import Account, Accounts
from sapwood.protocol.hashing import hash_token
from sapwood.protocol.link.handshake import (
    BAD_CREDENTIALS,
    BROKER,
    CHECKS,
    Goodbye,
    Ping,
    Welcome,
)
from sapwood.protocol.link.limits import ClientLimits
from sapwood.protocol.messages import Refused
from sapwood.protocol.node_invariants import node_problems
from sapwood.protocol.ports import Reload
from sapwood.protocol.stabilize.settings import StabilizationSettings

ALL = (ALICE, BOB, HUB, SITE)


def network(**config: Any) -> Network:
    net = Network()
    net.add("B1", accounts=ACCOUNTS, **config)
    return net


def reload(net: Network, **changes: Any) -> None:
    net.bring("B1", Reload(msgspec.structs.replace(net.nodes["B1"].config, **changes)))
    net.run()


def changed(account: Account, **changes: Any) -> Account:
    return msgspec.structs.replace(account, **changes)


def test_nobody_notices_a_reload_that_changes_nothing_for_them() -> None:
    net = network()
    client = net.client("alice", "B1", credentials=shown("alice")).subscribe("n > 1")
    before = client.raw
    reload(net)
    reload(net, accounts=Accounts([changed(ALICE, secrets=(hash_token("new"),)), BOB]))
    assert (client.raw, client.is_gone) == (before, False)
    old = net.client("alice", "B1", session=2, credentials=shown("alice"))
    new = net.client("alice", "B1", session=3, credentials=shown("alice", "new"))
    assert (old.goodbye.code, type(new.welcome)) == (BAD_CREDENTIALS, Welcome)


def test_whose_account_is_gone_is_sent_away_with_all_they_wanted() -> None:
    net = network()
    client = net.client("alice", "B1", credentials=shown("alice")).subscribe("n > 1")
    bob = net.client("bob", "B1", credentials=shown("bob"))
    reload(net, accounts=Accounts([BOB]))
    assert client.goodbye == Goodbye(BAD_CREDENTIALS, "no account owns 'alice.1' any more")
    assert (client.is_gone, bob.is_gone) == (True, False)
    assert list(net.nodes["B1"].peers) == ["bob.1"]
    assert len(net.nodes["B1"].broker.subscriptions) == 0


def test_whose_id_belongs_to_another_account_now_is_sent_away() -> None:
    net = network()
    client = net.client("a-1", "B1", credentials=shown("alice"))
    reload(net, accounts=Accounts([changed(ALICE, ids=())]))
    assert client.goodbye.code == BAD_CREDENTIALS


def test_who_subscribes_to_more_than_allowed_now_is_sent_away() -> None:
    net = network()
    within = net.client("alice", "B1", credentials=shown("alice")).subscribe("n > 7")
    beyond = net.client("alice", "B1", session=2, credentials=shown("alice")).subscribe("n > 1")
    reload(net, accounts=Accounts([changed(ALICE, subscribe=Filter("n > 5"))]))
    assert within.is_gone is False
    assert beyond.goodbye.code == BAD_CREDENTIALS
    assert "may subscribe to what is within 'n > 5', and 'n > 1' is not" in beyond.goodbye.reason


def test_what_was_decided_about_publications_is_decided_anew() -> None:
    net = network()
    client = net.client("alice", "B1", credentials=shown("alice"))
    reader = net.client("bob", "B1", credentials=shown("bob")).subscribe("true")
    client.publish("alice.1", 1)
    reload(net, accounts=Accounts([changed(ALICE, publish=Filter("n > 5")), BOB]))
    client.publish("alice.1", 1).publish("alice.1", 6)
    reload(net, accounts=Accounts([changed(ALICE, publish=Filter("true")), BOB]))
    client.publish("alice.1", 1)
    assert reader.got == [("alice.1", 1), ("alice.1", 3), ("alice.1", 4)]
    assert [one.sequence for one in client.told if isinstance(one, Refused)] == [2]


def test_a_broker_whose_account_is_gone_is_sent_away_and_one_that_was_dialled_stays() -> None:
    net = network()
    net.add("B2", "B1", account="B2", secret="site-token", accounts=ACCOUNTS)
    net.advance(1.0)
    net.bring("B2", Reload(msgspec.structs.replace(net.nodes["B2"].config, accounts=Accounts())))
    net.run()
    assert list(net.nodes["B2"].peers) == ["B1"], "it dials B1, which need not log in there"
    reload(net, accounts=Accounts([ALICE]))
    assert net.nodes["B1"].peers == {}
    refused = net.dial("B1").say(hello_of("B2", role=BROKER, credentials=shown("B2")))
    assert refused.goodbye.code == BAD_CREDENTIALS


def test_accounts_may_begin_and_end_while_a_broker_runs() -> None:
    net = Network()
    net.add("B1", token="t")
    stranger = net.client("stranger", "B1", credentials={"token": "t"})
    reload(net, accounts=ACCOUNTS)
    assert stranger.goodbye.code == BAD_CREDENTIALS
    net.client("alice", "B1", credentials=shown("alice")).subscribe("n > 1")
    reload(net, accounts=None)
    assert list(net.nodes["B1"].peers) == ["alice.1"]
    assert type(net.client("x", "B1", credentials={"token": "t"}).welcome) is Welcome


def test_the_rest_of_the_settings_stays_as_it_was() -> None:
    net = network()
    before = net.nodes["B1"].config
    reload(net, network="other", token="t", account="a", secret="s", routing="simple")
    assert net.nodes["B1"].config == msgspec.structs.replace(
        before, token="t", account="a", secret="s"
    )


@pytest.mark.parametrize("size", [2**14, 2**26])
def test_other_limits_for_clients_hold_at_once_and_are_no_fault(size: int) -> None:
    """A stream with other limits than are set would else be taken for a spoilt one."""
    net = network(stabilization=StabilizationSettings(refresh_seconds=4.0))
    client = net.client("alice", "B1", credentials=shown("alice"), features=(CHECKS,))
    client.subscribe("n > 1")
    reload(net, client=ClientLimits(buffer_bytes=size, control_bytes=size, window_bytes=size // 2))
    for _ in range(10):
        net.advance(1.0)
        client.say(Ping())
    node = net.nodes["B1"]
    assert not client.is_gone
    assert node.counts["contradiction"] == 0
    assert node.peers["alice.1"].channel.limits.buffer_bytes == size
    assert node_problems(node) == []
