"""Which broker a command talks to, and with what it shows that it may."""

from __future__ import annotations

import asyncio

import pytest

from runtime.serving import chain_in_background
from sapwood.cli.main import run
from sapwood.cli.server_option import open_bus, run_client

Captured = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SAPWOOD_SERVER", "SAPWOOD_NETWORK", "SAPWOOD_TOKEN"):
        monkeypatch.delenv(name, raising=False)


def test_the_server_comes_from_the_option_or_the_environment(
    monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    with chain_in_background(2) as servers:
        first, second = (str(server.address) for server in servers)
        assert run(["ping", "-s", first, "--count", "1"]) == 0
        monkeypatch.setenv("SAPWOOD_SERVER", second)
        assert run(["ping", "--count", "1"]) == 0
        assert run(["ping", "--count", "1", "--server", "127.0.0.1:1", "-s", first]) == 0
    told = [line.partition(":")[0] for line in capsys.readouterr().out.splitlines()]
    assert told == ["broker B1", "broker B2", "broker B1"]


def test_network_and_token_come_from_the_environment(
    monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    with chain_in_background(1, network="plant", token="secret") as servers:
        address = str(servers[0].address)
        assert run(["ping", "-s", address]) == 2
        assert capsys.readouterr().err == (
            "error: this is network 'plant', not 'sapwood'; "
            "give the right address or the right network name\n"
        )
        monkeypatch.setenv("SAPWOOD_NETWORK", "plant")
        assert run(["ping", "-s", address]) == 2
        assert "the token is missing or wrong" in capsys.readouterr().err
        monkeypatch.setenv("SAPWOOD_TOKEN", "secret")
        assert run(["ping", "-s", address, "--count", "1"]) == 0


def test_tls_is_prepared_where_it_is_asked_for() -> None:
    assert open_bus(["sapwoods://127.0.0.1"])._options.tls is not None
    assert open_bus(["sapwood://127.0.0.1"])._options.tls is None


@pytest.mark.parametrize("address", ["127.0.0.1:99999", "http://127.0.0.1"])
def test_what_is_no_address_is_said(address: str, capsys: Captured) -> None:
    assert run(["ping", "-s", address]) == 2
    assert f"error: {address!r} is no address" in capsys.readouterr().err


def test_a_coroutine_is_run() -> None:
    async def work() -> str:
        await asyncio.sleep(0)
        return type(asyncio.get_running_loop()).__module__

    assert run_client(work()).startswith("uvloop")
