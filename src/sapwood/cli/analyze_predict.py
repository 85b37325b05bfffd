"""`sapwood analyze predict`: what a traced network would carry under other routing."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sapwood.cli.analyze_setting import FigureFile, check_figure, links_of
from sapwood.cli.audit import (
    AsJson,
    Conf,
    Directory,
    Master,
    Packages,
    SkipDamaged,
    Unfinished,
    spark_settings,
)
from sapwood.cli.output import ExitStatus, notice, print_json
from sapwood.errors import TopologyError

if TYPE_CHECKING:
    from sapwood.pipeline.loads.prediction import PredictionReport

Routing = Annotated[
    list[str] | None,
    typer.Option(
        "--routing",
        help="An algorithm; may be given several times. All unless given.",
        metavar="ALGORITHM",
    ),
]
Refresh = Annotated[
    float | None,
    typer.Option("--refresh", help="Seconds between renewals of every entry.", metavar="S"),
]
TreeFile = Annotated[
    Path | None,
    typer.Option("--tree", help="Another tree: one link 'A-B' a line.", metavar="FILE"),
]
Root = Annotated[str | None, typer.Option(help="The root, for --hierarchical.", metavar="BROKER")]
Hierarchical = Annotated[
    bool, typer.Option("--hierarchical", help="Flood towards the root, as the thesis does.")
]
Run = Annotated[str | None, typer.Option(help="Which run, if there are several.", metavar="NAME")]
Holdout = Annotated[
    float, typer.Option(help="Share of the time, at its end, to test the model on.", metavar="F")
]


def predict(  # noqa: PLR0913, PLR0917 - one for each option
    directory: Directory,
    routing: Routing = None,
    refresh: Refresh = None,
    tree: TreeFile = None,
    root: Root = None,
    hierarchical: Hierarchical = False,
    run: Run = None,
    holdout: Holdout = 0.25,
    master: Master = None,
    skip_damaged: SkipDamaged = False,
    unfinished: Unfinished = False,
    conf: Conf = None,
    packages: Packages = None,
    figure: FigureFile = None,
    as_json: AsJson = False,
) -> int:
    """Tell what a network would carry under another algorithm, refresh period or tree.

    Rates are fitted to its trace, on Spark; the end of the trace shows how far they are off.
    """
    from sapwood.analysis.traffic import HIERARCHICAL, PEER_TO_PEER
    from sapwood.pipeline.loads.prediction import predict_directory

    check_figure(figure)
    try:
        report = predict_directory(
            directory,
            routing or (),
            variant=HIERARCHICAL if hierarchical else PEER_TO_PEER,
            refresh_period=refresh,
            tree=None if tree is None else list(links_of(tree, "--tree")),
            root=root,
            run=run,
            held_out=holdout,
            master=master,
            skip_damaged=skip_damaged,
            unfinished=unfinished,
            progress=notice,
            settings=spark_settings(conf, packages),
        )
    except TopologyError as problem:
        raise TopologyError(f"{tree}: {problem}" if tree else str(problem)) from None
    if as_json:
        print_json(report.summary())
    else:
        show(report)
    if figure is not None:
        _draw(report, figure)
        notice(f"drew {figure}")
    return ExitStatus.DONE


def show(report: PredictionReport) -> None:
    """Print a report for people."""
    print(
        f"{report.run}: {report.brokers:,} brokers, {report.filters:,} filters; "
        f"{report.subscriptions:,.1f} subscriptions, {report.publication_rate:,.6g} "
        f"publications/s; {report.measured:,.6g} notifications/s over links in "
        f"{report.seconds:,.0f} s"
    )
    held = report.held_out
    if held["error"] is None:
        print("nothing was held out, or nothing happened then: the error is not known")
    else:
        print(
            f"of the {held['seconds']:,.0f} s held out: {held['predicted']:,.6g}/s predicted, "
            f"{held['measured']:,.6g}/s measured, {held['error']:+.1%}"
        )
    print(
        f"\n{'per second':<16}{'notifications':>15}{'changes':>12}{'renewals':>12}{'entries':>12}"
    )
    for one in report.predictions:
        print(
            f"{one.routing:<16}{one.notifications:>15,.2f}{one.changes:>12,.2f}"
            f"{one.leasing:>12,.2f}{one.entries:>12,.1f}"
        )


def _draw(report: PredictionReport, path: Path) -> None:
    """What each algorithm would carry over the links, busiest first."""
    from sapwood.cli.analyze_figures import Axes, Curve, draw

    curves = []
    for style, one in enumerate(report.predictions):
        rates = sorted((link["notifications"] for link in one.links), reverse=True)
        curves.append(
            Curve(one.routing, [float(n) for n in range(1, len(rates) + 1)], rates, style)
        )
    axes = Axes(
        f"Predicted for {report.run}", "directed link, busiest first", "notifications per second",
        y_min=0.0,
    )  # fmt: skip
    draw(axes, curves, path)
