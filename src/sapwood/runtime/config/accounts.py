"""The file of accounts (``accounts.toml``): read, and checked as a whole before anybody uses it.

One table for each account, under ``accounts``. What is wrong is said with the file, the key and the
remedy; nothing of a file that is wrong is used.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Final, NamedTuple

import msgspec
from msgspec import Meta

from sapwood.errors import ConfigurationError, FilterError, InvalidIdError
from sapwood.file_errors import choices, key_problem
from sapwood.filters.filter import Filter
from sapwood.filters.ids import SessionId
from sapwood.protocol.accounts import ANY, WITHIN, Account, Accounts, Role
from sapwood.protocol.hashing import hash_problem
from sapwood.runtime.config.toml_file import read_file

TABLE: Final = "accounts"
SECRETS_MAX: Final = 4
"""Hashes of one account: each of a password costs a login its time."""

_FILTERS: Final = ("publish", "subscribe", "administer")


class AccountEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What may be said about an account."""

    role: Annotated[Role, Meta(description="Whether it is for clients, or for a broker.")] = (
        "client"
    )
    secret: Annotated[
        str | tuple[str, ...],
        Meta(
            description="The hash of its secret (`sapwood account hash`), or several while one is "
            "being replaced."
        ),
    ] = ()
    certificates: Annotated[
        tuple[str, ...],
        Meta(
            description="Names in certificates (common name or alternative name) that make "
            "whoever shows one this account, without a secret."
        ),
    ] = ()
    ids: Annotated[
        tuple[str, ...],
        Meta(
            description="Further ids that are its own, beside its name and all that begin with "
            "its name and a slash; a star at the end stands for anything."
        ),
    ] = ()
    publish: Annotated[str, Meta(description="What it may publish: a filter.")] = "false"
    subscribe: Annotated[str, Meta(description="What it may subscribe to: a filter.")] = "false"
    administer: Annotated[
        str,
        Meta(
            description="What it may change: a filter over `action` (exchange, swap, remove, "
            "plan; at the admin endpoint: read, faults) and `broker` (the broker that is removed, "
            "else the one that is asked)."
        ),
    ] = "false"


class _Wrong(NamedTuple):
    """What is wrong with an account."""

    key: str
    problem: str


def read_accounts(path: str) -> Accounts | None:
    """The accounts in a file; None if none is named. A ConfigurationError if it is wrong."""
    if not path:
        return None
    return accounts_of(read_file(Path(path)), path)


def accounts_of(values: Mapping[str, Any], origin: str) -> Accounts:
    """The accounts that values from a file describe."""
    for key in values:
        if key != TABLE:
            raise ConfigurationError(f"is no key here; {choices(key, [TABLE])}", key, origin)
    table = values.get(TABLE, {})
    if not isinstance(table, Mapping):
        raise ConfigurationError(f"is no table; write [{TABLE}.NAME]", TABLE, origin)
    found = [_account(name, entry, origin) for name, entry in table.items()]
    accounts = Accounts(found)
    for wrong in _contradictions(accounts):
        raise ConfigurationError(wrong.problem, f"{TABLE}.{wrong.key}", origin)
    return accounts


def _account(name: str, values: Any, origin: str) -> Account:
    place = f"{TABLE}.{name}"
    if not isinstance(values, Mapping):
        raise ConfigurationError(f"is no table; write [{place}]", place, origin)
    try:
        entry = msgspec.convert(values, AccountEntry)
    except msgspec.ValidationError as problem:
        wrong = key_problem(problem, values, AccountEntry)
        raise ConfigurationError(wrong.problem, f"{place}.{wrong.key}", origin) from None
    for found in _wrong(name, entry):
        raise ConfigurationError(found.problem, f"{TABLE}.{found.key}", origin)
    filters = {}
    for right in _FILTERS:
        try:
            filters[right] = Filter(getattr(entry, right))
        except FilterError as problem:
            raise ConfigurationError(
                f"is no filter: {problem}", f"{place}.{right}", origin
            ) from None
    return Account(
        name=name,
        role=entry.role,
        secrets=_secrets(entry),
        certificates=entry.certificates,
        ids=entry.ids,
        **filters,
    )


def _secrets(entry: AccountEntry) -> tuple[str, ...]:
    return (entry.secret,) if isinstance(entry.secret, str) else entry.secret


def _wrong(name: str, entry: AccountEntry) -> Iterator[_Wrong]:
    """What is wrong with one account by itself."""
    if problem := name_problem(name):
        yield _Wrong(name, problem)
    secrets = _secrets(entry)
    for secret in secrets:
        if problem := hash_problem(secret):
            yield _Wrong(f"{name}.secret", problem)
    if len(secrets) > SECRETS_MAX:
        yield _Wrong(f"{name}.secret", f"has {len(secrets)} hashes; at most {SECRETS_MAX} are used")
    if not secrets and not entry.certificates:
        yield _Wrong(name, "has neither secret nor certificates, so nobody could log in; add one")
    for text in entry.ids:
        if problem := _id_problem(text):
            yield _Wrong(f"{name}.ids", problem)
    for right in _FILTERS:
        if entry.role == "broker" and getattr(entry, right) != "false":
            what = "is set, but the account is for a broker, which has no filters; remove it"
            yield _Wrong(f"{name}.{right}", what)


def name_problem(name: str) -> str:
    """What is wrong with the name of an account; empty if nothing is."""
    if WITHIN in name or ANY in name:
        return f"is no name of an account: {WITHIN} and {ANY} stand for ids that it owns"
    return _id_problem(name)


def _id_problem(text: str) -> str:
    stem = text.removesuffix(ANY)
    if ANY in stem:
        return f"has {text!r}; a {ANY} can only stand at the end"
    try:
        SessionId(stem or "x", 1)
    except InvalidIdError as problem:
        return f"is wrong: {problem}"
    return ""


def _contradictions(accounts: Accounts) -> Iterator[_Wrong]:
    """What is wrong with accounts beside each other."""
    holders: dict[str, str] = {}
    for account in accounts:
        for name in account.certificates:
            holder = holders.setdefault(name, account.name)
            if holder != account.name:
                what = f"has {name!r}, which is that of account {holder!r}; it can be of one only"
                yield _Wrong(f"{account.name}.certificates", what)
    for clash in accounts.clashes():
        what = f"and account {clash.other!r} would both own the id {clash.id!r}; change ids of one"
        yield _Wrong(clash.one, what)
