"""Accounts for tests: two clients who are strangers to each other, an operator, two brokers."""

from __future__ import annotations

from typing import Final

from sapwood.filters.filter import Filter
from sapwood.protocol.accounts import Account, Accounts
from sapwood.protocol.hashing import hash_password, hash_token

PASSWORD: Final = hash_password("open sesame", b"0123456789abcdef")

ALICE: Final = Account(
    name="alice",
    secrets=(hash_token("alice-token"),),
    ids=("a-*",),
    publish=Filter("n >= 0"),
    subscribe=Filter("n >= 0"),
)
BOB: Final = Account(
    name="bob",
    secrets=(PASSWORD,),
    certificates=("bob.example",),
    publish=Filter("true"),
    subscribe=Filter("true"),
)
CHIEF: Final = Account(
    name="chief", secrets=(hash_token("chief-token"),), administer=Filter("true")
)
HUB: Final = Account(name="B1", role="broker", secrets=(hash_token("hub-token"),))
SITE: Final = Account(
    name="B2",
    role="broker",
    secrets=(hash_token("site-token"),),
    certificates=("site.example",),
    ids=("B2-*",),
)

ACCOUNTS: Final = Accounts([ALICE, BOB, CHIEF, HUB, SITE])

SECRETS: Final = {
    "alice": "alice-token",
    "bob": "open sesame",
    "chief": "chief-token",
    "B1": "hub-token",
    "B2": "site-token",
}


def shown(account: str, secret: str | None = None) -> dict[str, str]:
    """What somebody shows who says to be an account."""
    return {"account": account, "secret": SECRETS[account] if secret is None else secret}
