"""`sapwood status`: how all brokers of a network are doing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from sapwood.cli.output import ExitStatus, notice, print_json
from sapwood.cli.server_option import DEFAULT_SERVER, Servers, open_bus, run_client

if TYPE_CHECKING:
    from rich.table import Table

    from sapwood.protocol.messages import LoadReport
    from sapwood.runtime.admin.inspection import BrokerView, NetworkView

_UNKNOWN = "·"

_LINKS_MAX = 12
"""Links that stand by and are named."""

_FIGURES = (
    "clients",
    "table",
    "in/s",
    "out/s",
    "queued",
    "given\nup",
    "slow",
    "faults",
)
"""Columns with numbers."""

_BOUNDS = {
    "failover": "a parent gone for good",
    "tree": "any tree",
    "tables": "then any tables",
    "total": "any fault",
    "total_derived": "any fault of derived state",
}
"""Bounds of ``sapwood.analysis.stabilization`` that are shown, in words."""


def status(
    server: Servers = [DEFAULT_SERVER],  # noqa: B006 - typer reads it, nobody changes it
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> int:
    """Show all brokers: place in the tree, links, clients, rates, queues, losses, faults.

    All of it travels through the network. Where admin endpoints can be reached from here, they
    add faults by kind and the time until one is healed. Exit 1 if some brokers cannot be reached.
    """
    view = run_client(_look(server))
    if as_json:
        import msgspec

        brokers = [
            {**msgspec.to_builtins(one.report), "status": msgspec.to_builtins(one.status)}
            for one in view.brokers
        ]
        print_json({"brokers": brokers, "links": view.links, "missing": view.missing})
    else:
        from rich.console import Console

        console = Console(highlight=False)
        console.print(table(view))
        for line in (*standing_by(view), *changing(view), *optimizing(view), *healing(view)):
            console.print(line, soft_wrap=True)
    if view.missing:
        notice(f"cannot be reached: {', '.join(view.missing)}")
        return ExitStatus.NO
    return ExitStatus.DONE


async def _look(servers: list[str]) -> NetworkView:
    from sapwood.runtime.admin.inspection import inspect

    async with open_bus(servers) as bus:
        return await inspect(bus)


def table(view: NetworkView) -> Table:
    """All brokers, one a line."""
    from rich import box
    from rich.table import Table

    shown = Table(box=box.SIMPLE_HEAD, padding=0)
    for name in ("broker", "parent", "neighbours"):
        shown.add_column(name, overflow="fold")
    for name in _FIGURES:
        shown.add_column(name, justify="right")
    for one in view.brokers:
        report = one.report
        shown.add_row(
            report.id,
            _parent(one),
            _neighbours(one),
            str(report.clients),
            str(report.subscriptions),
            *_live(one),
        )
    for name in view.missing:
        shown.add_row(name, "", "cannot be reached", style="red")
    return shown


def standing_by(view: NetworkView) -> list[str]:
    """For people: links outside the tree, each once."""
    from sapwood.runtime.admin.inspection import natural

    links = sorted(
        {
            "–".join(sorted((one.report.id, other), key=natural))
            for one in view.brokers
            for other in one.report.candidates
        },
        key=natural,
    )
    if not links:
        return []
    more = f" and {len(links) - _LINKS_MAX} more" if len(links) > _LINKS_MAX else ""
    return [f"links that stand by: {', '.join(links[:_LINKS_MAX])}{more}"]


def changing(view: NetworkView) -> list[str]:
    """For people: changes of the tree that are under way, and how the last ones ended."""
    lines = []
    for one in view.brokers:
        if one.report.plan:
            lines.append(f"{one.report.id} changes the tree: {one.report.plan}")
    known = [one.status.changes for one in view.brokers if one.status is not None]
    for name, ring in sorted({one.change: one.ring for one in known if one.change}.items()):
        lines.append(f"change {name} is under way: {' '.join(ring)}")
    ended = {name: outcome for one in known for name, outcome in one.finished.items()}
    if ended:
        outcomes = list(ended.values())
        counts = (outcomes.count("completed"), outcomes.count("undone"))
        lines.append(f"last changes of the tree: {counts[0]} completed, {counts[1]} undone")
    return lines


def optimizing(view: NetworkView) -> list[str]:
    """For people: what the traffic costs, and what moving links has gained."""
    known = [one.status.optimization for one in view.brokers if one.status is not None]
    active = [one for one in known if one.mode != "off"]
    if not active:
        return []
    cost, swaps = sum(one.cost for one in active), sum(one.swaps["completed"] for one in active)
    gained = sum(one.gain_seen for one in active)
    return [
        f"cost of the traffic: {cost:.4g} a second; links moved: {swaps}, which gained {gained:.4g}"
    ]


def healing(view: NetworkView) -> list[str]:
    """For people: which faults were found, and how long until one is healed here."""
    told = [one.status for one in view.brokers if one.status is not None]
    lines = []
    for status in told:
        found = [f"{kind} {count}" for kind, count in status.faults.items() if count]
        if found:
            lines.append(f"faults found by {status.id} since its start: {', '.join(found)}")
        if status.healing is not None and status.healing.problem:
            lines.append(f"stabilization.seconds of {status.id}: {status.healing.problem}")
    known = [status.healing.bounds for status in told if status.healing is not None]
    if known:
        times = [f"{words} {_longest(name, known)}" for name, words in _BOUNDS.items()]
        lines.append(f"healed within (bounds): {', '.join(times)}")
    return lines


def _longest(name: str, known: list[dict[str, float | None]]) -> str:
    """The longest of some bounds of the same name."""
    seconds = [bounds.get(name) for bounds in known]
    times = [one for one in seconds if one is not None]
    return "never" if len(times) < len(seconds) else f"{max(times):,.1f} s"


def _parent(one: BrokerView) -> str:
    """Who is above a broker; it may be the root, or keep no tree."""
    report = one.report
    if not report.root:
        return _UNKNOWN
    return "(root)" if report.root == report.id else report.parent


def _neighbours(one: BrokerView) -> str:
    """Those in the tree."""
    away = set(one.report.away)
    return " ".join(f"{name}(away)" if name in away else name for name in one.report.neighbours)


def _live(one: BrokerView) -> list[str]:
    """What the admin endpoint knows; where it cannot be asked, what the survey says of it."""
    status, load = one.status, one.report.load
    if status is None:
        return [_UNKNOWN] * 6 if load is None else _told(load)
    streams = status.streams
    return [
        f"{sum(stream.rate.frames_in for stream in streams):,.0f}",
        f"{sum(stream.rate.frames_out for stream in streams):,.0f}",
        _size(sum(stream.queue.buffered_bytes for stream in streams)),
        str(sum(stream.queue.given_up for stream in streams)),
        str(sum(client.is_slow for client in status.clients)),
        str(sum(status.faults.values())),
    ]


def _told(load: LoadReport) -> list[str]:
    """What a broker says of itself in a survey."""
    return [
        f"{load.frames_in:,.0f}",
        f"{load.frames_out:,.0f}",
        _size(load.queued_bytes),
        str(load.given_up),
        str(load.slow),
        str(load.faults),
    ]


def _size(count: int) -> str:
    """A number of bytes for people."""
    size = float(count)
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"
