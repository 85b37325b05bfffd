"""Tests for adding accounts to a file."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from sapwood.errors import ConfigurationError
from sapwood.protocol.hashing import hash_token
from sapwood.runtime.config.account_writing import NewAccount, accounts_named, add_account
from sapwood.runtime.config.accounts import read_accounts

HASH = hash_token("t")


def test_what_is_there_stays_word_for_word(tmp_path: Path) -> None:
    file = tmp_path / "accounts.toml"
    add_account(file, NewAccount(name="a", secret=HASH, publish="x = 'é'"))
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    file.write_text(file.read_text() + "# a remark")
    file.chmod(0o640)
    before = file.read_text()
    add_account(file, NewAccount(name="site 17".replace(" ", "."), role="broker", secret=HASH))
    assert file.read_text() == (
        f'{before}\n\n[accounts."site.17"]\nrole = "broker"\nsecret = "{HASH}"\n'
    )
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    accounts = read_accounts(str(file))
    assert accounts is not None
    assert [(one.name, one.role, str(one.publish)) for one in accounts] == [
        ("a", "client", "x = 'é'"),
        ("site.17", "broker", "false"),
    ]
    assert [one.name for one in tmp_path.iterdir()] == ["accounts.toml"]


@pytest.mark.parametrize(
    ("account", "message"),
    [
        (NewAccount(name="a", secret=HASH), "accounts.a is there already"),
        (NewAccount(name="b"), "has neither secret nor certificates"),
        (NewAccount(name="b", secret=HASH, publish="x >"), "accounts.b.publish is no filter"),
        (NewAccount(name="b*", secret=HASH), "is no name of an account"),
        (NewAccount(name="b", secret=HASH, ids=("a",)), "would both own the id 'a'"),
    ],
)
def test_what_would_make_the_file_wrong_is_not_written(
    tmp_path: Path, account: NewAccount, message: str
) -> None:
    file = tmp_path / "accounts.toml"
    add_account(file, NewAccount(name="a", secret=HASH))
    before = file.read_text()
    with pytest.raises(ConfigurationError, match=message.replace("(", r"\(")):
        add_account(file, account)
    assert file.read_text() == before


def test_a_file_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="cannot be written: No such file"):
        add_account(tmp_path / "gone" / "accounts.toml", NewAccount(name="a", secret=HASH))


def test_names_are_found_in_files_that_are_wrong() -> None:
    assert accounts_named({"accounts": {"a": 1}}) == {"a"}
    assert accounts_named({"accounts": 1}) == accounts_named({}) == set()
