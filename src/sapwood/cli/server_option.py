"""Which broker a client command talks to, and how it shows that it may.

``--server``, ``SAPWOOD_SERVER`` or the usual address name the broker. ``SAPWOOD_NETWORK`` and
``SAPWOOD_TOKEN`` name the network and its secret, which has no place on a command line, where
everybody on the machine can read it.
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

DEFAULT_SERVER = "sapwood://127.0.0.1:7470"
NETWORK_VARIABLE = "SAPWOOD_NETWORK"
TOKEN_VARIABLE = "SAPWOOD_TOKEN"  # noqa: S105 - its name, not its value

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


def connect_from_environment(servers: Sequence[str]) -> Bus:
    """A bus for a command, as the environment says."""
    from sapwood.runtime.client import connect

    options: dict[str, object] = {}
    if os.environ.get(NETWORK_VARIABLE):
        options["network"] = os.environ[NETWORK_VARIABLE]
    if os.environ.get(TOKEN_VARIABLE):
        options["token"] = os.environ[TOKEN_VARIABLE]
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


def open_bus(servers: Sequence[str], **options: Any) -> Bus:
    """A bus on one of some servers, with what the environment says about getting in."""
    from sapwood.runtime.client import connect
    from sapwood.runtime.tls import context_from_environment

    network = os.environ.get("SAPWOOD_NETWORK")
    if network:
        options["network"] = network
    options["token"] = os.environ.get("SAPWOOD_TOKEN", "")
    if any(server.startswith("sapwoods:") for server in servers):
        options["tls"] = context_from_environment(os.environ)
    return connect(*servers, **options)
