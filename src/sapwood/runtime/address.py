"""Addresses as users write them: ``sapwood://host:port``, or ``host:port``."""

from __future__ import annotations

from ipaddress import ip_address
from typing import NamedTuple
from urllib.parse import urlsplit

from sapwood.errors import AddressError
from sapwood.runtime.config.settings import DEFAULT_PORT

PLAIN, TLS = "sapwood", "sapwoods"


class Address(NamedTuple):
    """Where a broker can be reached."""

    host: str
    port: int
    tls: bool = False

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{TLS if self.tls else PLAIN}://{host}:{self.port}"

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach it."""
        if self.host == "localhost":
            return True
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return False


def parse_address(text: str) -> Address:
    """Read an address; the scheme and the port may be left out.

    >>> str(parse_address("127.0.0.1"))
    'sapwood://127.0.0.1:7470'
    """
    full = text if "://" in text else f"{PLAIN}://{text}"
    try:
        parts = urlsplit(full)
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    extra = host is None or parts.path not in {"", "/"} or parts.query or parts.fragment
    if host is None or parts.scheme not in {PLAIN, TLS} or extra:
        raise AddressError(
            f"{text!r} is no address; write {PLAIN}://HOST:PORT, or {TLS}://HOST:PORT for TLS"
        )
    return Address(host, DEFAULT_PORT if port is None else port, parts.scheme == TLS)


def parse_admin(text: str) -> Address:
    """Read the address of an admin endpoint: a port of this machine, or a host and a port.

    >>> parse_admin("8470")[:2], parse_admin("10.0.0.5:8470")[:2]
    (('127.0.0.1', 8470), ('10.0.0.5', 8470))
    """
    try:
        parts = urlsplit(f"//127.0.0.1:{text}" if text.isdecimal() else f"//{text}")
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    if not host or port is None or parts.netloc != parts.geturl().removeprefix("//"):
        raise AddressError(f"{text!r} is no admin address; write HOST:PORT, or PORT alone")
    return Address(host, port)
