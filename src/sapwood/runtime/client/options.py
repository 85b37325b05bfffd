"""What can be chosen when connecting."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from typing import Final, Literal, TypeAlias, TypedDict

import msgspec

from sapwood.errors import ParameterError
from sapwood.filters.ids import NotificationId
from sapwood.protocol.client.config import check_client_id
from sapwood.protocol.link.flow import SLOW_POLICIES
from sapwood.runtime.config.settings import DEFAULT_PORT

DEFAULT_NETWORK: Final = "sapwood"
DEFAULT_SERVER: Final = f"sapwood://127.0.0.1:{DEFAULT_PORT}"

Listener = Callable[[NotificationId, str], None]


class BusOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What can be chosen when connecting."""

    id: str = ""
    """A lasting name; by default one is made up. The session number grows with every connect."""
    network: str = DEFAULT_NETWORK
    """The network this is meant for: brokers of another one refuse."""
    token: str = ""
    """The shared secret of the network, if it has one."""
    account: str = ""
    """Where brokers have accounts: which one this is. A made-up id begins with its name."""
    secret: str = ""
    """The secret of the account; not needed where a certificate is enough."""
    slow_policy: str = ""
    """What the broker does when this client does not keep up: ``drop_oldest``, ``disconnect`` or
    ``block``; empty for the broker's default."""
    buffer_bytes: int = 8 * 2**20
    """Publications that may wait for the broker; beyond it, `publish` waits."""
    connect_seconds: float = 10.0
    """How long the first connection is tried for."""
    close_seconds: float = 10.0
    """How long `close` waits until everything published is accepted."""
    silence_seconds: float = 10.0
    """Time without a sign of the broker after which another connection is looked for."""
    answer_seconds: float = 300.0
    """How long is waited for an answer of which nothing is heard. A broker says no before that,
    unless its `settle_patience_seconds` is longer."""
    tls: ssl.SSLContext | None = None
    """For ``sapwoods://`` addresses; by default the system's authorities are trusted."""
    on_refused: Listener | None = None
    """Called with the id and the reason when a broker does not accept a publication."""


class ConnectOptions(TypedDict, total=False):
    """The fields of `BusOptions` as keywords of `connect`, for type checkers and editors."""

    id: str
    network: str
    token: str
    account: str
    secret: str
    slow_policy: str
    buffer_bytes: int
    connect_seconds: float
    close_seconds: float
    silence_seconds: float
    answer_seconds: float
    tls: ssl.SSLContext | None
    on_refused: Listener | None


def check_options(options: BusOptions) -> None:
    """Refuse impossible options, with a ParameterError."""
    if options.id:
        check_client_id(options.id)
    if options.slow_policy and options.slow_policy not in SLOW_POLICIES:
        raise ParameterError(
            f"is {options.slow_policy!r}; choose from {', '.join(SLOW_POLICIES)}", "slow_policy"
        )
    numbers = ("connect_seconds", "close_seconds", "silence_seconds", "answer_seconds")
    for name in (*numbers, "buffer_bytes"):
        if not getattr(options, name) > 0:
            raise ParameterError(f"is {getattr(options, name)}; it must be above zero", name)


Confirm: TypeAlias = bool | Literal["broker", "durable"]
"""Whether a publication is waited for, until the broker has it or until it is on disk there."""


def check_confirm(confirm: Confirm) -> None:
    """A ParameterError if there is no such way to confirm."""
    if confirm not in (False, True, "broker", "durable"):
        raise ParameterError(f"is {confirm!r}; it is 'broker' or 'durable'", "confirm")
