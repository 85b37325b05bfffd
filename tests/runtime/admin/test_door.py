"""Tests for who may ask the admin endpoint what."""

from __future__ import annotations

from base64 import b64encode

import pytest
from starlette.requests import Request
from starlette.responses import Response

from protocol.accounts_of import ACCOUNTS
from runtime.serving import run
from sapwood.protocol.accounts import Accounts
from sapwood.runtime.address import Address
from sapwood.runtime.admin.door import WAITING_MAX, Door
from sapwood.runtime.verifying import Verifier

LOCAL, PUBLIC = Address("127.0.0.1", 1), Address("hub.example", 1)


def request(method: str = "GET", host: str | None = "127.0.0.1:1", **headers: str) -> Request:
    said = {**({} if host is None else {"host": host}), **headers}
    raw = [(name.encode(), value.encode()) for name, value in said.items()]
    return Request({"type": "http", "method": method, "path": "/", "headers": raw})


def basic(name: str, secret: str) -> str:
    return f"Basic {b64encode(f'{name}:{secret}'.encode()).decode()}"


def door(
    address: Address, accounts: Accounts | None = ACCOUNTS, hosts: tuple[str, ...] = ()
) -> Door:
    made = Door("B1", lambda: accounts, Verifier(lambda answer: None), hosts)
    made.begin(address)
    return made


def status(of: Door, asked: Request, action: str = "read") -> int:
    refusal = run(of.refusal(asked, action))
    return 200 if refusal is None else refusal.status_code


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("127.0.0.1:8470", 200),
        ("localhost:8470", 200),
        ("[::1]:8470", 200),
        ("10.0.0.5", 200),
        ("Hub.Example", 200),
        ("admin.example:8470", 200),
        ("evil.example:8470", 400),
        ("localhost.evil.example", 400),
        ("[", 400),
        ("", 400),
        (None, 400),
    ],
)
def test_a_request_is_for_a_name_that_is_known(host: str | None, expected: int) -> None:
    made = door(PUBLIC, None, ("admin.example",))
    assert status(made, request(host=host)) == expected


@pytest.mark.parametrize(
    ("origin", "expected"),
    [
        ("http://127.0.0.1:8470", 200),
        ("https://evil.example", 403),
        ("null", 403),
    ],
)
def test_no_page_of_another_site_changes_anything(origin: str, expected: int) -> None:
    made = door(LOCAL, None)
    assert status(made, request("POST", origin=origin), "faults") == expected
    assert status(made, request(origin=origin)) == 200


def test_without_accounts_and_on_this_machine_everybody_may_look() -> None:
    assert status(door(LOCAL, None), request("POST"), "faults") == 200
    assert status(door(LOCAL), request()) == 200


@pytest.mark.parametrize(
    ("login", "expected"),
    [
        ("", 401),
        ("Basic !", 401),
        ("Bearer chief-token", 401),
        (basic("chief", "guess"), 401),
        (basic("nobody", "chief-token"), 401),
        (basic("alice", "alice-token"), 403),
        (basic("B1", "hub-token"), 403),
        (basic("bob", "guess"), 401),
        (basic("bob", "open sesame"), 403),
        (basic("chief", "chief-token"), 200),
    ],
)
def test_who_changes_something_or_asks_from_elsewhere_has_an_account_for_it(
    login: str, expected: int
) -> None:
    headers = {"authorization": login} if login else {}
    assert status(door(LOCAL), request("POST", **headers), "faults") == expected
    assert status(door(PUBLIC), request(**headers)) == expected


def test_a_refusal_says_how_to_log_in_and_what_was_not_allowed() -> None:
    refusal = run(door(PUBLIC).refusal(request(), "read"))
    assert isinstance(refusal, Response)
    assert refusal.headers["www-authenticate"].startswith("Basic realm=")
    asked = request(authorization=basic("alice", "alice-token"))
    refusal = run(door(PUBLIC).refusal(asked, "read"))
    assert isinstance(refusal, Response)
    assert b"'alice' may not do this: action = 'read' at broker = 'B1'" in bytes(refusal.body)


def test_passwords_that_wait_are_few() -> None:
    async def check() -> list[int]:
        import asyncio

        made = door(PUBLIC)
        asked = [request(authorization=basic("bob", f"guess {n}")) for n in range(WAITING_MAX + 2)]
        found = await asyncio.gather(*(made.refusal(one, "read") for one in asked))
        return sorted(one.status_code for one in found if one is not None)

    assert run(check()) == [401] * WAITING_MAX + [503] * 2


@pytest.mark.parametrize(
    ("address", "method", "expected"),
    [(LOCAL, "DELETE", 200), (PUBLIC, "GET", 200), (PUBLIC, "DELETE", 403), (PUBLIC, "POST", 403)],
)
def test_without_accounts_nothing_is_changed_from_elsewhere(
    address: Address, method: str, expected: int
) -> None:
    asked = request(method, host=f"{address.host}:1")
    assert status(door(address, accounts=None), asked, "durable") == expected
