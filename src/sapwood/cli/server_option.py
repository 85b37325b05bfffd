"""Which broker a client command talks to, and how it shows that it may.

``--server``, ``SAPWOOD_SERVER`` or the usual address name the broker. ``SAPWOOD_NETWORK`` and
``SAPWOOD_TOKEN`` name the network and its secret, ``SAPWOOD_ACCOUNT`` and ``SAPWOOD_SECRET`` who
this is. Secrets have no place on a command line, where everybody on the machine can read them.
"""

from __future__ import annotations

import asyncio
import importlib.util
import os
from collections.abc import Coroutine, Sequence
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, TypeVar

import typer

if TYPE_CHECKING:
    from sapwood.runtime.client import Bus

CONNECT_SECONDS = 2.0
"""How long a command tries to connect: somebody is waiting in front of it."""

DEFAULT_SERVER = "sapwood://127.0.0.1:7470"
NETWORK_VARIABLE = "SAPWOOD_NETWORK"
CREDENTIALS = {
    "token": "SAPWOOD_TOKEN",
    "account": "SAPWOOD_ACCOUNT",
    "secret": "SAPWOOD_SECRET",
}
"""By option: the environment variable for it."""

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


def open_bus(servers: Sequence[str], **options: Any) -> Bus:
    """A bus on one of some servers, with what the environment says about getting in."""
    from sapwood.runtime.client import connect

    options.setdefault("connect_seconds", CONNECT_SECONDS)
    if os.environ.get(NETWORK_VARIABLE):
        options["network"] = os.environ[NETWORK_VARIABLE]
    for name, variable in CREDENTIALS.items():
        options[name] = os.environ.get(variable, "")
    if any(server.startswith("sapwoods:") for server in servers):
        from sapwood.runtime.tls import context_from_environment

        options["tls"] = context_from_environment(os.environ)
    return connect(*servers, **options)


def run_client(main: Coroutine[Any, Any, Result]) -> Result:
    """Run a command's coroutine, on uvloop where it is installed: it is twice as quick."""
    if importlib.util.find_spec("uvloop") is None:
        return asyncio.run(main)
    import uvloop

    return uvloop.run(main)
