"""`sapwood publish`: publish one notification, or one for each line of standard input."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sapwood.cli.attributes import parse_attributes
from sapwood.cli.output import ExitStatus, print_json
from sapwood.cli.server_option import DEFAULT_SERVER, Servers, run_client
from sapwood.filters.values import Value


def publish(
    words: Annotated[
        list[str] | None,
        typer.Argument(help="NAME=TEXT and NAME:=JSON, or - for stdin.", metavar="ATTRIBUTE…"),
    ] = None,
    server: Servers = [DEFAULT_SERVER],  # noqa: B006 - typer reads it, nobody changes it
    payload: Annotated[
        Path | None, typer.Option(help="A file with the payload.", metavar="FILE")
    ] = None,
) -> int:
    """Publish a notification."""
    attributes = parse_attributes(words or [])
    data = payload.read_bytes() if payload is not None else b""
    print_json({"id": run_client(_publish(server, attributes, data))})
    return ExitStatus.DONE


async def _publish(servers: list[str], attributes: dict[str, Value], payload: bytes) -> str:
    from sapwood.runtime.client import connect

    async with connect(*servers) as bus:
        return str(await bus.publish(attributes, payload, confirm=True))
