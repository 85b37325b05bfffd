"""Tests for accounts: whose an id is, and what an account may do."""

from __future__ import annotations

import pytest

from sapwood.filters.filter import Filter
from sapwood.protocol.accounts import Account, Accounts, Clash
from sapwood.protocol.clients import ADVERTISED, SUBSCRIBED

PUMP = Account(
    name="pump",
    ids=("p-*", "old"),
    certificates=("pump.example", "p"),
    publish=Filter("site = 17"),
    subscribe=Filter("site = 17 or kind = 'alarm'"),
)
CHIEF = Account(name="chief", publish=Filter("true"), administer=Filter("action <> 'remove'"))
HUB = Account(name="hub", role="broker", ids=("hub-*",), certificates=("hub.example",))
ACCOUNTS = Accounts([PUMP, CHIEF, HUB])


@pytest.mark.parametrize(
    ("role", "name", "owner"),
    [
        ("client", "pump", PUMP),
        ("client", "pump/1", PUMP),
        ("client", "pump-1", None),
        ("client", "p-", PUMP),
        ("client", "p-17", PUMP),
        ("client", "p", None),
        ("client", "old", PUMP),
        ("client", "older", None),
        ("client", "hub", None),
        ("client", "", None),
        ("broker", "hub", HUB),
        ("broker", "hub-2", HUB),
        ("broker", "pump", None),
    ],
)
def test_an_id_belongs_to_one_account_of_its_role(
    role: str, name: str, owner: Account | None
) -> None:
    assert ACCOUNTS.owner(role, name) is owner


def test_a_session_belongs_to_whom_its_client_does() -> None:
    assert ACCOUNTS.owner_of_session("pump/a.b.17") is PUMP
    assert ACCOUNTS.owner_of_session("nobody.17") is None


def test_accounts_are_found_by_name_and_by_certificate() -> None:
    assert (list(ACCOUNTS), len(ACCOUNTS)) == ([PUMP, CHIEF, HUB], 3)
    assert (ACCOUNTS.get("pump"), ACCOUNTS.get("p")) == (PUMP, None)
    assert ACCOUNTS.of_certificate(("x", "pump.example")) is PUMP
    assert ACCOUNTS.of_certificate(("p", "pump.example")) is PUMP
    assert ACCOUNTS.of_certificate(("pump",)) is None
    assert ACCOUNTS.of_certificate(("pump.example", "hub.example")) is None, "it is of two"


def test_accounts_that_own_the_same_id_clash() -> None:
    found = Accounts(
        [
            Account(name="a", ids=("a/x", "p-*")),
            Account(name="b", ids=("p-7", "a/y")),
            Account(name="p-x", role="broker"),
            Account(name="a/z"),
        ]
    ).clashes()
    assert list(found) == [
        Clash("a", "b", "a/y"),
        Clash("a", "a/z", "a/z"),
        Clash("a", "a/z", "a/z/"),
        Clash("a", "b", "p-7"),
    ]
    assert list(ACCOUNTS.clashes()) == []


def test_an_account_publishes_what_its_filter_matches() -> None:
    assert ACCOUNTS.publish_refusal("pump.1", {"site": 17, "x": 1}) == ""
    assert ACCOUNTS.publish_refusal("pump.1", {"site": 18}) == (
        "account 'pump' may publish what matches 'site = 17'; this does not"
    )
    assert "no account owns 'who.1'" in ACCOUNTS.publish_refusal("who.1", {"site": 17})
    assert [ACCOUNTS.is_free(one) for one in ("pump.1", "chief.1", "who.1")] == [False, True, False]


@pytest.mark.parametrize(
    ("kind", "text", "is_allowed"),
    [
        (SUBSCRIBED, "site = 17 and x > 1", True),
        (SUBSCRIBED, "kind = 'alarm' or site = 17", True),
        (SUBSCRIBED, "site in (17, 18)", False),
        (SUBSCRIBED, "true", False),
        (SUBSCRIBED, "false", True),
        (ADVERTISED, "site = 17 and x > 1", True),
        (ADVERTISED, "kind = 'alarm'", False),
    ],
)
def test_an_account_claims_what_its_filter_covers(kind: str, text: str, is_allowed: bool) -> None:
    refusal = ACCOUNTS.claim_refusal("p-1.1", kind, Filter(text))
    assert (refusal == "") is is_allowed


def test_a_refusal_of_a_claim_says_what_is_allowed() -> None:
    assert ACCOUNTS.claim_refusal("p-1.1", ADVERTISED, Filter("x = 1")) == (
        "account 'pump' may advertise what is within 'site = 17', and 'x = 1' is not; "
        "narrow the filter"
    )
    assert "no account owns" in ACCOUNTS.claim_refusal("who.1", SUBSCRIBED, Filter("false"))


def test_an_account_administers_what_its_filter_matches() -> None:
    assert ACCOUNTS.administer_refusal(CHIEF, "swap", "B1") == ""
    assert ACCOUNTS.administer_refusal(CHIEF, "remove", "B1") == (
        "account 'chief' may not do this: action = 'remove' at broker = 'B1' does not match its "
        "administer = \"not action = 'remove'\""
    ) or "does not match" in ACCOUNTS.administer_refusal(CHIEF, "remove", "B1")
    assert "may not do this" in ACCOUNTS.administer_refusal(PUMP, "swap", "B1")
    assert "log in" in ACCOUNTS.administer_refusal(None, "swap", "B1")
