"""`sapwood subscribe`: print what comes for some filters."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from sapwood.cli.output import ExitStatus, notice, print_json
from sapwood.cli.server_option import DEFAULT_SERVER, Servers, open_bus, run_client
from sapwood.filters.filter import Filter

if TYPE_CHECKING:
    from sapwood.runtime.client import Item, Subscription

_AT_ONCE = 1000
"""Notifications that are printed before the output is flushed, if as many have come."""


def subscribe(
    filters: Annotated[list[str], typer.Argument(help="What to print.", metavar="FILTER…")],
    server: Servers = [DEFAULT_SERVER],  # noqa: B006 - typer reads it, nobody changes it
    count: Annotated[
        int | None, typer.Option(help="End after so many.", metavar="N", min=1)
    ] = None,
    timeout: Annotated[
        float | None,
        typer.Option(
            help="End after so many seconds, counted from when it has settled.", metavar="S", min=0
        ),
    ] = None,
    durable: Annotated[
        str | None,
        typer.Option(
            help="Let the broker keep what matches under this name, and go on behind what was "
            "printed last.",
            metavar="NAME",
        ),
    ] = None,
) -> int:
    """Print notifications as they come, one a line.

    One that matches several filters is printed once. With --count, the exit status is 1 if the
    time is over before so many came.
    """
    wanted = _any_of(filters)
    if durable is not None:
        return run_client(_subscribe_durably(server, wanted, durable, count, timeout))
    return run_client(_subscribe(server, wanted, count, timeout))


def _any_of(texts: list[str]) -> Filter:
    """All filters as one; each is read by itself first, so that an error shows where it is."""
    filters = [Filter(text) for text in texts]
    return filters[0] if len(filters) == 1 else Filter(" or ".join(f"({one})" for one in filters))


async def _subscribe(
    servers: list[str], filter: Filter, count: int | None, seconds: float | None
) -> int:
    async with open_bus(servers) as bus, bus.subscribe(filter) as found:
        if found.settled:
            notice(f"settled: {filter}, at broker {bus.broker}")
        else:
            notice(f"subscribed at broker {bus.broker}, but not settled: {found.reason}")
        try:
            async with asyncio.timeout(seconds):
                await _print(found, count)
        except TimeoutError:
            return ExitStatus.DONE if count is None else ExitStatus.NO
    return ExitStatus.DONE


async def _subscribe_durably(
    servers: list[str], filter: Filter, name: str, count: int | None, seconds: float | None
) -> int:
    async with open_bus(servers) as bus, bus.subscribe(filter, durable=name) as found:
        notice(f"durable {name}: {filter}, at broker {bus.broker}, from {found.offset.position} on")
        printed = 0
        try:
            async with asyncio.timeout(seconds):
                while printed != count:
                    printed += _print_item(await anext(found))
                    sys.stdout.flush()
        except TimeoutError:
            return ExitStatus.DONE if count is None else ExitStatus.NO
    return ExitStatus.DONE


def _print_item(item: Item) -> bool:
    """Print a notification, or say that some are missing; whether it was a notification."""
    from sapwood.runtime.client import Gap

    if isinstance(item, Gap):
        notice(f"gap: {item.reason}{f' ({item.count} at most)' if item.count else ''}")
        return False
    print_json({"id": str(item.id), "attributes": dict(item)})
    return True


async def _print(found: Subscription, count: int | None) -> None:
    """Print what comes, until there were as many as wanted."""
    printed = 0
    while items := await found.read(_AT_ONCE if count is None else count - printed):
        for item in items:
            printed += _print_item(item)
        sys.stdout.flush()
        if printed == count:
            return
