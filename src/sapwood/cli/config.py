"""`sapwood config`: what a broker would run with, and whether a file is right."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from sapwood.cli.output import ExitStatus, print_json

app = typer.Typer(help="Show and check configuration.", no_args_is_help=True, rich_markup_mode=None)

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
    """Tell whether a file is right: keys, types, ranges, addresses, files it names."""
    from sapwood.runtime.config.configuration import EXAMPLE_ID, load

    load(file, {}, {}, default_id=EXAMPLE_ID)
    if as_json:
        print_json({"file": str(file), "right": True})
    else:
        print(f"{file} is right")
    return ExitStatus.DONE
