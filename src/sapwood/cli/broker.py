"""`sapwood broker`: one broker, until it is told to stop."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sapwood.cli.output import ExitStatus, notice

if TYPE_CHECKING:
    from sapwood.runtime.settings import Settings


def broker(
    id: Annotated[str, typer.Option("--id", help="The broker's name.", metavar="NAME")],  # noqa: A002 - the name of the option
    listen: Annotated[
        str | None, typer.Option(help="Where to listen.", metavar="HOST:PORT")
    ] = None,
    advertise: Annotated[
        list[str] | None,
        typer.Option(help="Address under which others reach this broker.", metavar="ADDRESS"),
    ] = None,
    join: Annotated[
        list[str] | None, typer.Option(help="A broker to link to.", metavar="URL")
    ] = None,
    routing: Annotated[
        str | None, typer.Option(help="The routing algorithm.", metavar="ALGORITHM")
    ] = None,
    data: Annotated[
        Path | None, typer.Option(help="Directory for what outlives the process.", metavar="DIR")
    ] = None,
    trace: Annotated[
        Path | None, typer.Option(help="Leave a trace in this directory.", metavar="DIR")
    ] = None,
    admin: Annotated[
        str | None, typer.Option(help="Where the admin endpoint listens.", metavar="HOST:PORT")
    ] = None,
    insecure: Annotated[
        bool, typer.Option("--insecure", help="Listen beyond this machine without TLS.")
    ] = False,
) -> int:
    """Run one broker until it gets SIGTERM or SIGINT."""
    from sapwood.runtime.settings import Settings, TraceSettings

    given = {
        "listen": listen,
        "advertise": tuple(advertise or ()) or None,
        "join": tuple(join or ()) or None,
        "routing": routing,
        "data": str(data) if data else None,
        "admin": admin,
        "trace": TraceSettings(directory=str(trace)) if trace else None,
        "insecure": insecure or None,
    }
    settings = Settings(
        id=id, **{name: value for name, value in given.items() if value is not None}
    )
    return _run(settings)


def _run(settings: Settings) -> int:
    from sapwood.runtime.server import run_until_stopped

    run_until_stopped(
        settings,
        lambda address: notice(f"broker {settings.id} listens on {address}"),
        lambda: notice(f"broker {settings.id} is part of the network"),
    )
    return ExitStatus.DONE
