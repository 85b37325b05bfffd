"""Who says hello: which account it is, and whether the id it wants is that account's.

Where a broker has accounts, everybody is one: by a secret, or by a name in their certificate. That
comes first, before anything else about a session is said to anybody. Tokens are compared at once.
A password takes tens of milliseconds of a processor, so the driver verifies it beside the event
loop and brings the answer (`SecretVerified`). The work that strangers can cause is bounded: so many
logins may wait in all and from one host, and others are told to come again. Whoever has logged in
with a password once is recognized at once, so that a flood of wrong ones keeps only newcomers
waiting.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from hashlib import sha256
from hmac import compare_digest
from typing import TYPE_CHECKING, Final, NamedTuple

from sapwood.protocol.accounts import Account, Accounts
from sapwood.protocol.hashing import SECRET_BYTES_MAX, is_quick, is_right
from sapwood.protocol.link.handshake import BAD_CREDENTIALS, BUSY, Goodbye, Hello

if TYPE_CHECKING:
    from sapwood.protocol.link.line import Line

WAITING_MAX: Final = 32
"""Logins whose password is being verified, or waits for it: two seconds of a processor."""

WAITING_PER_HOST_MAX: Final = 8
"""The same of one host."""

NO_ACCOUNT: Final = (
    "this broker wants an account; set account and secret (clients and commands: SAPWOOD_ACCOUNT "
    "and SAPWOOD_SECRET), or show a certificate that belongs to one"
)
WRONG: Final = "there is no such account, or its secret is another one"
CROWDED: Final = "too many logins wait to be verified; try again"


class Unproved(NamedTuple):
    """Somebody who says to be an account; a slow look at their secret decides."""

    account: Account
    secret: str


def identify(
    accounts: Accounts, credentials: Mapping[str, str], certificate: tuple[str, ...] | None
) -> Account | Unproved | Goodbye:
    """Who it is, who it says to be, or why it is nobody."""
    by_certificate = accounts.of_certificate(certificate or ())
    name, secret = credentials.get("account", ""), credentials.get("secret", "")
    if not name:
        return by_certificate or Goodbye(BAD_CREDENTIALS, NO_ACCOUNT)
    if by_certificate is not None:
        if by_certificate.name == name:
            return by_certificate
        reason = f"the certificate is that of account {by_certificate.name!r}, not of {name!r}"
        return Goodbye(BAD_CREDENTIALS, f"{reason}; show the one that belongs to it, or none")
    account = accounts.get(name)
    if account is None or not secret or len(secret.encode()) > SECRET_BYTES_MAX:
        return Goodbye(BAD_CREDENTIALS, WRONG)
    if is_right(filter(is_quick, account.secrets), secret):
        return account
    if all(map(is_quick, account.secrets)):
        return Goodbye(BAD_CREDENTIALS, WRONG)
    return Unproved(account, secret)


def usurpation(accounts: Accounts, account: Account, hello: Hello) -> Goodbye | None:
    """Why an account may not be who its hello says, if so."""
    if hello.role != account.role:
        return Goodbye(
            BAD_CREDENTIALS,
            f"account {account.name!r} is for a {account.role}, and says to be a {hello.role}; "
            f"use an account with role = {hello.role!r}",
        )
    if accounts.owner(hello.role, hello.id) is account:
        return None
    own = ", ".join(map(repr, account.patterns))
    return Goodbye(
        BAD_CREDENTIALS,
        f"the id {hello.id!r} is not one of account {account.name!r}, which has {own}; "
        "choose one of these, or add it to ids of the account",
    )


class Recognized:
    """Passwords that were right, so that whoever comes again need not wait. Plain data.

    Kept are digests under a key that ends with the session. One that a fault has changed is none.
    """

    def __init__(self) -> None:
        self.key = ""
        self.digests: dict[str, bytes] = {}
        """By account."""

    def note(self, who: Unproved, draw_secret: Callable[[], str]) -> None:
        """A password was right."""
        self.key = self.key or draw_secret()
        self.digests[who.account.name] = self._digest(who)

    def knows(self, who: Unproved) -> bool:
        """Whether the password was right before, for the same hashes."""
        digest = self.digests.get(who.account.name)
        return type(digest) is bytes and compare_digest(digest, self._digest(who))

    def _digest(self, who: Unproved) -> bytes:
        parts = (str(self.key), *who.account.secrets, who.secret)
        return sha256("\0".join(parts).encode()).digest()


def crowd(waiting: Iterable[Line], line: Line) -> Goodbye | None:
    """What to say to somebody for whose password there is no time, if so."""
    lines = list(waiting)
    host = line.address.rpartition(":")[0]
    near = sum(one.address.rpartition(":")[0] == host for one in lines)
    if len(lines) < WAITING_MAX and near < WAITING_PER_HOST_MAX:
        return None
    return Goodbye(BUSY, CROWDED)
