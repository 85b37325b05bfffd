"""Tests for reading everything again while a broker runs."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from shutil import copy
from typing import Any

import msgspec
import pytest

from runtime.authority import Authority
from runtime.serving import ANY_PORT, run, serving
from sapwood.errors import ConfigurationError, RefusedError
from sapwood.protocol.hashing import hash_token
from sapwood.runtime.client import connect
from sapwood.runtime.config.settings import Settings
from sapwood.runtime.reloading import AT_ONCE, Reloading
from sapwood.runtime.tls import certificate_names, client_context


def account(name: str, token: str, **filters: str) -> str:
    lines = [f"[accounts.{name}]", f'secret = "{hash_token(token)}"']
    return "\n".join([*lines, *(f'{key} = "{text}"' for key, text in filters.items()), ""])


def test_what_changes_at_once_is_a_setting() -> None:
    assert set(AT_ONCE) <= set(Settings.__struct_fields__)


def test_accounts_change_and_a_wrong_file_changes_nothing(tmp_path: Path) -> None:
    file = tmp_path / "accounts.toml"
    file.write_text(account("alice", "a", publish="true") + account("bob", "b"))

    async def check() -> None:
        told: list[str] = []
        async with serving("B1", accounts=str(file)) as server:
            wanted = [server.settings]
            reloading = Reloading(server, lambda: wanted[0], told.append)
            url = str(server.address)
            async with connect(url, account="alice", secret="a") as alice:
                assert alice.id.startswith("alice/")
                file.write_text("[accounts.bob]\n")
                assert not await reloading.reload()
                await alice.publish({"x": 1}, confirm=True)
                file.write_text(account("alice", "new", publish="x > 5"))
                wanted[0] = msgspec.structs.replace(server.settings, network="n", token="t")
                assert await reloading.reload()
                with pytest.raises(RefusedError, match="may publish what matches 'x > 5'"):
                    await alice.publish({"x": 1}, confirm=True)
            for name, secret in (("alice", "a"), ("bob", "b")):
                with pytest.raises(RefusedError):
                    await connect(url, account=name, secret=secret).__aenter__()
            async with connect(url, account="alice", secret="new"):
                pass
            assert (server.settings.network, server.settings.token) == ("sapwood", "t")
            assert told == [
                f"broker B1: reload changed nothing: {file}: accounts.bob has neither secret nor "
                "certificates, so nobody could log in; add one",
                "broker B1: reloaded; only a restart changes network",
            ]

    run(check())


def test_a_wrong_configuration_changes_nothing(tmp_path: Path) -> None:
    async def check() -> None:
        told: list[str] = []

        def load() -> Settings:
            raise ConfigurationError("is wrong", "x", "file")

        async with serving("B1") as server:
            assert not await Reloading(server, load, told.append).reload()
            assert told == ["broker B1: reload changed nothing: file: x is wrong"]

    run(check())


def test_a_certificate_is_replaced_while_connections_go_on(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    tls = authority.settings("127.0.0.1", "old")
    client_context.cache_clear()

    async def shown(server: Any) -> set[str]:
        import asyncio

        address = server.address
        _, writer = await asyncio.open_connection(address.host, address.port, ssl=authority.trusted)
        names = certificate_names(writer.get_extra_info("peercert"))
        writer.close()
        return names

    async def check() -> None:
        told: list[str] = []
        async with (
            serving("B1", tls=tls) as server,
            connect(str(server.address), tls=authority.trusted) as bus,
        ):
            assert "old" in await shown(server)
            reloading = Reloading(server, lambda: server.settings, told.append)
            copy(authority.file, tls.certificate)
            assert not await reloading.reload()
            assert "no certificate with its private key" in told[-1]
            assert "old" in await shown(server)
            new = authority.settings("127.0.0.1", "new")
            copy(new.certificate, tls.certificate)
            copy(new.key, tls.key)
            assert await reloading.reload()
            assert "new" in await shown(server)
            await bus.publish({"x": 1}, confirm=True)

    run(check())
    client_context.cache_clear()


@pytest.mark.slow
def test_sighup_reloads_and_ends_nothing(tmp_path: Path) -> None:
    file = tmp_path / "accounts.toml"
    file.write_text(account("alice", "a"))
    command = [sys.executable, "-m", "sapwood", "broker", "--id=B1", "--listen", ANY_PORT]
    with subprocess.Popen(
        [*command, f"--accounts={file}"], stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            _reload_by_signal(process, file)
            process.terminate()
            assert process.wait(30) == 0
        finally:
            process.kill()


def _reload_by_signal(process: subprocess.Popen[str], file: Path) -> None:
    assert process.stderr is not None
    lines = iter(process.stderr)
    url = next(line for line in lines if "listens on" in line).split()[4]
    file.write_text("accounts = 1")
    process.send_signal(signal.SIGHUP)
    assert "reload changed nothing" in next(line for line in lines if "reload" in line)
    file.write_text(account("bob", "b"))
    process.send_signal(signal.SIGHUP)
    assert next(line for line in lines if "reload" in line) == "broker B1: reloaded\n"

    async def check() -> None:
        async with connect(url, account="bob", secret="b") as bus:
            assert bus.is_connected
        with pytest.raises(RefusedError):
            await connect(url, account="alice", secret="a").__aenter__()

    run(check())
