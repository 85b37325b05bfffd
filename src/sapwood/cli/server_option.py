"""Which broker a client command talks to: ``--server``, ``SAPWOOD_SERVER``, or the usual one."""

from __future__ import annotations

import asyncio
import importlib.util
from collections.abc import Coroutine
from typing import Annotated, Any, TypeAlias, TypeVar

import typer

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


def run_client(main: Coroutine[Any, Any, Result]) -> Result:
    """Run a command's coroutine, on uvloop where it is installed: it is twice as quick."""
    if importlib.util.find_spec("uvloop") is None:
        return asyncio.run(main)
    import uvloop

    return uvloop.run(main)
