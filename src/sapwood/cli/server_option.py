"""Which broker a client command talks to, and how it shows that it may.

``--server``, ``SAPWOOD_SERVER`` or the usual address name the broker; for all else, `connect` looks
into the environment. Secrets have no place on a command line, where everybody on the machine can
read them.
"""

from __future__ import annotations

import asyncio
import importlib.util
from collections.abc import Coroutine, Sequence
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, TypeVar, Unpack

import typer

if TYPE_CHECKING:
    from sapwood.runtime.client import Bus, ConnectOptions

CONNECT_SECONDS = 2.0
"""How long a command tries to connect: somebody is waiting in front of it."""

DEFAULT_SERVER = "sapwood://127.0.0.1:7470"

Servers: TypeAlias = Annotated[
    list[str],
    typer.Option(
        "--server",
        "-s",
        envvar="SAPWOOD_SERVER",
        help="The broker to talk to; several are tried in turn.",
        metavar="URL",
    ),
]
"""The option; give it the default ``[DEFAULT_SERVER]``."""

Result = TypeVar("Result")


def open_bus(servers: Sequence[str], **options: Unpack[ConnectOptions]) -> Bus:
    """A bus on one of some servers, with what the environment says about getting in."""
    from sapwood.runtime.client import connect

    options.setdefault("connect_seconds", CONNECT_SECONDS)
    return connect(*servers, **options)


def run_client(main: Coroutine[Any, Any, Result]) -> Result:
    """Run a command's coroutine, on uvloop where it is installed: it is twice as quick."""
    if importlib.util.find_spec("uvloop") is None:
        return asyncio.run(main)
    import uvloop

    return uvloop.run(main)
