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
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Configuration files.")],
    as_json: AsJson = False,
) -> int:
    """Tell whether files are right: keys, types, ranges, addresses, files they name.

    Of several, which are those of all brokers of a network, also whether any tree has only links
    that they all allow. Exit 1 if a certificate has expired; one that will within 30 days is named.
    """
    from sapwood.runtime.certificates import expiries
    from sapwood.runtime.config.configuration import EXAMPLE_ID, load
    from sapwood.runtime.config.together import check_together

    found = [load(file, {}, {}, default_id=EXAMPLE_ID) for file in files]
    if len(found) > 1:
        check_together(found)
    expires = {name: at for settings in found for name, at in expiries(settings.tls).items()}
    if as_json:
        named = {"file": str(files[0])} if len(files) == 1 else {"files": [str(f) for f in files]}
        print_json({**named, "right": True, "certificates": expires})
    else:
        for file in files:
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
