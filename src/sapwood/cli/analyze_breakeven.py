"""`sapwood analyze breakeven`: with how many subscriptions filtering stops to pay."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sapwood.cli.analyze_setting import Arity, AsJson, Classes, FigureFile, Levels, check_figure
from sapwood.cli.output import ExitStatus, notice, print_json

if TYPE_CHECKING:
    from sapwood.analysis.traffic import CompleteSetting

PublicationRates = Annotated[
    list[float], typer.Option("--publication-rate", help="Per second; may repeat.", metavar="R")
]
Lifetimes = Annotated[
    list[float], typer.Option("--lifetime", help="Mean seconds; may repeat.", metavar="S")
]
RefreshPeriods = Annotated[
    list[float], typer.Option("--refresh-seconds", help="0: no leases; may repeat.", metavar="S")
]


_POINTS = 400


def breakeven(  # noqa: PLR0913, PLR0917 - one for each option
    arity: Arity = 3,
    levels: Levels = 5,
    classes: Classes = 1000,
    publication_rate: PublicationRates = [1000.0, 100.0],  # noqa: B006 - typer reads it only
    lifetime: Lifetimes = [600.0, 60.0],  # noqa: B006
    refresh_seconds: RefreshPeriods = [60.0, 600.0],  # noqa: B006
    figure: FigureFile = None,
    as_json: AsJson = False,
) -> int:
    """Tell with how many subscriptions filtering costs as much as flooding.

    A complete tree with clients at the leaves, hierarchical identity-based routing with leases.
    Without options these are the eight settings of the thesis.
    """
    from sapwood.analysis.traffic import CompleteSetting

    check_figure(figure)
    settings = [
        CompleteSetting(
            arity=arity,
            levels=levels,
            classes=classes,
            publication_rate=published,
            lifetime=seconds,
            refresh_period=refresh or math.inf,
        )
        for published in publication_rate
        for seconds in lifetime
        for refresh in refresh_seconds
    ]
    found = [as_object(setting) for setting in settings]
    if as_json:
        print_json(found)
    else:
        _show(settings[0], found)
    if figure is not None:
        _draw(settings, figure)
        notice(f"drew {figure}")
    return ExitStatus.DONE


def as_object(setting: CompleteSetting) -> dict[str, Any]:
    """One setting for programs: where filtering stops to pay, and how bad it gets."""
    from sapwood.analysis.traffic.breakeven import break_even, worst_gain

    worst = worst_gain(setting)
    return {
        "publication_rate": setting.publication_rate,
        "lifetime": setting.lifetime,
        "refresh_period": _finite(setting.refresh_period),
        "subscriptions": _whole(break_even(setting)),
        "subscriptions_publishers_at_root": _whole(break_even(setting, publishers_at_root=True)),
        "gain_min": round(worst.value, 3),
        "gain_min_subscriptions": _whole(_finite(worst.subscriptions)),
        "loss_share_max": _finite(round(worst.share_of_flooding, 6)),
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _whole(value: float | None) -> int | None:
    return None if value is None else round(value)


def _show(setting: CompleteSetting, found: Sequence[dict[str, Any]]) -> None:
    print(
        f"complete tree of {setting.brokers:,} brokers, {setting.leaves:,} leaves; "
        f"{setting.classes:,} classes"
    )
    print()
    names = ("publications/s", "lifetime", "renewed every", "break-even", "least gain/s", "at")
    print("".join(f"{name:>15}" for name in names) + "   worse than flooding by at most")
    for one in found:
        refresh = "never" if one["refresh_period"] is None else f"{one['refresh_period']:g} s"
        even = "none" if one["subscriptions"] is None else f"{one['subscriptions']:,}"
        at = one["gain_min_subscriptions"]
        cells = (
            f"{one['publication_rate']:g}", f"{one['lifetime']:g} s", refresh, even,
            f"{one['gain_min']:,.1f}", "the limit" if at is None else f"{at:,}",
        )  # fmt: skip
        share = one["loss_share_max"]
        worse = "" if share is None else f"{max(0.0, share):.2%}"
        print("".join(f"{cell:>15}" for cell in cells) + f"   {worse}")


def _draw(settings: Sequence[CompleteSetting], path: Path) -> None:
    """What is saved and what control costs: they meet at the break-even (thesis, Fig. 3.18)."""
    import numpy as np

    from sapwood.analysis.traffic import complete
    from sapwood.analysis.traffic.breakeven import break_even
    from sapwood.cli.analyze_figures import Axes, Curve, draw

    crossings = [found for one in settings if (found := break_even(one)) is not None]
    per_leaf = settings[0].leaves * settings[0].classes
    top = 1.1 * max(crossings, default=10.0 * per_leaf)
    numbers = np.linspace(top / _POINTS, top, _POINTS)
    curves: dict[str, tuple[list[float], bool]] = {}
    for one in settings:
        saved = complete.saved(one, numbers) - complete.publishing(one, numbers)
        curves[f"saved, {one.publication_rate:g} publications/s"] = saved.tolist(), True
        renewed = f"renewed every {one.refresh_period:g} s"
        label = f"control, lifetime {one.lifetime:g} s, {renewed}"
        curves[label] = complete.control(one, numbers).tolist(), False
    ordered = sorted(curves.items(), key=lambda item: not item[1][1])
    least = min(value for values, _ in curves.values() for value in values if value > 0)
    draw(
        Axes(
            f"Messages saved by filtering, and what it costs: {settings[0].brokers:,} brokers",
            "live subscriptions", "messages per second over all links", y_log=True, y_min=least,
        ),
        [
            Curve(label, numbers.tolist(), values, style)
            for style, (label, (values, _)) in enumerate(ordered)
        ],
        path,
    )  # fmt: skip
