"""Accounts: who somebody is, which ids are theirs, and what they may do, as filters.

The id of a client or broker says whose it is: every id belongs to at most one account of its role.
So nothing about ownership has to be remembered with sessions, handed over with streams, or mended
after a fault: a session, wherever in the network it turns up, is its owner's. And whoever is not
that account can neither go on with a session, nor take its place, nor publish in its name.

Rights are filters. A notification may be published if the filter for it matches; a subscription may
be made if the filter covers it, by the covering test that routing uses, which never says yes
wrongly. A request to change the network is looked at as a notification with the attributes
``action`` and ``broker``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, Literal, NamedTuple, TypeAlias

import msgspec

from sapwood.filters.filter import Filter
from sapwood.filters.values import Value
from sapwood.protocol.clients import SUBSCRIBED

Role: TypeAlias = Literal["client", "broker"]

NOTHING: Final = Filter("false")
WITHIN: Final = "/"
"""Behind the name of an account: ids of its own choice."""
ANY: Final = "*"
"""At the end of an id: all that begin so."""

_TEXT_CHARS_MAX: Final = 120


class Account(msgspec.Struct, frozen=True, kw_only=True):
    """Somebody who may log in."""

    name: str
    role: Role = "client"
    secrets: tuple[str, ...] = ()
    """Hashes, any of which will do: an old and a new one while a secret is being replaced."""
    certificates: tuple[str, ...] = ()
    """Names in certificates of trusted authorities, any of which will do."""
    ids: tuple[str, ...] = ()
    """Further ids; with a star at the end, all that begin so."""
    publish: Filter = NOTHING
    subscribe: Filter = NOTHING
    administer: Filter = NOTHING

    @property
    def patterns(self) -> tuple[str, ...]:
        """All ids that are its own: its name, what it puts behind that, and further ones."""
        return (self.name, f"{self.name}{WITHIN}{ANY}", *self.ids)


class Clash(NamedTuple):
    """Two accounts that would own the same id."""

    one: str
    other: str
    id: str


class Accounts:
    """All who may log in at a broker. Immutable: others are put in its place as a whole."""

    __slots__ = ("_by_certificate", "_by_name", "_exact", "_prefixes")

    def __init__(self, accounts: Iterable[Account] = ()) -> None:
        self._by_name = {one.name: one for one in accounts}
        self._by_certificate = {
            name: one for one in self._by_name.values() for name in one.certificates
        }
        self._exact: dict[tuple[str, str], Account] = {}
        self._prefixes: dict[tuple[str, str], Account] = {}
        for one in self._by_name.values():
            for pattern in one.patterns:
                table = self._prefixes if pattern.endswith(ANY) else self._exact
                table[one.role, pattern.removesuffix(ANY)] = one

    def __iter__(self) -> Iterator[Account]:
        """All of them, in the order in which they were given."""
        return iter(self._by_name.values())

    def __len__(self) -> int:
        """How many there are."""
        return len(self._by_name)

    def get(self, name: str) -> Account | None:
        """The account of a name, if there is one."""
        return self._by_name.get(name)

    def of_certificate(self, names: Iterable[str]) -> Account | None:
        """The account to which a certificate with these names belongs, if to one."""
        found = {one.name: one for name in names if (one := self._by_certificate.get(name))}
        return next(iter(found.values())) if len(found) == 1 else None

    def owner(self, role: str, name: str) -> Account | None:
        """The account that owns an id in a role, if one does."""
        exact = self._exact.get((role, name))
        if exact is not None:
            return exact
        for length in range(len(name), -1, -1):
            found = self._prefixes.get((role, name[:length]))
            if found is not None:
                return found
        return None

    def clashes(self) -> Iterator[Clash]:
        """Ids that two accounts of one role would own: then none of them could be told apart."""
        owned = sorted(
            (one.role, pattern.removesuffix(ANY), not pattern.endswith(ANY), one.name)
            for one in self._by_name.values()
            for pattern in one.patterns
        )
        for at, (role, text, is_exact, name) in enumerate(owned):
            for other_role, other_text, _, other in owned[at + 1 :]:
                is_inside = other_text == text if is_exact else other_text.startswith(text)
                if other_role != role or not is_inside:
                    break
                if other != name:
                    yield Clash(name, other, other_text)

    # What a client may do. A session is called after the client, with its number behind a dot.

    def owner_of_session(self, session: str) -> Account | None:
        """The account of a client's session."""
        return self.owner("client", session.rpartition(".")[0])

    def is_free(self, session: str) -> bool:
        """Whether a client may publish whatever it wants."""
        account = self.owner_of_session(session)
        return account is not None and account.publish.matches_everything

    def publish_refusal(self, session: str, attributes: Mapping[str, Value]) -> str:
        """Why a client may not publish a notification; empty if it may."""
        account = self.owner_of_session(session)
        if account is None:
            return _nobody(session)
        if account.publish.matches(attributes):
            return ""
        return (
            f"account {account.name!r} may publish what matches {_shown(account.publish)}; "
            "this does not"
        )

    def claim_refusal(self, session: str, kind: str, filter: Filter) -> str:
        """Why a client may not subscribe to a filter, or advertise it; empty if it may."""
        account = self.owner_of_session(session)
        if account is None:
            return _nobody(session)
        is_subscription = kind == SUBSCRIBED
        allowed = account.subscribe if is_subscription else account.publish
        if allowed.covers(filter):
            return ""
        verb = "subscribe to" if is_subscription else "advertise"
        return (
            f"account {account.name!r} may {verb} what is within {_shown(allowed)}, and "
            f"{_shown(filter)} is not; narrow the filter"
        )

    def administer_refusal(self, account: Account | None, action: str, broker: str) -> str:
        """Why an account may not change something; empty if it may."""
        if account is None:
            return "nobody knows whose request this is; log in with an account"
        if account.administer.matches({"action": action, "broker": broker}):
            return ""
        return (
            f"account {account.name!r} may not do this: action = {action!r} at broker = "
            f"{broker!r} does not match its administer = {_shown(account.administer)}"
        )


def _nobody(session: str) -> str:
    return f"no account owns {session!r} any more; connect again"


def _shown(filter: Filter) -> str:
    text = str(filter)
    return repr(text if len(text) <= _TEXT_CHARS_MAX else f"{text[:_TEXT_CHARS_MAX]}…")
