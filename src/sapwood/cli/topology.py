"""`sapwood topology`: the tree of brokers; what changes it is in ``topology_change``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from sapwood.cli.output import ExitStatus, notice, print_json
from sapwood.cli.server_option import DEFAULT_SERVER, Servers, open_bus, run_client
from sapwood.cli.topology_change import exchange, plan, remove, swap
from sapwood.cli.topology_why import why

if TYPE_CHECKING:
    from rich.tree import Tree

    from sapwood.runtime.admin.inspection import NetworkView

app = typer.Typer(help="The tree of brokers.", no_args_is_help=True, rich_markup_mode=None)


@app.callback()
def _topology() -> None:
    """The tree of brokers."""


app.command()(exchange)
app.command()(swap)
app.command()(remove)
app.command()(plan)
app.command()(why)


@app.command()
def show(
    server: Servers = [DEFAULT_SERVER],  # noqa: B006 - typer reads it, nobody changes it
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> int:
    """Show who is linked to whom.

    Exit 1 if some brokers cannot be reached.
    """
    view = run_client(_look(server))
    if as_json:
        print_json(as_object(view))
    else:
        _print(view)
    if view.missing:
        notice(f"cannot be reached: {', '.join(view.missing)}")
        return ExitStatus.NO
    return ExitStatus.DONE


async def _look(servers: list[str]) -> NetworkView:
    from sapwood.runtime.admin.inspection import inspect

    async with open_bus(servers) as bus:
        return await inspect(bus, with_status=False)


def as_object(view: NetworkView) -> dict[str, Any]:
    """A network for programs."""
    import msgspec

    return {
        "brokers": [
            msgspec.structs.asdict(one.report)
            | {"edges": [msgspec.structs.asdict(edge) for edge in one.report.edges]}
            | {"load": msgspec.to_builtins(one.report.load)}
            for one in view.brokers
        ],
        "links": view.links,
        "missing": view.missing,
    }


def _print(view: NetworkView) -> None:
    from rich.console import Console

    for tree in _trees(view):
        Console(highlight=False, soft_wrap=True).print(tree)


def _trees(view: NetworkView) -> list[Tree]:
    """The tree below its root; several if links are missing.

    Who has a parent that answers is shown below that one, and nowhere else: a broker that is gone
    is still a neighbour of all who keep its place.
    """
    from rich.tree import Tree

    answered = {one.report.id for one in view.brokers}
    parents = {
        one.report.id: one.report.parent for one in view.brokers if one.report.parent in answered
    }
    neighbours: dict[str, list[str]] = {one.report.id: [] for one in view.brokers}
    for left, right in view.links:
        neighbours.setdefault(left, []).append(right)
        neighbours.setdefault(right, []).append(left)
    labels = _labels(view)
    seen: set[str] = set()

    def grow(tree: Tree, name: str) -> None:
        for other in neighbours[name]:
            if other not in seen and parents.get(other, name) == name:
                seen.add(other)
                grow(tree.add(labels.get(other, f"{other}  cannot be reached")), other)

    trees = []
    roots = [one.report.id for one in view.brokers if one.report.root == one.report.id]
    tops = [name for name in neighbours if name in answered and name not in parents]
    for name in dict.fromkeys((*roots, *tops, *neighbours)):
        if name not in seen:
            seen.add(name)
            trees.append(Tree(labels[name]))
            grow(trees[-1], name)
    return trees


def _labels(view: NetworkView) -> dict[str, str]:
    """What is written for each broker."""
    labels = {}
    for one in view.brokers:
        report = one.report
        words = [report.id]
        if report.root == report.id:
            words.append("root")
        if report.clients:
            words.append(f"{report.clients} client{'s' if report.clients > 1 else ''}")
        if report.candidates:
            words.append(f"stands by: {', '.join(report.candidates)}")
        if report.away:
            words.append(f"away: {', '.join(report.away)}")
        flooded = [edge.to for edge in report.edges if edge.mode == "flooding"]
        if flooded:
            words.append(f"floods to: {', '.join(flooded)}")
        labels[report.id] = "  ".join(words)
    return labels
