"""Tests for `sapwood account`."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from sapwood.cli.main import run
from sapwood.protocol.hashing import is_right
from sapwood.runtime.config.accounts import read_accounts


def test_an_account_is_added_and_its_secret_is_printed_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "accounts.toml"
    assert run(["account", "add", str(file), "pump", "--publish=site = 17", "--id=p-*"]) == 0
    out, err = capsys.readouterr()
    token = out.strip()
    assert err == f"account pump is in {file}; a broker reads it again at SIGHUP\n"
    accounts = read_accounts(str(file))
    assert accounts is not None
    (account,) = accounts
    assert (account.ids, str(account.publish)) == (("p-*",), "site = 17")
    assert is_right(account.secrets, token)
    assert token not in file.read_text()


def test_a_broker_a_certificate_and_a_password(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "accounts.toml"
    assert run(["account", "add", str(file), "B1", "--broker", "--certificate=b1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["secret"] is None
    monkeypatch.setattr("sys.stdin", io.StringIO("open sesame\n"))
    assert run(["account", "add", str(file), "bob", "--password"]) == 0
    accounts = list(read_accounts(str(file)) or ())
    assert [(one.role, one.certificates) for one in accounts] == [
        ("broker", ("b1",)),
        ("client", ()),
    ]
    assert is_right(accounts[1].secrets, "open sesame")
    capsys.readouterr()
    assert run(["account", "check", str(file)]) == 0
    assert capsys.readouterr().out == f"{file} is right: accounts 2, of which for brokers 1\n"
    assert run(["account", "check", str(file), "--json"]) == 0
    assert [one["ids"] for one in json.loads(capsys.readouterr().out)["accounts"]] == [
        ["B1", "B1/*"],
        ["bob", "bob/*"],
    ]


def test_a_secret_is_hashed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(["account", "hash"]) == 0
    token, hashed = capsys.readouterr().out.split()
    assert is_right([hashed], token)
    monkeypatch.setattr("sys.stdin", io.StringIO("open sesame\n"))
    assert run(["account", "hash", "--password", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["secret"], is_right([said["hash"]], "open sesame")) == (None, True)


def test_what_is_wrong_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "accounts.toml"
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    assert run(["account", "add", str(file), "bob", "--password"]) == 2
    assert "password: is empty" in capsys.readouterr().err
    assert run(["account", "check", str(file)]) == 2
    assert f"error: {file}: cannot be read: No such file" in capsys.readouterr().err
    assert run(["account", "add", str(file), "bob", "--publish", "x >"]) == 2
    assert "accounts.bob.publish is no filter" in capsys.readouterr().err
    assert not file.exists()
