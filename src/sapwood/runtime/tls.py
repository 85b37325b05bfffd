"""TLS for links and clients: contexts, whose certificate it is, and what errors mean.

Whoever dials ``sapwoods://`` checks that the certificate of the other side is of a trusted
authority and names the host that was dialled. A broker may require certificates from those who
dial it; then the certificate of a broker has to carry the broker's id, so that nobody takes the
place of another.
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from sapwood.errors import ConfigurationError, NetworkError, RefusedError, UnreachableError
from sapwood.protocol.link.handshake import BAD_CREDENTIALS
from sapwood.runtime.address import Address, parse_admin
from sapwood.runtime.config.settings import Settings, TlsSettings

AUTHORITY_VARIABLE = "SAPWOOD_AUTHORITY"
CERTIFICATE_VARIABLE = "SAPWOOD_CERTIFICATE"
KEY_VARIABLE = "SAPWOOD_KEY"
"""Environment variables by which client commands are given files with certificates."""

NO_TLS = TlsSettings()

_UNTRUSTED = "CERTIFICATE_VERIFY_FAILED"
_NO_TLS_THERE = ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "PACKET_LENGTH_TOO_LONG")


def server_context(tls: TlsSettings) -> ssl.SSLContext | None:
    """What a broker listens with; None for a broker without certificate.

    Whoever shows a certificate shows one of a trusted authority. That one must be shown is checked
    with the Hello (``reception``): a refusal within TLS would reach the other side as a closed
    connection, since asyncio does not send the alert.
    """
    if not tls.certificate:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    _load_own(context, tls)
    if tls.authority:
        _load_authority(context, tls)
        context.verify_mode = ssl.CERT_OPTIONAL
    elif tls.require_certificate:
        context.load_default_certs(ssl.Purpose.CLIENT_AUTH)
        context.verify_mode = ssl.CERT_OPTIONAL
    return context


@lru_cache(maxsize=8)
def client_context(tls: TlsSettings = NO_TLS) -> ssl.SSLContext:
    """What ``sapwoods://`` addresses are dialled with: by brokers and by clients."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if tls.authority:
        _load_authority(context, tls)
    else:
        context.load_default_certs(ssl.Purpose.SERVER_AUTH)
    if tls.certificate:
        _load_own(context, tls)
    return context


def context_from_environment(environment: Mapping[str, str]) -> ssl.SSLContext:
    """What a client command dials with."""
    return client_context(
        TlsSettings(
            authority=environment.get(AUTHORITY_VARIABLE, ""),
            certificate=environment.get(CERTIFICATE_VARIABLE, ""),
            key=environment.get(KEY_VARIABLE, ""),
        )
    )


def _load_own(context: ssl.SSLContext, tls: TlsSettings) -> None:
    try:
        context.load_cert_chain(tls.certificate, tls.key or None, password=_no_password)
    except ssl.SSLError as problem:
        where = f"{tls.certificate} and {tls.key}" if tls.key else tls.certificate
        what = (problem.reason or str(problem)).lower().replace("_", " ")
        raise ConfigurationError(
            f"{where}: no certificate with its private key ({what}); wanted PEM files that "
            "belong together",
            "tls.certificate",
        ) from None
    except (OSError, ValueError) as problem:
        raise ConfigurationError(f"cannot be used: {problem}", "tls.certificate") from None


def _no_password() -> str:
    raise ValueError("the private key has a password; wanted one without")


def _load_authority(context: ssl.SSLContext, tls: TlsSettings) -> None:
    try:
        context.load_verify_locations(tls.authority)
    except OSError as problem:  # among them those of TLS
        what = problem.strerror or str(problem)
        raise ConfigurationError(
            f"{tls.authority}: no certificates can be read ({what}); wanted a PEM file",
            "tls.authority",
        ) from None


def exposure(settings: Settings, address: Address) -> str:
    """Why a broker does not listen on an address, if so: it would talk in the open."""
    if address.tls and not settings.tls.certificate:
        return f"is {address}, and there is no certificate; set tls.certificate and tls.key"
    if address.is_local or settings.insecure or settings.tls.certificate:
        return ""
    return (
        f"is {address.host}, which other machines can reach, and there is no TLS; "
        "set tls.certificate and tls.key in a configuration file, or say --insecure"
    )


def admin_exposure(settings: Settings, address: Address) -> str:
    """Why there is no admin endpoint on an address, if so."""
    if address.is_local or settings.insecure or (settings.tls.certificate and settings.accounts):
        return ""
    return (
        f"is {address.host}, which other machines can reach, and the admin endpoint has TLS and "
        "login only with tls.certificate and accounts; set both, give 127.0.0.1, or say --insecure"
    )


def admin_uses_tls(settings: Settings, address: Address) -> bool:
    """Whether the admin endpoint is encrypted: where other machines can reach it."""
    return bool(settings.tls.certificate) and not address.is_local


def admin_url(settings: Settings) -> str:
    """Where the admin endpoint of a broker is, as it is told to others."""
    if not settings.admin:
        return ""
    is_encrypted = admin_uses_tls(settings, parse_admin(settings.admin))
    return f"https://{settings.admin}" if is_encrypted else settings.admin


def renew(context: ssl.SSLContext, tls: TlsSettings) -> None:
    """Let a context that is in use show the certificate that is in the files now.

    Authorities that were added are trusted; one that was removed is until the broker is restarted,
    because a context cannot forget any.
    """
    _load_own(context, tls)
    if tls.authority:
        _load_authority(context, tls)


def certificate_names(certificate: Mapping[str, Any] | None) -> set[str]:
    """The names in a certificate, as Python tells them: common name and alternative names.

    >>> certificate_names({"subject": ((("commonName", "B1"),),), "subjectAltName": ()})
    {'B1'}
    """
    if not certificate:
        return set()
    names = {name for _, name in certificate.get("subjectAltName", ())}
    for part in certificate.get("subject", ()):
        names |= {value for key, value in part if key == "commonName"}
    return names


def stranger(certificate: Mapping[str, Any] | None, broker: str | None) -> str:
    """Why a certificate is not enough where one is required; `broker` is the id of a broker."""
    if not certificate:
        return (
            "this broker asks for a certificate; set tls.certificate and tls.key "
            f"(clients: {CERTIFICATE_VARIABLE} and {KEY_VARIABLE})"
        )
    names = certificate_names(certificate)
    if broker is None or broker in names or broker.lower() in names:  # names of hosts are so
        return ""
    shown = ", ".join(sorted(names)) or "nobody"
    return f"the certificate is for {shown}, not for {broker!r}; show one with the id in it"


def explained(problem: ssl.SSLError, address: Address) -> NetworkError:
    """What went wrong with TLS, with the remedy; refused if it will go wrong again."""
    reason = getattr(problem, "reason", "") or str(problem)
    if reason == _UNTRUSTED and isinstance(problem, ssl.SSLCertVerificationError):
        return RefusedError(
            f"the certificate of {address} is not accepted: {problem.verify_message}; "
            f"set tls.authority (clients: {AUTHORITY_VARIABLE}) to the authority's "
            "certificates, and dial a name that is in the certificate",
            BAD_CREDENTIALS,
        )
    if any(word in reason for word in _NO_TLS_THERE):
        return UnreachableError(
            f"{address} does not speak TLS; if it is a broker without TLS, write sapwood://"
        )
    return UnreachableError(f"{address}: TLS fails: {reason}")


def silent_end(address: Address) -> str:
    """What it may mean that a connection was closed before the first answer."""
    if address.tls:
        return "perhaps the broker there does not trust the certificate that was shown"
    return "if it uses TLS, write sapwoods://"
