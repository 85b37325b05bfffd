"""What `sapwood analyze traffic` and `routing` are asked about: a tree, and what clients do."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sapwood.errors import TopologyError

if TYPE_CHECKING:
    from sapwood.analysis.traffic import Rates, RootedTree

Arity = Annotated[int, typer.Option(help="Children of each broker.", metavar="N")]
Levels = Annotated[int, typer.Option(help="Levels of the tree, the root's too.", metavar="N")]
LinksFile = Annotated[
    Path | None,
    typer.Option("--links", help="Any other tree: one link 'A-B' a line.", metavar="FILE"),
]
Root = Annotated[
    str | None, typer.Option(help="Its root; the first broker of the file.", metavar="BROKER")
]
ClientsAt = Annotated[str, typer.Option(help="Where clients are: leaves or brokers.")]
Classes = Annotated[int, typer.Option(help="Filters that exclude each other.", metavar="N")]
Subscriptions = Annotated[float, typer.Option(help="Live ones, in all.", metavar="N")]
Lifetime = Annotated[float, typer.Option(help="Mean seconds of a subscription.", metavar="S")]
RefreshSeconds = Annotated[
    float, typer.Option(help="Between renewals of an entry; 0: there are none.", metavar="S")
]
PublicationRate = Annotated[float, typer.Option(help="Per second, in all.", metavar="R")]
FigureFile = Annotated[
    Path | None, typer.Option("--figure", help="Draw into this .svg or .png.", metavar="FILE")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]

_PICTURES = (".svg", ".png")


def check_figure(figure: Path | None, subscriptions: float = 1.0) -> None:
    """Refuse a figure of another kind, or of nothing, before anything is computed."""
    if figure is not None and figure.suffix.lower() not in _PICTURES:
        raise typer.BadParameter(f"{figure} ends in neither .svg nor .png", param_hint="--figure")
    if figure is not None and not subscriptions:
        raise typer.BadParameter("0; a figure needs some", param_hint="--subscriptions")


def tree_of(arity: int, levels: int, links: Path | None, root: str | None) -> RootedTree:
    """The tree that is asked about."""
    from sapwood.analysis.traffic import complete_tree, rooted_tree

    if links is None:
        if root is not None:
            raise typer.BadParameter("goes with --links only", param_hint="--root")
        return complete_tree(arity, levels)
    try:
        return rooted_tree(links_of(links, "--links"), root)
    except TopologyError as problem:
        raise TopologyError(f"{links}: {problem}") from None


def links_of(path: Path, option: str) -> Iterator[tuple[str, str]]:
    """The links in a file, one a line."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        reason = getattr(problem, "strerror", None) or "it is no text"
        raise typer.BadParameter(f"{path}: {reason}", param_hint=option) from None
    for number, line in enumerate(text.splitlines(), start=1):
        names = [name.strip() for name in line.partition("#")[0].split("-")]
        if names == [""]:
            continue
        if len(names) != 2 or not all(names):
            raise TopologyError(f"line {number}: {line.strip()!r} is no link; wanted A-B")
        yield names[0], names[1]


def rates_of(
    tree: RootedTree,
    subscriptions: float,
    lifetime: float,
    publication_rate: float,
    classes: int,
    clients_at: str,
) -> Rates:
    """What clients do, evenly over brokers and classes."""
    from sapwood.analysis.traffic import uniform_rates

    if clients_at not in {"leaves", "brokers"}:
        raise typer.BadParameter(
            f"{clients_at!r}; there are leaves and brokers", param_hint="--clients-at"
        )
    return uniform_rates(
        tree,
        subscriptions=subscriptions,
        lifetime=lifetime,
        publication_rate=publication_rate,
        classes=classes,
        clients_at_leaves=clients_at == "leaves",
    )


def described(rates: Rates) -> str:
    """One line on what was asked."""
    tree = rates.tree
    return (
        f"{len(tree.brokers):,} brokers, height {tree.depths[-1]}; "
        f"{rates.subscriptions:,.0f} subscriptions, {rates.publications:,.6g} publications/s"
    )
