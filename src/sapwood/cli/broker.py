"""`sapwood broker`: one broker, until it is told to stop."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sapwood.cli.output import ExitStatus, notice

if TYPE_CHECKING:
    from sapwood.runtime.config.settings import Settings

Token = Annotated[
    str | None,
    typer.Option(help="The network's secret; better in SAPWOOD_TOKEN.", metavar="TEXT"),
]
Routing = Annotated[
    str | None, typer.Option("--routing", help="The routing algorithm.", metavar="ALGORITHM")
]
AccountsFile = Annotated[
    Path | None, typer.Option("--accounts", help="Who may log in, and do what.", metavar="FILE")
]
SpoolOption = Annotated[
    str | None,
    typer.Option("--spool", help="Keep what was accepted in memory or on disk.", metavar="WHERE"),
]
Joins = Annotated[list[str] | None, typer.Option(help="A broker to link to.", metavar="URL")]
Insecure = Annotated[
    bool, typer.Option("--insecure", help="Listen beyond this machine without TLS.")
]
StopWithStdin = Annotated[
    bool, typer.Option("--stop-with-stdin", help="Stop when standard input ends, too.")
]


def broker(  # noqa: PLR0913 - one parameter for each option of the command
    *,
    id: Annotated[  # noqa: A002 - the name of the option
        str | None,
        typer.Option("--id", help="The broker's lasting name.", metavar="NAME"),
    ] = None,
    listen: Annotated[
        str | None, typer.Option(help="Where to listen; '' only to dial.", metavar="HOST:PORT")
    ] = None,
    advertise: Annotated[
        list[str] | None,
        typer.Option(help="Address under which others reach this broker.", metavar="ADDRESS"),
    ] = None,
    join: Joins = None,
    join_seconds: Annotated[
        float | None,
        typer.Option(help="How long a new broker tries to join; 0 for ever.", metavar="SECONDS"),
    ] = None,
    network: Annotated[str | None, typer.Option(help="The network's name.", metavar="NAME")] = None,
    routing: Routing = None,
    config: Annotated[
        Path | None, typer.Option(help="Configuration; options override it.", metavar="FILE")
    ] = None,
    data: Annotated[
        Path | None, typer.Option(help="Directory for what outlives the process.", metavar="DIR")
    ] = None,
    trace: Annotated[
        Path | None, typer.Option(help="Leave a trace in this directory.", metavar="DIR")
    ] = None,
    spool: SpoolOption = None,
    admin: Annotated[
        str | None, typer.Option(help="Where the admin endpoint listens.", metavar="HOST:PORT")
    ] = None,
    token: Token = None,
    accounts: AccountsFile = None,
    insecure: Insecure = False,
    stop_with_stdin: StopWithStdin = False,
) -> int:
    """Run one broker until it gets SIGTERM or SIGINT; a second signal ends it at once.

    SIGHUP lets it read its configuration, accounts and certificates again.
    """
    from sapwood.runtime.config.configuration import load

    given: dict[str, Any] = {
        "id": id,
        "listen": listen,
        "advertise": advertise,
        "join": join,
        "join_seconds": join_seconds,
        "network": network,
        "routing": routing,
        "data": None if data is None else str(data),
        "trace.directory": None if trace is None else str(trace),
        "durability.spool": spool,
        "admin": admin,
        "token": token,
        "accounts": None if accounts is None else str(accounts),
        "insecure": insecure or None,
    }
    options = {key: value for key, value in given.items() if value is not None}
    again = partial(load, config, options, os.environ)
    _run(again(), again, stop_with_stdin=stop_with_stdin)
    return ExitStatus.DONE


def _run(settings: Settings, load: Callable[[], Settings], *, stop_with_stdin: bool) -> None:
    from sapwood.runtime.process import run_broker

    spoil = None
    if settings.admin_faults:
        from sapwood.testing import faults

        spoil = faults.spoil
    run_broker(settings, notice, stop_with_stdin=stop_with_stdin, spoil=spoil, load=load)
