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
    """Print the version of Sapwood, of the Python it runs on, and how its kernels run."""
    if as_json:
        print_json({**_facts(), "kernels": _kernels()})
    else:
        print(version_line())
        print(f"kernels: {_kernels()}")


def version_line() -> str:
    """What `sapwood version` and `sapwood --version` print."""
    facts = _facts()
    return (
        f"sapwood {facts['sapwood']} "
        f"({facts['implementation']} {facts['python']}, {facts['platform']})"
    )


def _kernels() -> str:
    """How a broker would run compiled code: as machine code, or with Numba and why."""
    from sapwood.compiled.state import kernels_line

    return kernels_line()


def _facts() -> dict[str, str]:
    return {
        "sapwood": importlib.metadata.version("sapwood"),
        "python": platform.python_version(),
        "implementation": platform.python_implementation(),
        "platform": f"{platform.system()}-{platform.machine()}",
    }
