"""`sapwood analyze routing`: which edges should flood, and what that saves."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

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
    from sapwood.analysis.traffic import Costs, Mix, Rates

Algorithm = Annotated[str, typer.Option(help="What edges do that filter: simple, identity, ...")]
NotificationCost = Annotated[float, typer.Option(help="Of one over a link.", metavar="C")]
ControlCost = Annotated[float, typer.Option(help="Of one over a link.", metavar="C")]

_POINTS = 60


def routing(  # noqa: PLR0913, PLR0917 - one for each option
    arity: Arity = 2,
    levels: Levels = 7,
    links: LinksFile = None,
    root: Root = None,
    clients_at: ClientsAt = "brokers",
    classes: Classes = 1000,
    subscriptions: Subscriptions = 20_000,
    lifetime: Lifetime = 60.0,
    publication_rate: PublicationRate = 500.0,
    refresh_seconds: RefreshSeconds = 0.0,
    algorithm: Algorithm = "simple",
    notification_cost: NotificationCost = 1.0,
    control_cost: ControlCost = 1.0,
    figure: FigureFile = None,
    as_json: AsJson = False,
) -> int:
    """Tell which edges should flood and which should filter, for the least cost.

    Without options it is the peak of Schröter et al.'s scenario.
    """
    from sapwood.analysis.traffic import cheapest_mix, costs

    check_figure(figure, subscriptions)
    tree = tree_of(arity, levels, links, root)
    rates = rates_of(tree, subscriptions, lifetime, publication_rate, classes, clients_at)
    prices = costs(tree, notification=notification_cost, control=control_cost)
    refresh = refresh_seconds or None
    mix = cheapest_mix(rates, algorithm, prices=prices, refresh_period=refresh)
    found = as_object(rates, algorithm, prices, refresh, mix)
    if as_json:
        print_json(found)
    else:
        _show(rates, algorithm, found, mix)
    if figure is not None:
        _draw(rates, algorithm, prices, refresh, figure)
        notice(f"drew {figure}")
    return ExitStatus.DONE


def as_object(
    rates: Rates, algorithm: str, prices: Costs, refresh: float | None, mix: Mix
) -> dict[str, Any]:
    """Costs per second, and the edges that flood by name."""
    from sapwood.analysis.traffic.flows import UP
    from sapwood.analysis.traffic.hybrid import homogeneous_costs

    single = homogeneous_costs(rates, algorithm, prices=prices, refresh_period=refresh)
    tree = rates.tree
    flooding = [
        tree.name_edge(way == UP, link + 1)
        for way in range(2)
        for link in range(tree.links)
        if mix.floods[way, link]
    ]
    return {
        "algorithm": algorithm,
        "costs": {**single, "mix": mix.cost},
        "edges": 2 * tree.links,
        "flooding": flooding,
    }


def _show(rates: Rates, algorithm: str, found: dict[str, Any], mix: Mix) -> None:
    from sapwood.analysis.traffic.flows import DOWN, UP

    print(described(rates))
    print()
    for name, value in found["costs"].items():
        label = "flooding" if name == "flooding" else f"{algorithm}, {name}"
        if name == "mix":
            label = f"{algorithm} and flooding mixed"
        print(f"{value:>14,.1f}/s  {label}")
    print()
    print(f"{len(found['flooding'])} of {found['edges']} edges flood:")
    print(f"{'depth':>8}{'edges':>8}{'up':>10}{'down':>10}")
    depths = rates.tree.depths
    for depth in range(1, depths[-1] + 1):
        places = [at - 1 for at in range(1, len(depths)) if depths[at] == depth]
        up, down = (int(mix.floods[way, places].sum()) for way in (UP, DOWN))
        print(f"{depth:>8}{2 * len(places):>8}{up:>10}{down:>10}")


def _draw(rates: Rates, algorithm: str, prices: Costs, refresh: float | None, path: Path) -> None:
    """Costs against the number of subscriptions, around what was asked."""
    import numpy as np

    from sapwood.analysis.traffic import cheapest_mix
    from sapwood.analysis.traffic.hybrid import homogeneous_costs
    from sapwood.cli.analyze_figures import Axes, Curve, draw

    asked = rates.subscriptions
    numbers = np.geomspace(asked / 1000, asked * 10, _POINTS).tolist()
    totals: dict[str, list[float]] = {}
    for number in numbers:
        scaled = rates.scaled(number)
        single = homogeneous_costs(scaled, algorithm, prices=prices, refresh_period=refresh)
        mix = cheapest_mix(scaled, algorithm, prices=prices, refresh_period=refresh).cost
        for name, value in {**single, "cheapest mix": mix}.items():
            totals.setdefault(name, []).append(value)
    labels = {"flooding": "flooding", "cheapest mix": "cheapest mix"}
    curves = [
        Curve(labels.get(name, f"{algorithm} {name}"), numbers, values, style)
        for style, (name, values) in enumerate(totals.items())
    ]
    draw(
        Axes(
            f"Cost of routing, {len(rates.tree.brokers):,} brokers, by formula",
            "live subscriptions", "cost per second", x_log=True, y_log=True,
        ),
        curves,
        path,
    )  # fmt: skip
