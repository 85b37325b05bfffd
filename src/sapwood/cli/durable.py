"""`sapwood durable`: the durable subscriptions that a broker keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from sapwood.cli.output import ExitStatus, notice, print_json
from sapwood.cli.server_option import DEFAULT_SERVER, Servers, open_bus, run_client

if TYPE_CHECKING:
    from sapwood.protocol.durable.messages import MailboxState

app = typer.Typer(
    help="Durable subscriptions: what a broker keeps for those who are away.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.command("list")
def show(
    server: Servers = [DEFAULT_SERVER],  # noqa: B006 - typer reads it, nobody changes it
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON array.")] = False,
) -> int:
    """List the durable subscriptions of a broker: who, what, and how much waits."""
    found = run_client(_list(server))
    if as_json:
        print_json([msgspec.to_builtins(one) for one in found])
        return ExitStatus.DONE
    for one in found:
        lost = f", {one.lost} given up" if one.lost else ""
        print(
            f"{one.name}: {one.next - one.committed} unread ({one.size} bytes{lost}), "
            f"unused for {one.unused_seconds:.0f} s, {one.filter}"
        )
    return ExitStatus.DONE


@app.command()
def remove(
    names: Annotated[list[str], typer.Argument(help="Which ones.", metavar="NAME…")],
    server: Servers = [DEFAULT_SERVER],  # noqa: B006 - typer reads it, nobody changes it
) -> int:
    """Remove durable subscriptions, with all that is kept for them."""
    run_client(_remove(server, names))
    notice(f"removed {', '.join(names)}")
    return ExitStatus.DONE


async def _list(servers: list[str]) -> tuple[MailboxState, ...]:
    async with open_bus(servers) as bus:
        return await bus.durables()


async def _remove(servers: list[str], names: list[str]) -> None:
    async with open_bus(servers) as bus:
        for name in names:
            await bus.durable(name).drop()
