"""`sapwood config`: what a broker would run with, and whether a file is right."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Annotated

import typer

from sapwood.cli.output import ExitStatus, notice, print_json

app = typer.Typer(help="Show and check configuration.", no_args_is_help=True, rich_markup_mode=None)

_SOON_SECONDS = 30 * 86_400

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


@app.command()
def show(
    config: Annotated[
        Path | None, typer.Option(help="A configuration file.", metavar="FILE")
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Print every setting with its effective value, unit and meaning, as a file that could be used.

    Effective are the file, then the environment. The options of `sapwood broker` would override
    both.
    """
    from sapwood.runtime.config.configuration import EXAMPLE_ID, describe, load, to_toml

    settings = load(config, {}, os.environ, default_id=EXAMPLE_ID)
    if as_json:
        print_json({"settings": [one._asdict() for one in describe(settings)]})
    else:
        print(to_toml(settings), end="")
    return ExitStatus.DONE


@app.command()
def check(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A configuration file.")],
    as_json: AsJson = False,
) -> int:
    """Tell whether a file is right: keys, types, ranges, addresses, files it names.

    Exit 1 if a certificate has expired; one that will within 30 days is named.
    """
    from sapwood.runtime.certificates import expiries
    from sapwood.runtime.config.configuration import EXAMPLE_ID, load

    settings = load(file, {}, {}, default_id=EXAMPLE_ID)
    expires = expiries(settings.tls)
    if as_json:
        print_json({"file": str(file), "right": True, "certificates": expires})
    else:
        print(f"{file} is right")
    now = time.time()
    for certificate, at in expires.items():
        day = time.strftime("%Y-%m-%d", time.gmtime(at))
        if at <= now:
            notice(f"{certificate} has expired on {day}; get another one, and reload the broker")
        elif at <= now + _SOON_SECONDS:
            notice(f"{certificate} expires on {day}; get another one, and reload the broker")
        elif not as_json:
            print(f"{certificate} expires on {day}")
    return ExitStatus.NO if any(at <= now for at in expires.values()) else ExitStatus.DONE
