"""`sapwood publish`: publish one notification, or one for each line of standard input."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from sapwood.cli.attributes import parse_attributes, text_notice
from sapwood.cli.output import ExitStatus, notice, print_json
from sapwood.cli.server_option import DEFAULT_SERVER, Servers, open_bus, run_client
from sapwood.errors import InvalidNotificationError
from sapwood.filters.notification import Notification

if TYPE_CHECKING:
    from sapwood.runtime.client import Bus

_READ_BYTES = 64 * 1024


def publish(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            help="NAME=TEXT and NAME:=JSON; or - for JSON objects, one a line, from stdin.",
            metavar="ATTRIBUTE…",
        ),
    ] = None,
    server: Servers = [DEFAULT_SERVER],  # noqa: B006 - typer reads it, nobody changes it
    payload: Annotated[
        Path | None, typer.Option(help="A file with the payload.", metavar="FILE")
    ] = None,
    rate: Annotated[
        float | None,
        typer.Option(help="With -: so many a second at most.", metavar="N", min=0.001),
    ] = None,
    durable: Annotated[
        bool,
        typer.Option("--durable", help="Wait until the broker has it on disk."),
    ] = False,
) -> int:
    """Publish a notification, or those that come on standard input.

    Of one, the id is printed. Of many, it is told on stderr how many there were. What
    `sapwood subscribe` prints is understood, too.
    """
    data = _payload(payload)
    if words == ["-"]:
        return run_client(_publish_lines(server, data, rate, durable))
    if rate is not None:
        raise typer.BadParameter("--rate is for notifications from stdin: write - for them")
    if not words and payload is None:
        raise typer.BadParameter("nothing to publish: give NAME=TEXT or NAME:=JSON, or -")
    notification = Notification(parse_attributes(words or []), data)
    if told := text_notice(words or []):
        notice(told)
    print_json({"id": run_client(_publish_one(server, notification, durable))})
    return ExitStatus.DONE


def _payload(path: Path | None) -> bytes:
    try:
        return b"" if path is None else path.read_bytes()
    except OSError as problem:
        raise typer.BadParameter(f"--payload {path}: {problem.strerror}") from None


async def _publish_one(servers: list[str], notification: Notification, durable: bool) -> str:
    async with open_bus(servers) as bus:
        confirm: Literal["broker", "durable"] = "durable" if durable else "broker"
        return str(await bus.publish(notification, confirm=confirm))


async def _publish_lines(
    servers: list[str], payload: bytes, rate: float | None, durable: bool
) -> int:
    async with open_bus(servers) as bus:
        if durable:
            bus.check_durable()  # what is accepted there is on disk
        try:
            await _publish_all(bus, payload, rate)
        finally:
            notice(f"published {bus.published}")
    if bus.refused or bus.unconfirmed:
        notice(f"{bus.refused} were refused, of {bus.unconfirmed} it is not known")
        return ExitStatus.NO
    return ExitStatus.DONE


async def _publish_all(bus: Bus, payload: bytes, rate: float | None) -> None:
    start, number, published = time.monotonic(), 0, 0
    async for line in _lines():
        number += 1
        if not line.strip():
            continue
        notification = _parse(line, number, payload)
        if rate is not None:
            await asyncio.sleep(start + published / rate - time.monotonic())
        await bus.publish(notification)
        published += 1


async def _lines() -> AsyncIterator[bytes]:
    """The lines of standard input as they come, many at once where there are many."""
    rest = b""
    while data := await asyncio.to_thread(sys.stdin.buffer.read1, _READ_BYTES):  # type: ignore[union-attr]
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
            yield line
    yield rest


def _parse(line: bytes, number: int, payload: bytes) -> Notification:
    """A line as a notification; in an error, where it is wrong."""
    try:
        found: Any = json.loads(line)
    except json.JSONDecodeError as problem:
        raise typer.BadParameter(
            f"stdin, line {number}, column {problem.colno}: not JSON ({problem.msg})"
        ) from None
    except UnicodeDecodeError:
        raise typer.BadParameter(f"stdin, line {number}: not UTF-8") from None
    if not isinstance(found, dict):
        raise typer.BadParameter(f'stdin, line {number}: not an object; write {{"name": value, …}}')
    if isinstance(found.get("attributes"), dict):  # as subscribe prints it: values do not nest
        found = found["attributes"]
    try:
        return Notification(found, payload)
    except InvalidNotificationError as problem:
        raise typer.BadParameter(f"stdin, line {number}: {problem}") from None
