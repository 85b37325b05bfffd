"""`sapwood topology why`: the decisions by which brokers have moved links, with their numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sapwood.cli.output import ExitStatus, notice, print_json
from sapwood.cli.server_option import DEFAULT_SERVER, Servers, open_bus, run_client

if TYPE_CHECKING:
    from sapwood.protocol.optimize.decision import Decision
    from sapwood.runtime.admin.inspection import NetworkView
    from sapwood.runtime.admin.status import OptimizationStatus


def why(
    server: Servers = [DEFAULT_SERVER],  # noqa: B006 - typer reads it, nobody changes it
    broker: Annotated[
        str | None, typer.Option(help="Only the decisions of this broker.", metavar="ID")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> int:
    """Show why the tree has changed by itself, or has not: the last decisions of every broker.

    They come from admin endpoints, where they can be reached from here. Exit 1 if some cannot, or
    there is no such broker.
    """
    view = run_client(_look(server))
    known = {
        one.report.id: None if one.status is None else one.status.optimization
        for one in view.brokers
        if broker in (None, one.report.id)
    }
    if broker is not None and not known:
        notice(f"there is no broker {broker!r}")
        return ExitStatus.NO
    if as_json:
        print_json(as_object(known))
    else:
        for line in lines(known):
            typer.echo(line)
    unknown = [name for name, one in known.items() if one is None]
    if unknown:
        notice(f"the admin endpoints of {', '.join(unknown)} cannot be reached from here")
        return ExitStatus.NO
    return ExitStatus.DONE


async def _look(servers: list[str]) -> NetworkView:
    from sapwood.runtime.admin.inspection import inspect

    async with open_bus(servers) as bus:
        return await inspect(bus)


def as_object(known: dict[str, OptimizationStatus | None]) -> dict[str, Any]:
    """The decisions for programs, by broker."""
    import msgspec

    return {
        "brokers": [
            {"id": name, **(msgspec.to_builtins(one) if one is not None else {"mode": None})}
            for name, one in known.items()
        ],
        "cost": sum(one.cost for one in known.values() if one is not None),
    }


def lines(known: dict[str, OptimizationStatus | None]) -> Iterator[str]:
    """The decisions for people, in the order of time."""
    told = {name: one for name, one in known.items() if one is not None}
    active = {name: one for name, one in told.items() if one.mode != "off"}
    if not active:
        yield "no broker moves links: optimization.mode is off"
        return
    decisions = [decision for one in active.values() for decision in one.decisions]
    for decision in sorted(decisions, key=lambda one: one.at):
        yield from _told(decision)
    for one in active.values():
        if one.considered is not None and one.considered.score <= one.considered.threshold:
            best = one.considered
            yield (
                f"{best.middle} leaves its links: moving {best.mover} onto {best.onto} would gain "
                f"{best.score:.3g} for certain, and has to gain {best.threshold:.3g}"
            )
    cost = sum(one.cost for one in active.values())
    yield f"the traffic of the last minutes costs {cost:.3g} a second at {len(active)} brokers"


def _told(one: Decision) -> Iterator[str]:
    """One decision: what, and the numbers of formula (1)."""
    from datetime import UTC, datetime

    at = datetime.fromtimestamp(one.at, UTC).strftime("%H:%M:%S")
    because = f" ({one.reason})" if one.reason else ""
    yield f"{at}  {one.middle}: {one.mover} onto {one.onto}  {one.outcome}{because}"
    seen = "" if one.gain_seen is None else f", seen {one.gain_seen:.3g}"
    yield (
        f"    gain {one.gain:.3g} ± {one.sigma:.2g}{seen}; doubt {one.doubt:.3g}, "
        f"price {one.price:.3g}, had to exceed {one.threshold:.3g}"
    )
    yield (
        f"    N {one.moved:.3g}/s, J {one.joint:.3g}/s, X {one.alone:.3g}/s in {one.window:.0f} s; "
        f"costs: {one.mover}-{one.middle} {one.cost_old:.3g}, "
        f"{one.mover}-{one.onto} {one.cost_new:.3g}, {one.middle}-{one.onto} {one.cost_kept:.3g}, "
        f"at {one.middle} {one.processing_middle:.3g}, at {one.onto} {one.processing_onto:.3g}"
    )
