"""`sapwood version`: which Sapwood this is, and on what it runs."""

from __future__ import annotations

import importlib.metadata
import platform
from typing import Annotated

import typer

from sapwood.cli.output import print_json


def version(
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Print the version of Sapwood and of the Python it runs on."""
    facts = {
        "sapwood": importlib.metadata.version("sapwood"),
        "python": platform.python_version(),
        "implementation": platform.python_implementation(),
        "platform": f"{platform.system()}-{platform.machine()}",
    }
    if as_json:
        print_json(facts)
    else:
        print(
            f"sapwood {facts['sapwood']} "
            f"({facts['implementation']} {facts['python']}, {facts['platform']})"
        )
