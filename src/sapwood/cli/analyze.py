"""`sapwood analyze`: what can be computed about a network before it runs."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sapwood.cli.analyze_breakeven import breakeven
from sapwood.cli.analyze_predict import predict
from sapwood.cli.analyze_routing import routing
from sapwood.cli.analyze_setting import FigureFile, check_figure
from sapwood.cli.analyze_traffic import traffic
from sapwood.cli.output import ExitStatus, notice, print_json

if TYPE_CHECKING:
    from sapwood.analysis.stabilization import Network, Periods
    from sapwood.errors import ConfigurationError, StabilizationError
    from sapwood.runtime.config.settings import Settings

app = typer.Typer(
    help="Compute what a network will do.", no_args_is_help=True, rich_markup_mode=None
)

DELAY_ASSUMED = 0.05
"""Seconds over a link, where nothing says how long it takes."""

ConfigFile = Annotated[
    Path | None,
    typer.Option("--config", help="Take what is not given here from this file.", metavar="FILE"),
]
Stated = Annotated[
    float | None,
    typer.Option("--seconds", help="Find the periods for this stabilization time.", metavar="S"),
]
Entries = Annotated[
    int, typer.Option(help="Entries told over a link, for the cost.", metavar="N", min=0)
]
WithFormulas = Annotated[bool, typer.Option("--formulas", help="Show how each is computed.")]
WithPublished = Annotated[
    bool, typer.Option("--published", help="Show the papers' protocols beside ours.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
RefreshScheme = Annotated[
    str | None, typer.Option("--refresh", help="digest, batch, hop-lease or off.", metavar="SCHEME")
]
WithAdvertisements = Annotated[
    bool | None, typer.Option("--advertisements/--no-advertisements", help="Whether required.")
]


def _option(flag: str, unit: str, text: str) -> Any:
    return typer.Option(flag, help=text, metavar=unit)


Brokers = Annotated[int | None, _option("--brokers", "N", "Brokers; else as many as may be.")]
Height = Annotated[
    int | None, _option("--height", "N", "Links from the root down; else the worst.")
]
Diameter = Annotated[
    int | None, _option("--diameter", "N", "Links of the longest way; else the worst.")
]
DepthMax = Annotated[int | None, _option("--depth-max", "N", "As tree.depth_max.")]
RingMax = Annotated[int | None, _option("--ring-max", "N", "As tree.ring_max.")]
DelayMax = Annotated[
    float | None, _option("--delay-max", "S", "Longest time over a link; else 0.05.")
]
DelayMin = Annotated[
    float | None, _option("--delay-min", "S", "Shortest time over a link; else 0.")
]
WaitMax = Annotated[
    float | None,
    _option("--wait-max", "S", "Longest wait behind notifications without credit; else 0."),
]
RefreshSeconds = Annotated[float | None, _option("--refresh-seconds", "S", "Between comparisons.")]
ClientSeconds = Annotated[
    float | None, _option("--client-refresh-seconds", "S", "Those of clients.")
]
BeaconSeconds = Annotated[float | None, _option("--beacon-seconds", "S", "Between beacons.")]
AuditSeconds = Annotated[float | None, _option("--audit-seconds", "S", "Between audits.")]
TickSeconds = Annotated[float | None, _option("--tick-seconds", "S", "Between looks at the clock.")]
LockSeconds = Annotated[
    float | None, _option("--lock-seconds", "S", "Before a change is given up.")
]
SeekSeconds = Annotated[
    float | None, _option("--seek-seconds", "S", "Between attempts by hearsay.")
]

_PERIODS = {
    "refresh": "refresh",
    "has_advertisements": "advertisements",
    "refresh_period": "refresh_seconds",
    "client_refresh_period": "client_refresh_seconds",
    "beacon_period": "beacon_seconds",
    "audit_period": "audit_seconds",
    "tick": "tick_seconds",
    "lock_time": "lock_seconds",
    "seek_period": "seek_seconds",
}
"""Names in formulas, and the options that set them where these have another name."""
_SOLVED = ("refresh_seconds", "client_refresh_seconds", "beacon_seconds", "audit_seconds")


app.command()(traffic)
app.command()(breakeven)
app.command()(routing)
app.command()(predict)


@app.callback()
def _analyze() -> None:
    """Compute what a network will do."""


@app.command()
def stabilization(  # noqa: PLR0913, PLR0917 - one for each option
    context: typer.Context,
    config: ConfigFile = None,
    seconds: Stated = None,
    brokers: Brokers = None,
    height: Height = None,
    diameter: Diameter = None,
    delay_max: DelayMax = None,
    delay_min: DelayMin = None,
    wait_max: WaitMax = None,
    depth_max: DepthMax = None,
    ring_max: RingMax = None,
    refresh: RefreshScheme = None,
    advertisements: WithAdvertisements = None,
    refresh_seconds: RefreshSeconds = None,
    client_refresh_seconds: ClientSeconds = None,
    beacon_seconds: BeaconSeconds = None,
    audit_seconds: AuditSeconds = None,
    tick_seconds: TickSeconds = None,
    lock_seconds: LockSeconds = None,
    seek_seconds: SeekSeconds = None,
    entries: Entries = 0,
    formulas: WithFormulas = False,
    published: WithPublished = False,
    figure: FigureFile = None,
    as_json: AsJson = False,
) -> int:
    """Tell how long it takes at most until a fault is healed, part by part.

    What is not given is as in the file or by default; a network is taken to be the worst that is
    allowed. Combinations of periods that cannot work are refused.
    """
    from sapwood.errors import StabilizationError

    check_figure(figure)
    given = {name: value for name, value in context.params.items() if value is not None}
    try:
        network, periods = _asked(given)
    except StabilizationError as problem:
        raise _placed(problem, given) from None
    if figure is not None:
        _draw(network, periods, figure)
        notice(f"drew {figure}")
    if as_json:
        print_json(as_object(network, periods, entries, with_published=published))
        return ExitStatus.DONE
    for line in _lines(network, periods, entries, formulas):
        print(line)
    if published:
        for line in _published_lines(network, periods):
            print(line)
    return ExitStatus.DONE


def _asked(given: Mapping[str, Any]) -> tuple[Network, Periods]:
    """The network and the periods that the options and the file say, if they can work."""
    from sapwood.analysis.stabilization import check, periods_within
    from sapwood.runtime.config.configuration import EXAMPLE_ID, load

    settings = load(given.get("config"), {}, os.environ, default_id=EXAMPLE_ID)
    network, periods = _network(given, settings), _periods(given, settings)
    if "seconds" in given:
        for name in _SOLVED:
            if name in given:
                flag = f"--{name.replace('_', '-')}"
                raise typer.BadParameter(f"{flag} follows from --seconds; give one of the two")
        return network, periods_within(given["seconds"], network, periods)
    check(network, periods)
    return network, periods


def _placed(problem: StabilizationError, given: Mapping[str, Any]) -> ConfigurationError:
    """What cannot work, said in terms of the option or the file that it was set in."""
    from sapwood.errors import ConfigurationError
    from sapwood.runtime.config.stabilization import KEYS

    name = _PERIODS.get(problem.parameter, problem.parameter)
    if name not in given and problem.parameter in KEYS and "config" in given:
        return ConfigurationError(problem.problem, KEYS[problem.parameter], str(given["config"]))
    return ConfigurationError(problem.problem, f"--{name.replace('_', '-')}")


def _network(given: Mapping[str, Any], settings: Settings) -> Network:
    from sapwood.analysis.stabilization import network_of

    depth_max = given.get("depth_max", settings.tree.depth_max)
    return network_of(
        given.get("brokers", 2 * depth_max - 1),
        height=given.get("height"),
        diameter=given.get("diameter"),
        delay_max=given.get("delay_max", settings.stabilization.delay_max or DELAY_ASSUMED),
        delay_min=given.get("delay_min", 0.0),
        wait_max=given.get("wait_max", 0.0),
        depth_max=depth_max,
        ring_max=given.get("ring_max", settings.tree.ring_max),
    )


def _periods(given: Mapping[str, Any], settings: Settings) -> Periods:
    import msgspec

    from sapwood.analysis.stabilization import Periods
    from sapwood.runtime.config.stabilization import periods_set

    values = msgspec.structs.asdict(periods_set(settings))
    values |= {field: given[name] for field, name in _PERIODS.items() if name in given}
    try:
        return msgspec.convert(values, Periods)
    except msgspec.ValidationError:
        raise typer.BadParameter(
            f"{given['refresh']!r}; there are digest, batch, hop-lease and off",
            param_hint="--refresh",
        ) from None


# --- showing it -----------------------------------------------------------------------------


def as_object(
    network: Network, periods: Periods, entries: int, *, with_published: bool
) -> dict[str, Any]:
    """The bounds by name, in seconds (null for never), and what they were computed from."""
    import msgspec

    from sapwood.analysis.stabilization import bounds, idle_traffic
    from sapwood.analysis.stabilization.comparing import published_bounds

    found = msgspec.structs.asdict(bounds(network, periods))
    traffic = idle_traffic(periods, entries)
    shown: dict[str, Any] = {name: _rounded(value) for name, value in found.items()}
    shown["network"] = msgspec.to_builtins(network)
    shown["periods"] = msgspec.to_builtins(periods)
    costs = {**msgspec.structs.asdict(traffic), "total": traffic.total}
    shown["idle_bytes_per_second"] = {name: _rounded(value) for name, value in costs.items()}
    if with_published:
        shown["published"] = [
            {
                name: _rounded(value) if isinstance(value, float) else value
                for name, value in one._asdict().items()
            }
            for one in published_bounds(network, periods.refresh_period)
        ]
    return shown


def _rounded(seconds: float) -> float | None:
    return None if math.isinf(seconds) else round(seconds, 6)


def _lines(network: Network, periods: Periods, entries: int, formulas: bool) -> Iterator[str]:
    from sapwood.analysis.stabilization import TERMS, bounds, idle_traffic
    from sapwood.analysis.stabilization.bounds import tables_formula

    yield (
        f"{network.brokers} brokers, height {network.height}, diameter {network.diameter}; "
        f"at most {network.delay_max:g} s over a link"
        + (f", {network.wait_max:g} s more for who waits for credit" if network.wait_max else "")
    )
    yield (
        f"refresh by {periods.refresh} every {periods.refresh_period:g} s, of clients every "
        f"{periods.client_refresh_period:g} s; beacons every {periods.beacon_period:g} s; "
        f"audit every {periods.audit_period:g} s"
    )
    yield ""
    found = bounds(network, periods)
    for term in TERMS:
        formula = tables_formula(periods) if term.name == "tables" else term.formula
        seconds = _seconds(getattr(found, term.name))
        last = formula if formulas else term.meaning
        yield f"{seconds:>12}  {term.name:<16}  {term.symbol:<5}  {last}"
    yield ""
    traffic = idle_traffic(periods, entries)
    yield (
        f"idle cost: {traffic.total:.1f} bytes/s per link and direction (tables "
        f"{traffic.tables:.1f}, streams {traffic.streams:.1f}, tree {traffic.tree:.1f})"
    )


_POINTS = 60


def _draw(network: Network, periods: Periods, path: Path) -> None:
    """The bounds that depend on the refresh period, from a tenth of the one asked to ten times."""
    import msgspec
    import numpy as np

    from sapwood.analysis.stabilization import TERMS, bounds
    from sapwood.cli.analyze_figures import Axes, Curve, draw

    asked = periods.refresh_period
    lengths = np.geomspace(asked / 10, asked * 10, _POINTS).tolist() if asked > 0 else []
    found = [
        bounds(network, msgspec.structs.replace(periods, refresh_period=length))
        for length in lengths
    ]
    values = {term.name: [float(getattr(one, term.name)) for one in found] for term in TERMS}
    moved = {
        name: times
        for name, times in values.items()
        if times and all(map(math.isfinite, times)) and 0 < min(times) < max(times)
    }
    curves = [
        Curve(name, lengths, times, style) for style, (name, times) in enumerate(moved.items())
    ]
    if not curves:
        raise typer.BadParameter("nothing here depends on a refresh period", param_hint="--figure")
    title = f"Until a fault is healed, {network.brokers:,} brokers, by formula"
    axes = Axes(title, "refresh period in seconds", "seconds at most", x_log=True, y_log=True)
    draw(axes, curves, path)


def _seconds(value: float) -> str:
    return "never" if math.isinf(value) else f"{value:,.2f} s"


def _published_lines(network: Network, periods: Periods) -> Iterator[str]:
    from sapwood.analysis.stabilization.comparing import published_bounds

    yield ""
    yield f"{'printed':>12}  {'holds':>12}  {'period':>12}  of the papers"
    for one in published_bounds(network, periods.refresh_period):
        times = (one.printed, one.corrected, one.period)
        columns = "  ".join(f"{_seconds(time):>12}" for time in times)
        yield f"{columns}  {one.name} (Eq. {one.equation})"
