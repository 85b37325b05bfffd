"""`sapwood analyze traffic`: what every routing algorithm would carry."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from sapwood.cli.analyze_setting import (
    Arity,
    AsJson,
    Classes,
    ClientsAt,
    FigureFile,
    Levels,
    Lifetime,
    LinksFile,
    PublicationRate,
    RefreshSeconds,
    Root,
    Subscriptions,
    check_figure,
    described,
    rates_of,
    tree_of,
)
from sapwood.cli.output import ExitStatus, notice, print_json

if TYPE_CHECKING:
    from sapwood.analysis.traffic import Rates, Traffic

Handover = Annotated[
    bool, typer.Option("--handover", help="Count renewals of identity as the rule sends them.")
]

_ALGORITHMS = ("simple", "identity", "merging")
"""Covering is identity where classes exclude each other."""
_POINTS = 60


class Predicted(NamedTuple):
    """One line of the table."""

    routing: str
    variant: str
    traffic: Traffic


def traffic(  # noqa: PLR0913, PLR0917 - one for each option
    arity: Arity = 3,
    levels: Levels = 5,
    links: LinksFile = None,
    root: Root = None,
    clients_at: ClientsAt = "leaves",
    classes: Classes = 1000,
    subscriptions: Subscriptions = 100_000,
    lifetime: Lifetime = 600.0,
    publication_rate: PublicationRate = 1000.0,
    refresh_seconds: RefreshSeconds = 60.0,
    handover: Handover = False,
    figure: FigureFile = None,
    as_json: AsJson = False,
) -> int:
    """Tell what every routing algorithm would carry, in messages per second over all links.

    Clients are spread evenly. Without options it is the setting of the thesis, 3.5.1.
    """
    check_figure(figure, subscriptions)
    tree = tree_of(arity, levels, links, root)
    rates = rates_of(tree, subscriptions, lifetime, publication_rate, classes, clients_at)
    if handover and refresh_seconds > lifetime:
        notice("subscriptions live shorter than a refresh period: renewals are overestimated")
    lines = list(predictions(rates, refresh_seconds, handover))
    if as_json:
        print_json([as_object(line, lines[0]) for line in lines])
    else:
        _show(rates, refresh_seconds, lines)
    if figure is not None:
        _draw(rates, refresh_seconds, figure)
        notice(f"drew {figure}")
    return ExitStatus.DONE


def predictions(rates: Rates, refresh: float, handover: bool = False) -> Iterator[Predicted]:
    """Flooding first, then all that filter, peer-to-peer and hierarchical."""
    from sapwood.analysis.traffic import HIERARCHICAL, PEER_TO_PEER, predict
    from sapwood.analysis.traffic.renewing import predict_renewed

    yield Predicted("flooding", "", predict(rates, "flooding"))
    for routing in _ALGORITHMS:
        for variant in (PEER_TO_PEER, HIERARCHICAL):
            if handover and refresh and routing == "identity":
                found = predict_renewed(rates, refresh, variant)
            else:
                found = predict(rates, routing, variant, refresh_period=refresh or None)
            yield Predicted(routing, variant, found)


def as_object(line: Predicted, flooding: Predicted) -> dict[str, Any]:
    """One line for programs; rates per second."""
    traffic = line.traffic
    return {
        "routing": line.routing,
        "variant": line.variant or None,
        "notifications": traffic.notifications,
        "changes": traffic.changes,
        "renewals": traffic.leasing,
        "total": traffic.total,
        "entries": traffic.entries,
        "saved": flooding.traffic.total - traffic.total,
    }


def _show(rates: Rates, refresh: float, lines: list[Predicted]) -> None:
    renewed = f"renewed every {refresh:g} s" if refresh else "not renewed"
    print(f"{described(rates)}; entries {renewed}")
    print()
    names = ("notifications/s", "changes/s", "renewals/s", "total/s", "saved/s", "entries")
    print(f"{'routing':<10}{'variant':<14}" + "".join(f"{name:>17}" for name in names))
    for line in lines:
        found = as_object(line, lines[0])
        keys = ("notifications", "changes", "renewals", "total", "saved", "entries")
        numbers = "".join(f"{found[key]:>17,.1f}" for key in keys)
        print(f"{line.routing:<10}{line.variant:<14}{numbers}")


def _draw(rates: Rates, refresh: float, path: Path) -> None:
    """Total traffic against the number of subscriptions, around what was asked."""
    import numpy as np

    from sapwood.cli.analyze_figures import Axes, Curve, draw

    asked = rates.subscriptions
    numbers = np.geomspace(asked / 1000, asked * 10, _POINTS)
    totals: dict[tuple[str, str], list[float]] = {}
    for number in numbers.tolist():
        for line in predictions(rates.scaled(number), refresh):
            totals.setdefault((line.routing, line.variant), []).append(line.traffic.total)
    curves = [
        Curve(f"{routing} {variant}".strip(), numbers.tolist(), values, style)
        for style, ((routing, variant), values) in enumerate(totals.items())
    ]
    title = f"Traffic of {len(rates.tree.brokers):,} brokers, by formula"
    axes = Axes(title, "live subscriptions", "messages per second over all links", True, True)
    draw(axes, curves, path)
