"""Who may ask the admin endpoint what.

A browser on the same machine can be made to ask by any page it shows, under a name that leads here
(DNS rebinding) or across sites; so a request must be for a name that is known, and a change must
not come from another site. Where there are accounts, whoever changes something logs in, and so does
whoever asks from elsewhere: HTTP Basic, with the name of an account and its secret. Where there are
none, nothing can be changed but on this machine. Whether the
endpoint is up (``/healthz``) and the broker takes part (``/readyz``) is told to anybody.
"""

from __future__ import annotations

import binascii
import secrets
from base64 import b64decode
from collections.abc import Callable
from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from sapwood.protocol.accounts import Account, Accounts
from sapwood.protocol.link.handshake import Goodbye
from sapwood.protocol.link.logins import CROWDED, Recognized, identify
from sapwood.runtime.address import Address
from sapwood.runtime.verifying import Verifier

WAITING_MAX: Final = 4
"""Passwords that may wait to be verified."""

_CHANGES: Final = frozenset({"POST", "PUT", "DELETE", "PATCH"})


class Door:
    """Decides about requests to the admin endpoint of one broker."""

    def __init__(
        self,
        broker: str,
        accounts: Callable[[], Accounts | None],
        verifier: Verifier,
        hosts: tuple[str, ...] = (),
    ) -> None:
        self._broker = broker
        self._accounts = accounts
        self._verifier = verifier
        self._hosts = {"localhost", *(host.lower() for host in hosts)}
        self._is_local = True
        self._recognized = Recognized()
        self._waiting = 0

    def begin(self, address: Address) -> None:
        """The endpoint listens on an address."""
        self._hosts.add(address.host.lower())
        self._is_local = address.is_local

    async def refusal(self, request: Request, action: str) -> Response | None:
        """Why a request is not answered; None if it is. `action` is what it would do."""
        if not self._is_known(f"//{request.headers.get('host', '')}"):
            text = "this name is not known here; ask by address, or add it to admin_hosts\n"
            return PlainTextResponse(text, status_code=400)
        is_change = request.method in _CHANGES
        origin = request.headers.get("origin")
        if is_change and origin is not None and not self._is_known(origin):
            return PlainTextResponse("a page of another site may not do this\n", status_code=403)
        accounts = self._accounts()
        if accounts is None and is_change and not self._is_local:
            text = "whoever changes something from elsewhere needs an account; set accounts\n"
            return PlainTextResponse(text, status_code=403)
        if accounts is None or (self._is_local and not is_change):
            return None
        who = await self._who(accounts, request.headers.get("authorization", ""))
        if isinstance(who, Response):
            return who
        reason = accounts.administer_refusal(who, action, self._broker)
        return PlainTextResponse(f"{reason}\n", status_code=403) if reason else None

    def _is_known(self, url: str) -> bool:
        """Whether a name leads here for sure; an address in numbers needs no one to look it up."""
        try:
            host = urlsplit(url).hostname or ""
        except ValueError:
            return False
        if host in self._hosts:
            return True
        try:
            ip_address(host)
        except ValueError:
            return False
        return True

    async def _who(self, accounts: Accounts, authorization: str) -> Account | Response:
        name, secret = _basic(authorization)
        if not name:
            return _unauthorized("log in with an account and its secret")
        who = identify(accounts, {"account": name, "secret": secret}, None)
        if isinstance(who, Goodbye):
            return _unauthorized(who.reason)
        if isinstance(who, Account):
            return who
        if self._recognized.knows(who):
            return who.account
        if self._waiting >= WAITING_MAX:
            return PlainTextResponse(f"{CROWDED}\n", status_code=503)
        self._waiting += 1
        try:
            is_right = await self._verifier.is_right(who.account.secrets, who.secret)
        finally:
            self._waiting -= 1
        if not is_right:
            return _unauthorized("there is no such account, or its secret is another one")
        self._recognized.note(who, secrets.token_hex)
        return who.account


def _basic(authorization: str) -> tuple[str, str]:
    """Name and secret of HTTP Basic (RFC 7617); empty if there is none."""
    kind, _, encoded = authorization.partition(" ")
    if kind.lower() != "basic":
        return "", ""
    try:
        name, _, secret = b64decode(encoded.strip(), validate=True).decode().partition(":")
    except (binascii.Error, ValueError):
        return "", ""
    return name, secret


def _unauthorized(reason: str) -> Response:
    headers = {"WWW-Authenticate": 'Basic realm="sapwood", charset="UTF-8"'}
    return PlainTextResponse(f"{reason}\n", status_code=401, headers=headers)
