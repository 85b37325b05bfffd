"""`sapwood traffic`: what brokers publish, share and send, and what the tree costs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sapwood.cli.audit import (
    AsJson,
    Conf,
    Directory,
    Master,
    Out,
    Packages,
    SkipDamaged,
    Unfinished,
    spark_settings,
)
from sapwood.cli.output import ExitStatus, notice, print_json

if TYPE_CHECKING:
    from sapwood.pipeline.loads.report import TrafficReport

_SHOWN_MAX = 20
_PICTURES = (".svg", ".png")


def traffic(  # noqa: PLR0913, PLR0917 - one for each option
    directory: Directory,
    costs: Annotated[
        str | None,
        typer.Option(
            help="File of costs, or 'measured'; every link costs 1 unless given.", metavar="FILE"
        ),
    ] = None,
    picture: Annotated[
        Path | None,
        typer.Option(help="Draw the tree with its load into this .svg or .png.", metavar="FILE"),
    ] = None,
    master: Master = None,
    out: Out = None,
    skip_damaged: SkipDamaged = False,
    unfinished: Unfinished = False,
    conf: Conf = None,
    packages: Packages = None,
    as_json: AsJson = False,
) -> int:
    """Tell the traffic in the traces below a directory, all runs together."""
    from sapwood.pipeline.loads.report import traffic_directory

    if picture is not None and picture.suffix.lower() not in _PICTURES:
        raise typer.BadParameter(f"{picture} ends in neither .svg nor .png")
    report = traffic_directory(
        directory,
        costs,
        master,
        out=out,
        picture=picture,
        skip_damaged=skip_damaged,
        unfinished=unfinished,
        progress=notice,
        settings=spark_settings(conf, packages),
    )
    for text in report.left_out:
        notice(text)
    if as_json:
        print_json(report.summary())
    else:
        show(report)
    return ExitStatus.DONE


def show(report: TrafficReport) -> None:
    """Print a report for people."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    brokers = Table(title="brokers", title_justify="left", box=box.SIMPLE_HEAD)
    headings = ("published/s", "delivered/s", "interest/s", "subscriptions")
    for name in ("", *headings):
        brokers.add_column(name, justify="right" if name else "left")
    for row in report.brokers[:_SHOWN_MAX]:
        rates = (row["publication_rate"], row["delivery_rate"], row["interest_rate"])
        cells = ["-" if rate is None else f"{rate:,.2f}" for rate in rates]
        brokers.add_row(row["broker"], *cells, f"{row['subscriptions']:,}")
    console.print(brokers)
    links = Table(title="links of the tree", title_justify="left", box=box.SIMPLE_HEAD)
    for name in ("", "messages/s", "shared notifications"):
        links.add_column(name, justify="right" if name else "left")
    shared = {(row["left"], row["right"]): row["notifications"] for row in report.shared}
    load = report.load()
    for left, right in report.tree[:_SHOWN_MAX]:
        rate = f"{load.get((left, right), 0.0):,.2f}"
        links.add_row(f"{left} - {right}", rate, f"{shared.get((left, right), 0):,}")
    console.print(links)
    if len(report.brokers) > _SHOWN_MAX:
        console.print(f"… and more: {len(report.brokers)} brokers; --json or --out has all")
    console.print(
        f"{report.notifications:,} notifications cost {report.cost:,.6g} on this tree; a tree of "
        f"its own for each would cost {report.spanning:,.6g}, none less than {report.least:,.6g}"
    )
    if report.unreached:
        console.print(
            f"{report.unreached:,} are not in these: the tree does not join their brokers"
        )
