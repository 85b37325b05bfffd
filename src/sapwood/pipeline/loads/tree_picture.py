"""A picture of the tree with its load: links as wide as they are busy.

The same traffic gives the same file, byte for byte.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from sapwood.protocol.tree import Link

_WIDTH_MAX = 9.0
_SIZE_MAX = 900.0
_BUSY, _IDLE, _NODE = "#0072b2", "#999999", "#e69f00"


def draw_tree(
    path: Path | str,
    brokers: Mapping[str, float],
    links: Sequence[Link],
    loads: Mapping[Link, float],
    title: str,
) -> Path:
    """Draw brokers (by what they publish and deliver) and links (by what they carry) into a file.

    The ending of its name says which kind of file: `.svg` or `.png`.
    """
    import matplotlib as mpl  # noqa: PLC0415 - a second to load
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415
    from matplotlib.figure import Figure  # noqa: PLC0415

    places = layout(tuple(brokers), links)
    with mpl.rc_context({"svg.hashsalt": "sapwood", "svg.fonttype": "none", "font.size": 8}):
        width = max(4.0, 0.8 * (1 + max(x for x, _ in places.values())))
        height = max(3.0, 1.0 * (1 + max(-y for _, y in places.values())))
        figure = Figure(figsize=(min(width, 60), min(height, 40)), layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.add_subplot()
        _draw_links(axes, places, links, loads)
        _draw_brokers(axes, places, brokers)
        axes.set_title(title)
        axes.set_axis_off()
        axes.margins(0.1)
        target = Path(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        is_svg = target.suffix.lower() == ".svg"
        figure.savefig(target, metadata={"Date": None} if is_svg else None)
    return target


def _draw_links(
    axes: Any,
    places: Mapping[str, tuple[float, float]],
    links: Iterable[Link],
    loads: Mapping[Link, float],
) -> None:
    most = max(loads.values(), default=0.0)
    for left, right in links:
        load = loads.get((left, right), 0.0)
        (x, y), (u, v) = places[left], places[right]
        wide = 0.8 + _WIDTH_MAX * (load / most if most else 0.0)
        axes.plot([x, u], [y, v], color=_BUSY if load else _IDLE, linewidth=wide, zorder=1)
        axes.text((x + u) / 2, (y + v) / 2, f"{load:.3g}", ha="center", va="center", zorder=2)


def _draw_brokers(
    axes: Any, places: Mapping[str, tuple[float, float]], brokers: Mapping[str, float]
) -> None:
    most = max(brokers.values(), default=0.0)
    for broker, busy in brokers.items():
        x, y = places[broker]
        size = 120 + _SIZE_MAX * (busy / most if most else 0.0)
        axes.scatter([x], [y], s=size, color=_NODE, edgecolors="black", linewidths=0.6, zorder=3)
        axes.text(x, y, broker, ha="center", va="center", zorder=4)


def layout(brokers: Sequence[str], links: Sequence[Link]) -> dict[str, tuple[float, float]]:
    """A place for each broker: parents above, leaves side by side, parts of a forest too.

    The root is a broker from which the tree is lowest.
    """
    neighbours: dict[str, list[str]] = {broker: [] for broker in brokers}
    for left, right in links:
        neighbours[left].append(right)
        neighbours[right].append(left)
    places: dict[str, tuple[float, float]] = {}
    next_leaf = 0.0
    for broker in brokers:
        if broker in places:
            continue
        order, parents = _from(_middle(broker, neighbours), neighbours)
        next_leaf = _place(order, parents, next_leaf, places)
    return places


def _from(root: str, neighbours: Mapping[str, list[str]]) -> tuple[list[str], dict[str, str]]:
    """The brokers reached from a root in depth-first order, and who stands above whom."""
    order: list[str] = []
    parents: dict[str, str] = {}
    waiting = [root]
    while waiting:
        broker = waiting.pop()
        order.append(broker)
        below = [other for other in sorted(neighbours[broker]) if other != parents.get(broker)]
        parents.update(dict.fromkeys(below, broker))
        waiting += reversed(below)
    return order, parents


def _middle(broker: str, neighbours: Mapping[str, list[str]]) -> str:
    """The middle of a longest path."""

    def farthest(start: str) -> list[str]:
        order, parents = _from(start, neighbours)
        depth = {start: 0}
        for one in order[1:]:
            depth[one] = depth[parents[one]] + 1
        last = max(order, key=lambda one: (depth[one], one))
        path = [last]
        while path[-1] != start:
            path.append(parents[path[-1]])
        return path

    path = farthest(farthest(broker)[0])
    return path[len(path) // 2]


def _place(
    order: Sequence[str],
    parents: Mapping[str, str],
    next_leaf: float,
    places: dict[str, tuple[float, float]],
) -> float:
    """Leaves from left to right, everybody else above the middle of what is below."""
    depth = {order[0]: 0}
    below: dict[str, list[str]] = {broker: [] for broker in order}
    for broker in order[1:]:
        depth[broker] = depth[parents[broker]] + 1
        below[parents[broker]].append(broker)
    for broker in order:
        if not below[broker]:
            places[broker] = next_leaf, -float(depth[broker])
            next_leaf += 1
    for broker in reversed(order):
        if below[broker]:
            xs = [places[other][0] for other in below[broker]]
            places[broker] = (min(xs) + max(xs)) / 2, -float(depth[broker])
    return next_leaf
