"""`sapwood top`: how all brokers of a network are doing, again and again."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from sapwood.cli.output import ExitStatus
from sapwood.cli.server_option import DEFAULT_SERVER, Servers, open_bus, run_client


def top(
    server: Servers = [DEFAULT_SERVER],  # noqa: B006 - typer reads it, nobody changes it
    interval: Annotated[
        float, typer.Option(help="Time between two looks, in seconds.", metavar="S", min=0.1)
    ] = 1.0,
    count: Annotated[
        int | None, typer.Option(help="End after so many looks.", metavar="N", min=1)
    ] = None,
) -> int:
    """Show all brokers with their rates and queues, and changes of the tree, until Ctrl-C."""
    run_client(_watch(server, interval, count))
    return ExitStatus.DONE


async def _watch(servers: list[str], interval: float, count: int | None) -> None:
    from rich.console import Console, Group
    from rich.live import Live

    from sapwood.cli.status import changing, table
    from sapwood.runtime.admin.inspection import inspect

    console = Console(highlight=False)
    looks = 0
    async with open_bus(servers) as bus:
        with Live(console=console, auto_refresh=False, screen=console.is_terminal) as live:
            while True:
                view = await inspect(bus)
                shown = Group(table(view), *changing(view))
                looks += 1
                if console.is_terminal:
                    live.update(shown, refresh=True)
                else:
                    console.print(shown)
                if looks == count:
                    return
                await asyncio.sleep(interval)
