"""Addresses: what is read, what is refused, and who can reach them."""

from __future__ import annotations

import pytest

from sapwood.errors import AddressError
from sapwood.runtime.address import Address, parse_address, parse_admin


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1", Address("127.0.0.1", 7470)),
        ("127.0.0.1:80", Address("127.0.0.1", 80)),
        ("127.0.0.1:0", Address("127.0.0.1", 0)),
        ("sapwood://broker.example", Address("broker.example", 7470)),
        ("sapwoods://broker.example:99/", Address("broker.example", 99, tls=True)),
        ("[::1]:99", Address("::1", 99)),
    ],
)
def test_addresses_are_read_and_written(text: str, address: Address) -> None:
    assert parse_address(text) == address
    assert parse_address(str(address)) == address


@pytest.mark.parametrize(
    "text",
    ["", "http://a", "a:b", "a:70000", "sapwood://", "a/b", "a?b", "sapwood://a:1#b", "[::1"],
)
def test_what_is_no_address_is_refused_with_the_form(text: str) -> None:
    with pytest.raises(AddressError, match=r"is no address; write sapwood://HOST:PORT"):
        parse_address(text)


@pytest.mark.parametrize(
    ("host", "is_local"),
    [
        ("127.0.0.1", True),
        ("127.9.9.9", True),
        ("localhost", True),
        ("::1", True),
        ("0.0.0.0", False),
        ("::", False),
        ("", False),
        ("127.example.net", False),
        ("10.0.0.1", False),
    ],
)
def test_local_is_what_only_this_machine_reaches(host: str, is_local: bool) -> None:
    assert Address(host, 1).is_local is is_local


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("8470", Address("127.0.0.1", 8470)),
        ("localhost:8470", Address("localhost", 8470)),
        ("[::1]:0", Address("::1", 0)),
    ],
)
def test_admin_addresses_are_read(text: str, address: Address) -> None:
    assert parse_admin(text) == address


@pytest.mark.parametrize(
    "text", ["host", "host:", ":80", "http://host:80", "host:80/path", "99999"]
)
def test_what_is_no_admin_address_is_refused(text: str) -> None:
    with pytest.raises(AddressError, match=r"is no admin address; write HOST:PORT, or PORT alone"):
        parse_admin(text)
