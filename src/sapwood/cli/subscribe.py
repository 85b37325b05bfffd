"""`sapwood subscribe`: print what comes for some filters."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from sapwood.cli.output import ExitStatus, notice, print_json
from sapwood.cli.server_option import DEFAULT_SERVER, Servers, run_client
from sapwood.filters.filter import Filter


def subscribe(
    filters: Annotated[list[str], typer.Argument(help="What to print.", metavar="FILTER…")],
    server: Servers = [DEFAULT_SERVER],  # noqa: B006 - typer reads it, nobody changes it
    count: Annotated[
        int | None, typer.Option(help="End after so many.", metavar="N", min=0)
    ] = None,
    timeout: Annotated[
        float | None, typer.Option(help="End after so long, in seconds.", metavar="S", min=0)
    ] = None,
) -> int:
    """Print notifications as they come, one a line."""
    wanted = [Filter(text) for text in filters]
    return run_client(_subscribe(server, wanted[0], count, timeout))


async def _subscribe(
    servers: list[str], filter: Filter, count: int | None, seconds: float | None
) -> int:
    from sapwood.runtime.client import connect
    from sapwood.runtime.subscription import Gap

    seen = 0
    try:
        async with connect(*servers) as bus, bus.subscribe(filter) as found:
            notice("settled" if found.settled else f"not settled: {found.reason}")
            async with asyncio.timeout(seconds):
                async for item in found:
                    if isinstance(item, Gap):
                        notice(f"gap: {item.reason}")
                        continue
                    print_json({"id": str(item.id), "attributes": dict(item)})
                    seen += 1
                    if seen == count:
                        return ExitStatus.DONE
    except TimeoutError:
        pass
    return ExitStatus.DONE if count is None or seen >= count else ExitStatus.NO
