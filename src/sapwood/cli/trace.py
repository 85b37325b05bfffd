"""`sapwood trace`: what a trace is made of, without judging it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from sapwood.cli.output import ExitStatus, notice, print_json

if TYPE_CHECKING:
    from sapwood.pipeline.files import Listing

app = typer.Typer(no_args_is_help=True, help="Look at traces.")


@app.callback()
def trace() -> None:
    """Look at traces."""


@app.command()
def info(
    directory: Annotated[
        str, typer.Argument(metavar="DIR", help="Where the trace is: a folder, or a URI.")
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> int:
    """Say which files, runs and rows there are, from the files' footers alone.

    Exit 1 if a file is damaged, the trace is still being written, or there is none.
    """
    from sapwood.pipeline.files import list_traces

    listing = list_traces(directory)
    if as_json:
        print_json(_summary(listing))
    else:
        _show(listing)
    is_whole = listing.rows and not listing.damaged and not listing.unfinished
    return ExitStatus.DONE if is_whole else ExitStatus.NO


def _summary(listing: Listing) -> dict[str, Any]:
    settings = listing.settings()
    owners = {span.owner for file in listing.files for span in file.spans if span.owner is not None}
    return {
        "files": len(listing.files),
        "rows": listing.rows,
        "runs": [
            {
                "run": run,
                "settle_seconds": settings[run].settle_seconds,
                "advertisements_required": settings[run].advertisements_required,
                "brokers": sorted({broker for name, broker, _ in owners if name == run}),
            }
            for run in sorted(settings)
        ],
        "damaged": [damage.problem for damage in listing.damaged],
        "unfinished": list(listing.unfinished),
    }


def _show(listing: Listing) -> None:
    summary = _summary(listing)
    print(f"{summary['files']:,} files, {summary['rows']:,} rows, {len(summary['runs']):,} runs")
    for run in summary["runs"]:
        settle = run["settle_seconds"]
        stated = "not stated" if settle is None else f"{settle:g} s"
        required = ", advertisements required" if run["advertisements_required"] else ""
        print(f"  {run['run']}: {len(run['brokers'])} brokers, settling time {stated}{required}")
    for problem in summary["damaged"]:
        notice(f"damaged: {problem}")
    for path in summary["unfinished"]:
        notice(f"still being written: {path}")
