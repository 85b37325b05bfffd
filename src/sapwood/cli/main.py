"""The command `sapwood`, put together from the modules beside this one.

To add a command, write `sapwood/cli/<name>.py` with a typer function (or a `typer.Typer`
for a group) and add a line to `COMMANDS`.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from collections.abc import Sequence
from typing import Annotated, cast

import typer

from sapwood.cli.extras import missing_message
from sapwood.cli.output import ExitStatus, notice
from sapwood.cli.version import version_line
from sapwood.errors import SapwoodError

COMMANDS: dict[str, str] = {
    "account": "sapwood.cli.account:app",
    "analyze": "sapwood.cli.analyze:app",
    "audit": "sapwood.cli.audit:audit",
    "bench": "sapwood.cli.bench:bench",
    "broker": "sapwood.cli.broker:broker",
    "config": "sapwood.cli.config:app",
    "demo": "sapwood.cli.demo:demo",
    "durable": "sapwood.cli.durable:app",
    "experiment": "sapwood.cli.experiment:experiment",
    "filter": "sapwood.cli.filter:app",
    "ping": "sapwood.cli.ping:ping",
    "publish": "sapwood.cli.publish:publish",
    "sim": "sapwood.cli.sim:sim",
    "status": "sapwood.cli.status:status",
    "study": "sapwood.cli.study:study",
    "subscribe": "sapwood.cli.subscribe:subscribe",
    "top": "sapwood.cli.top:top",
    "topology": "sapwood.cli.topology:app",
    "up": "sapwood.cli.up:up",
    "trace": "sapwood.cli.trace:app",
    "traffic": "sapwood.cli.traffic:traffic",
    "version": "sapwood.cli.version:version",
}
"""Name of each command, and where it is: `module:attribute`."""

_STDOUT_FILENO = 1

# All that typer refuses on a command line is a usage error; of those, typer exports only
# BadParameter, whose base is the one they share.
_USAGE_ERRORS = cast("tuple[type[Exception], ...]", typer.BadParameter.__bases__)


def available_commands() -> list[str]:
    """The commands whose module is there; a partial installation has the rest."""
    return [
        name
        for name, address in COMMANDS.items()
        if importlib.util.find_spec(address.partition(":")[0]) is not None
    ]


def build_app() -> typer.Typer:
    """The whole command, every available one of `COMMANDS` registered."""
    app = typer.Typer(
        name="sapwood",
        help="Sapwood: a publish/subscribe network that manages itself.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )
    app.callback()(_root)
    for name in available_commands():
        module_name, _, attribute = COMMANDS[name].partition(":")
        target = getattr(importlib.import_module(module_name), attribute)
        if isinstance(target, typer.Typer):
            app.add_typer(target, name=name)
        else:
            app.command(name)(target)
    return app


def _tell_version(is_wanted: bool) -> None:
    """Do what ``--version`` asks, before anybody misses a command."""
    if is_wanted:
        print(version_line())
        raise typer.Exit


def _root(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version and exit.", is_eager=True, callback=_tell_version
        ),
    ] = False,
) -> None:
    """A publish/subscribe network that manages itself."""


def run(arguments: Sequence[str]) -> int:
    """Run one command line; return its exit status.

    An error of Sapwood or of the command line is a message on stderr and status 2. Anything
    else is a bug and keeps its traceback.
    """
    try:
        status = build_app()(list(arguments), prog_name="sapwood", standalone_mode=False)
        sys.stdout.flush()
    except SapwoodError as error:
        notice(f"error: {error}")
        return ExitStatus.WRONG_USE
    except _USAGE_ERRORS as error:
        notice(_usage_message(error))
        return ExitStatus.WRONG_USE
    except ModuleNotFoundError as missing:
        message = missing_message(missing.name or "", arguments)
        if message is None:
            raise
        notice(f"error: {message}")
        return ExitStatus.WRONG_USE
    except (typer.Abort, KeyboardInterrupt):
        return ExitStatus.INTERRUPTED
    except (BrokenPipeError, SystemExit) as leaving:
        if not isinstance(leaving, BrokenPipeError) and not _reader_left(leaving):
            raise
        # The reader (head, less) has seen enough. Python must not fail again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), _STDOUT_FILENO)
        return ExitStatus.DONE
    return status if isinstance(status, int) else ExitStatus.DONE


def _reader_left(leaving: SystemExit) -> bool:
    """Whether typer has met a broken pipe and wants to leave with status 1, our "no"."""
    return isinstance(leaving.__context__, BrokenPipeError)


def _usage_message(error: Exception) -> str:
    message = error.format_message() if hasattr(error, "format_message") else str(error)
    if message.startswith("Usage:"):
        return message  # a group alone asks what it can do
    message = message.removeprefix("Invalid value: ")
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "sapwood"
    return f"error: {message.rstrip('.')}; see '{command} --help'"


def main() -> None:
    """Entry point of the command `sapwood`."""
    sys.exit(run(sys.argv[1:]))
