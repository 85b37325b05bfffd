"""What the environment says about getting in, and what counts more."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest

import sapwood.sync
from runtime.authority import Authority
from runtime.serving import chain_in_background
from sapwood.errors import ConfigurationError, RefusedError
from sapwood.runtime.client import BusOptions, ConnectOptions, connect
from sapwood.runtime.client.environment import completed_options, completed_servers

ENVIRONMENT = {
    "SAPWOOD_SERVER": "sapwood://hub:1 hub:2",
    "SAPWOOD_NETWORK": "plant",
    "SAPWOOD_TOKEN": "t",
    "SAPWOOD_ACCOUNT": "pump",
    "SAPWOOD_SECRET": "s",
}
PLAIN = ("sapwood://127.0.0.1",)


def completed(environment: dict[str, str], **options: object) -> BusOptions:
    given: ConnectOptions = options  # type: ignore[assignment]
    return BusOptions(**completed_options(given, PLAIN, environment))


def test_what_is_not_given_comes_from_the_environment() -> None:
    assert completed(ENVIRONMENT) == BusOptions(
        network="plant", token="t", account="pump", secret="s"
    )
    assert completed({}) == completed({"SAPWOOD_NETWORK": "", "SAPWOOD_TOKEN": ""}) == BusOptions()
    assert completed_servers((), ENVIRONMENT) == ("sapwood://hub:1", "hub:2")
    assert completed_servers((), {}) == ("sapwood://127.0.0.1:7470",)


def test_what_is_given_counts_more() -> None:
    given = {"network": "n", "token": "", "account": "a", "secret": "x"}
    assert completed(ENVIRONMENT, **given) == BusOptions(network="n", account="a", secret="x")
    assert completed_servers(("other",), ENVIRONMENT) == ("other",)


def test_another_account_does_not_show_the_secret_of_this_one() -> None:
    assert completed(ENVIRONMENT, account="other").secret == ""
    assert completed(ENVIRONMENT, account="pump").secret == "s"
    assert completed({"SAPWOOD_SECRET": "s"}).secret == "s"


def test_tls_is_prepared_where_it_is_asked_for() -> None:
    own = ssl.create_default_context()
    for options, servers, is_there in (
        ({}, PLAIN, False),
        ({}, (*PLAIN, "sapwoods://127.0.0.1"), True),
        ({"tls": own}, ("sapwoods://127.0.0.1",), own),
    ):
        given: ConnectOptions = options  # type: ignore[assignment]
        found = completed_options(given, servers, {})["tls"]
        assert found is own if is_there is own else (found is not None) is is_there


def test_a_file_that_is_no_authority_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SAPWOOD_AUTHORITY", "none.pem")
    with pytest.raises(ConfigurationError, match=r"none\.pem: no certificates can be read"):
        connect("sapwoods://127.0.0.1")
    assert connect("sapwood://127.0.0.1").tls is None


def test_a_program_gets_in_by_its_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    authority = Authority(tmp_path)
    theirs = authority.settings("127.0.0.1", "B1", require=True)
    mine = authority.settings("someone")
    with chain_in_background(1, network="plant", token="t", tls=theirs) as servers:
        for name, value in {
            "SAPWOOD_SERVER": str(servers[0].address),
            "SAPWOOD_AUTHORITY": authority.file,
            "SAPWOOD_CERTIFICATE": mine.certificate,
            "SAPWOOD_KEY": mine.key,
            "SAPWOOD_TOKEN": "t",
        }.items():
            monkeypatch.setenv(name, value)
        with pytest.raises(RefusedError, match="this is network 'plant'"), sapwood.sync.connect():
            pass
        monkeypatch.setenv("SAPWOOD_NETWORK", "plant")
        with sapwood.sync.connect() as bus:
            assert bus.broker == "B1"
