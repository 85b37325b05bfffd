"""Whether a broker can take part in a change, by what it knows of its own links."""

from __future__ import annotations

from sapwood.protocol.core import Core
from sapwood.protocol.neighbours import STEADY
from sapwood.protocol.reconfigure.directions import follows

RING_MIN = 3
"""Two links that exchange places have three ends at least."""


MIXED = "routing: some edges of the ring flood, and others do not"
"""Why a ring cannot be changed until its edges were switched."""

SWITCHING = "routing: an edge of the ring is being switched"

ASTRAY = "routing: an edge of the ring does not follow the parents"
"""Why a ring cannot be changed until its edges are routed as its tree asks."""


def misfit(core: Core, path: tuple[str, ...], k: int, source: str) -> str:
    """Why this broker cannot take part; empty if it can. The lock comes from a source, if any."""
    n, ring_max = len(path), core.config.tree.ring_max
    if not RING_MIN <= n <= ring_max:
        return f"a ring of {n} brokers; there may be {RING_MIN} to {ring_max}"
    if len(set(path)) != n or not 0 < k < n or core.id not in path:
        return "the ring makes no sense"
    place = path.index(core.id)
    if source != (path[place - 1] if place else ""):
        return "the lock comes from somewhere else"
    inside = [path[other] for other in (place - 1, place + 1) if 0 <= other < n]
    unfit = next(filter(None, (_unfit(core, name) for name in inside)), "")
    if unfit:
        return unfit
    if place in (0, n - 1):
        new = path[n - 1 - place]
        candidate = core.neighbours.get(new)
        if candidate is None or not candidate.is_connected:
            return f"there is no link to {new}"
        if candidate.in_tree:
            return f"{new} is a neighbour in the tree already"
    return _mixture(core, path, place)


def _unfit(core: Core, name: str) -> str:
    """Why there can be no change over the link to a neighbour in the tree."""
    neighbour = core.neighbours.get(name)
    if neighbour is None or not neighbour.in_tree:
        return f"{name} is no neighbour in the tree"
    if neighbour.is_withheld or not neighbour.is_connected:
        return f"{name} cannot be reached"
    return f"{name} does not keep up with what is sent to it" if neighbour.is_congested else ""


def _mixture(core: Core, path: tuple[str, ...], place: int) -> str:
    """Why edges of the ring do not go together: where one floods, nothing is known of wishes.

    In the other direction it may be known; but the change turns edges round.
    """
    sides = [core.neighbours.get(path[(place + step) % len(path)]) for step in (-1, 1)]
    if any(one is not None and one.outward_phase != STEADY for one in sides):
        return SWITCHING
    if follows(core):
        inside = [path[other] for other in (place - 1, place + 1) if 0 <= other < len(path)]
        return next((ASTRAY for name in inside if not _is_followed(core, name)), "")
    floods = {flag for one in sides if one is not None for flag in (one.floods, one.is_flooded)}
    return MIXED if len(floods) > 1 else ""


def _is_followed(core: Core, name: str) -> bool:
    """Whether an edge of the tree is routed as hierarchical routing asks, and both ends know it.

    The other end looks as well, so each needs to look at what it knows only.
    """
    one, is_parent = core.neighbours[name], name == core.tree_parent
    is_routed = (one.floods, one.is_flooded) == (not is_parent, is_parent)
    return is_routed and one.announced == one.sends
