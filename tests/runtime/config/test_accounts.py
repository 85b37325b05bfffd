"""Tests for the file of accounts: what it means, and what is said when it is wrong."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from sapwood.errors import ConfigurationError
from sapwood.filters.filter import Filter
from sapwood.protocol.accounts import Account
from sapwood.protocol.hashing import hash_token
from sapwood.runtime.config.accounts import accounts_of, read_accounts

HASH = hash_token("t")
OTHER = hash_token("u")

RIGHT = f"""
[accounts.pump]
secret = ["{HASH}", "{OTHER}"]
ids = ["p-*"]
certificates = ["pump.example"]
publish = "site = 17"
subscribe = "site = 17 or kind = 'alarm'"

[accounts."site.17"]
role = "broker"
secret = "{HASH}"
"""


def test_a_file_says_who_may_do_what(tmp_path: Path) -> None:
    file = tmp_path / "accounts.toml"
    file.write_text(RIGHT)
    accounts = read_accounts(str(file))
    assert accounts is not None
    assert list(accounts) == [
        Account(
            name="pump",
            secrets=(HASH, OTHER),
            certificates=("pump.example",),
            ids=("p-*",),
            publish=Filter("site = 17"),
            subscribe=Filter("site = 17 or kind = 'alarm'"),
        ),
        Account(name="site.17", role="broker", secrets=(HASH,)),
    ]


def test_without_a_file_there_are_no_accounts_and_an_empty_one_lets_nobody_in() -> None:
    assert read_accounts("") is None
    assert list(accounts_of({}, "f")) == []


A = f'[accounts.a]\nsecret = "{HASH}"\n'

WRONG = [
    ("x = 1", "f: x is no key here; allowed are accounts"),
    ("accounts = 1", "f: accounts is no table; write [accounts.NAME]"),
    ("accounts.a = 1", "f: accounts.a is no table; write [accounts.a]"),
    ("[accounts.a]", "f: accounts.a has neither secret nor certificates"),
    (A + "publsh = 'true'", "f: accounts.a.publsh is no key here; did you mean 'publish'?"),
    (A + "role = 'king'", "f: accounts.a.role is 'king'; allowed are"),
    (A + "publish = true", "f: accounts.a.publish is true or false; wanted text"),
    (A + "subscribe = 'x >'", "f: accounts.a.subscribe is no filter: "),
    (A + "ids = ['a*b']", "f: accounts.a.ids has 'a*b'; a * can only stand at the end"),
    (A + "ids = ['a b']", "f: accounts.a.ids is wrong: 'a b' is no name"),
    (A + "role = 'broker'\npublish = 'true'", "f: accounts.a.publish is set, but the account is"),
    ("[accounts.a]\nsecret = 'open'", "f: accounts.a.secret is no hash; make one with `sapwood"),
    ("[accounts.a]\nsecret = 1", "f: accounts.a.secret is a whole number; wanted"),
    (f"[accounts.a]\nsecret = {[HASH] * 5}", "f: accounts.a.secret has 5 hashes; at most 4"),
    (f"[accounts.'a/b']\nsecret = '{HASH}'", "f: accounts.a/b is no name of an account"),
    (A + A.replace(".a]", ".b]") + "ids = ['a/*']", "f: accounts.a and account 'b' would both own"),
    (
        "[accounts.a]\ncertificates = ['x']\n[accounts.b]\ncertificates = ['x']",
        "f: accounts.b.certificates has 'x', which is that of account 'a'; it can be of one only",
    ),
]


@pytest.mark.parametrize(("text", "message"), WRONG)
def test_what_is_wrong_is_said_with_the_file_the_key_and_the_remedy(
    text: str, message: str
) -> None:
    with pytest.raises(ConfigurationError) as caught:
        accounts_of(tomllib.loads(text), "f")
    assert message in str(caught.value)
