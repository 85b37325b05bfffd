"""`sapwood status`: how all brokers of a network are doing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from sapwood.cli.output import ExitStatus, notice, print_json
from sapwood.cli.server_option import DEFAULT_SERVER, Servers, open_bus, run_client

if TYPE_CHECKING:
    from rich.table import Table

    from sapwood.runtime.admin.inspection import BrokerView, NetworkView

_UNKNOWN = "·"


def status(
    server: Servers = [DEFAULT_SERVER],  # noqa: B006 - typer reads it, nobody changes it
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> int:
    """Show all brokers: links, clients, rates, queues, losses.

    Rates and queues come from admin endpoints, where they can be reached from here. Exit 1 if some
    brokers cannot be reached.
    """
    view = run_client(_look(server))
    if as_json:
        import msgspec

        brokers = [
            {**msgspec.to_builtins(one.report), "status": msgspec.to_builtins(one.status)}
            for one in view.brokers
        ]
        print_json({"brokers": brokers, "links": view.links, "missing": view.missing})
    else:
        from rich.console import Console

        Console(highlight=False).print(table(view))
    if view.missing:
        notice(f"cannot be reached: {', '.join(view.missing)}")
        return ExitStatus.NO
    return ExitStatus.DONE


async def _look(servers: list[str]) -> NetworkView:
    from sapwood.runtime.admin.inspection import inspect

    async with open_bus(servers) as bus:
        return await inspect(bus)


def table(view: NetworkView) -> Table:
    """All brokers, one a line."""
    from rich import box
    from rich.table import Table

    shown = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for name in ("broker", "neighbours"):
        shown.add_column(name)
    for name in ("clients", "table", "in/s", "out/s", "queued", "given up", "slow"):
        shown.add_column(name, justify="right")
    for one in view.brokers:
        report = one.report
        shown.add_row(
            report.id, _neighbours(one), str(report.clients), str(report.subscriptions), *_live(one)
        )
    for name in view.missing:
        shown.add_row(name, "cannot be reached", style="red")
    return shown


def _neighbours(one: BrokerView) -> str:
    away = set(one.report.away)
    return " ".join(f"{name}(away)" if name in away else name for name in one.report.neighbours)


def _live(one: BrokerView) -> list[str]:
    """What only the admin endpoint knows."""
    status = one.status
    if status is None:
        return [_UNKNOWN] * 5
    streams = status.streams
    return [
        f"{sum(stream.rate.frames_in for stream in streams):,.0f}",
        f"{sum(stream.rate.frames_out for stream in streams):,.0f}",
        _size(sum(stream.queue.buffered_bytes for stream in streams)),
        str(sum(stream.queue.given_up for stream in streams)),
        str(sum(client.is_slow for client in status.clients)),
    ]


def _size(count: int) -> str:
    """A number of bytes for people."""
    size = float(count)
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"
