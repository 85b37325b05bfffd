"""When certificates expire: nobody on site looks, and one that has expired cuts a site off.

Python says that of a certificate which it was shown, not of one in a file. So the few fields before
it are skipped here (RFC 5280, 4.1: version, serial number, algorithm, issuer, then validity).
"""

from __future__ import annotations

import re
import ssl
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from sapwood.errors import ConfigurationError
from sapwood.runtime.config.settings import TlsSettings

_PEM: Final = re.compile(
    r"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", re.DOTALL | re.ASCII
)
_VERSION, _UTC_TIME, _LONG_LENGTH = 0xA0, 0x17, 0x80
_BEFORE_VALIDITY: Final = 3
"""Serial number, algorithm, issuer."""


def expiries(tls: TlsSettings) -> dict[str, float]:
    """By file: when the first certificate in it expires, in seconds since 1970.

    One whose form is not known here may still be good enough for TLS, and is left out.
    """
    found = {}
    for file in (tls.certificate, tls.authority):
        with suppress(ConfigurationError):
            found.update({file: expires_at(file)} if file else {})
    return found


def expires_at(file: str) -> float:
    """When the first of the certificates in a file expires, in seconds since 1970."""
    try:
        texts = _PEM.findall(Path(file).read_text(encoding="ascii", errors="replace"))
        return min(_end_of(ssl.PEM_cert_to_DER_cert(text)) for text in texts)
    except (OSError, ValueError, IndexError) as problem:
        what = getattr(problem, "strerror", None) or "there is no certificate in it"
        raise ConfigurationError(f"{file}: {what}; wanted a PEM file", "tls.certificate") from None


def _end_of(data: bytes) -> float:
    at, _ = _inside(data, 0)
    at, _ = _inside(data, at)
    if data[at] == _VERSION:
        at = _inside(data, at)[1]
    for _ in range(_BEFORE_VALIDITY):
        at = _inside(data, at)[1]
    at, _ = _inside(data, at)
    at = _inside(data, at)[1]
    start, end = _inside(data, at)
    form = "%y%m%d%H%M%SZ" if data[at] == _UTC_TIME else "%Y%m%d%H%M%SZ"
    return datetime.strptime(data[start:end].decode("ascii"), form).replace(tzinfo=UTC).timestamp()


def _inside(data: bytes, at: int) -> tuple[int, int]:
    """Where the content of the element at a place begins and ends."""
    length, start = data[at + 1], at + 2
    if length >= _LONG_LENGTH:
        size = length - _LONG_LENGTH
        length, start = int.from_bytes(data[start : start + size]), start + size
    return start, start + length
