"""TLS: links and clients over it, whose certificates are accepted, and what is said if not."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from runtime.authority import Authority
from runtime.serving import run, serving
from sapwood.errors import ConfigurationError, NetworkError, RefusedError, UnreachableError
from sapwood.protocol.client.delivered import Delivered
from sapwood.runtime.address import Address, parse_address
from sapwood.runtime.client import connect
from sapwood.runtime.config.settings import Settings, TlsSettings
from sapwood.runtime.server import Server
from sapwood.runtime.tls import (
    certificate_names,
    client_context,
    context_from_environment,
    explained,
    exposure,
    server_context,
)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def stranger(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("stranger"))


@pytest.fixture(autouse=True)
def forgotten_contexts() -> Iterator[None]:
    yield
    client_context.cache_clear()


async def refused(server: Server, **options: Any) -> NetworkError:
    """What a client is told that cannot connect."""
    with pytest.raises(NetworkError) as found:
        async with connect(str(server.address), connect_seconds=0.5, **options):
            pass
    return found.value


async def refused_broker(server: Server, **settings: Any) -> RefusedError:
    """What a broker is told that may not link."""
    with pytest.raises(RefusedError) as found:
        async with serving("B2", join=(str(server.address),), **settings):
            pass
    return found.value


def test_notifications_pass_over_encrypted_links_and_clients(authority: Authority) -> None:
    async def check() -> None:
        one, two = (authority.settings("127.0.0.1", name, require=True) for name in ("B1", "B2"))
        mine = client_context(authority.settings("someone"))
        async with (
            serving("B1", tls=one) as first,
            serving("B2", tls=two, join=(str(first.address),)) as second,
        ):
            assert str(first.address).startswith("sapwoods://")
            async with (
                connect(str(first.address), tls=mine) as bus,
                connect(str(second.address), tls=mine) as other,
                bus.subscribe("price > 100") as quotes,
            ):
                await other.publish({"price": 120.5})
                found = await quotes.get(10)
                assert isinstance(found, Delivered)
                assert found["price"] == 120.5

    run(check())


def test_a_foreign_authority_is_not_believed(authority: Authority, stranger: Authority) -> None:
    async def check() -> None:
        async with serving(tls=authority.settings("127.0.0.1")) as server:
            told = await refused(server, tls=stranger.trusted)
            assert isinstance(told, RefusedError)
            assert "is not accepted: " in str(told)
            assert "set tls.authority (clients: SAPWOOD_AUTHORITY)" in str(told)
            assert "certificate verify failed" not in str(told)

    run(check())


def test_a_certificate_for_another_host_is_not_believed(authority: Authority) -> None:
    async def check() -> None:
        async with serving(tls=authority.settings("elsewhere.example")) as server:
            told = await refused(server, tls=authority.trusted)
            assert isinstance(told, RefusedError)
            assert "dial a name that is in the certificate" in str(told)

    run(check())


def test_a_certificate_can_be_required(authority: Authority, stranger: Authority) -> None:
    async def check() -> None:
        async with serving(tls=authority.settings("127.0.0.1", require=True)) as server:
            told = await refused(server, tls=authority.trusted)
            assert isinstance(told, RefusedError), told
            assert str(told).startswith("this broker asks for a certificate; set tls.certificate")
            foreign = stranger.settings("someone")
            shown = TlsSettings(
                certificate=foreign.certificate, key=foreign.key, authority=authority.file
            )
            told = await refused(server, tls=client_context(shown))
            assert "does not trust the certificate that was shown" in str(told)

    run(check())


def test_a_broker_has_its_id_in_its_certificate(authority: Authority) -> None:
    async def check() -> None:
        async with serving("B1", tls=authority.settings("127.0.0.1", require=True)) as server:
            told = await refused_broker(server, tls=authority.settings("127.0.0.1", "B3"))
            assert str(told) == (
                "the certificate is for 127.0.0.1, B3, b3, not for 'B2'; show one with the id in it"
            )

    run(check())


def test_tls_and_plain_do_not_understand_each_other(authority: Authority) -> None:
    async def check() -> None:
        async with serving() as plain:
            assert plain.address is not None
            asked = str(plain.address._replace(tls=True))
            with pytest.raises(UnreachableError, match=r"does not speak TLS; .* write sapwood://"):
                async with connect(asked, connect_seconds=0.5):
                    pass
        async with serving(tls=authority.settings("127.0.0.1")) as encrypted:
            assert encrypted.address is not None
            asked = str(encrypted.address._replace(tls=False))
            with pytest.raises(UnreachableError, match=r"if it uses TLS, write sapwoods://"):
                async with connect(asked, connect_seconds=0.5):
                    pass

    run(check())


def test_who_connects_and_says_nothing_is_not_waited_for(
    authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sapwood.runtime.listening.HANDSHAKE_SECONDS", 0.1)

    async def check() -> None:
        async with serving(tls=authority.settings("127.0.0.1")) as server:
            assert server.address is not None
            reader, writer = await asyncio.open_connection(*server.address[:2])
            assert await reader.read() == b""
            writer.close()

    run(check(), seconds=10)


@pytest.mark.parametrize(
    ("listen", "settings", "is_allowed"),
    [
        ("127.0.0.1:7470", {}, True),
        ("localhost", {}, True),
        ("[::1]:7470", {}, True),
        ("0.0.0.0:7470", {}, False),
        ("broker.example:7470", {}, False),
        ("0.0.0.0:7470", {"insecure": True}, True),
        ("0.0.0.0:7470", {"tls": TlsSettings(certificate="here.pem")}, True),
    ],
)
def test_nobody_listens_in_the_open_by_accident(
    listen: str, settings: dict[str, Any], is_allowed: bool
) -> None:
    problem = exposure(Settings(id="B1", **settings), parse_address(listen))
    assert (problem == "") == is_allowed
    assert is_allowed or "or say --insecure" in problem


def test_without_certificate_there_is_no_tls() -> None:
    assert server_context(TlsSettings()) is None


def test_files_that_are_no_certificates_are_named(authority: Authority, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.pem"
    wrong.write_text("nothing\n")
    with pytest.raises(ConfigurationError, match=r"wrong.pem: no certificate with its private key"):
        server_context(TlsSettings(certificate=str(wrong)))
    one, two = authority.settings("one"), authority.settings("two")
    with pytest.raises(ConfigurationError, match="wanted PEM files that belong together"):
        server_context(TlsSettings(certificate=one.certificate, key=two.key))
    with pytest.raises(ConfigurationError, match="no certificates can be read"):
        client_context(TlsSettings(authority=str(wrong)))
    with pytest.raises(ConfigurationError, match="cannot be used: "):
        server_context(TlsSettings(certificate=str(tmp_path / "gone.pem")))


def test_commands_take_certificates_from_the_environment(authority: Authority) -> None:
    mine = authority.settings("someone")
    context = context_from_environment(
        {
            "SAPWOOD_AUTHORITY": authority.file,
            "SAPWOOD_CERTIFICATE": mine.certificate,
            "SAPWOOD_KEY": mine.key,
        }
    )
    assert context.cert_store_stats()["x509_ca"] == 1
    assert context.verify_mode is ssl.CERT_REQUIRED


def test_names_of_a_certificate() -> None:
    assert certificate_names(None) == set()
    shown = {
        "subject": ((("organizationName", "Sites"),), (("commonName", "B1"),)),
        "subjectAltName": (("DNS", "b1.example"), ("IP Address", "10.0.0.1")),
    }
    assert certificate_names(shown) == {"B1", "b1.example", "10.0.0.1"}


def test_what_nobody_foresaw_is_told_as_it_is() -> None:
    problem = explained(ssl.SSLError(1, "odd"), Address("127.0.0.1", 7470, tls=True))
    assert str(problem).startswith("sapwoods://127.0.0.1:7470: TLS fails: ")
