"""How the edges of a ring are routed in the new tree, where routing follows the parents.

With hierarchical routing a broker tells its parent what it wants and gives it everything; children
are told nothing. A change turns the side of the old link round that is without the root: there the
neighbour below was the parent, and the one above will be. So tables for the new tree are made as
the edges will be routed in it. Until the change is complete each edge carries what either tree
needs: whoever will give everything to the neighbour above begins with it when it turns, for only
then something gray is here; and it goes on giving everything to the one below, since the change may
be undone. On the side of the root all edges stay as they are, and the new link leads to a child.

Both ends of an edge know by themselves how it is routed when the change is complete, so nothing
has to be said about it: as soon as the last of the old tree has come, they are of one mind.
"""

from __future__ import annotations

from sapwood.protocol.core import Core
from sapwood.protocol.reconfigure.state import Ring
from sapwood.routing.algorithms import FLOODING


def follows(core: Core) -> bool:
    """Whether the edges of this broker follow its parent in the tree."""
    return core.config.is_hierarchical and core.tree_parent is not None


def parent_after(core: Core, ring: Ring) -> str:
    """The parent of this broker in the new tree; empty if it is the root."""
    return ring.up if ring.is_turned_side else core.tree_parent or ""


def sends_after(core: Core, ring: Ring, neighbour: str) -> str:
    """How a neighbour on the ring learns in the new tree what to send here."""
    if not follows(core):
        return core.neighbours[neighbour].sends
    return core.config.routing if neighbour == parent_after(core, ring) else FLOODING


def gets_everything(core: Core, ring: Ring, neighbour: str) -> bool:
    """Whether a neighbour on the ring is to get everything now, for either tree."""
    will_get = follows(core) and ring.is_gray and neighbour == parent_after(core, ring)
    return will_get or core.neighbours[neighbour].is_flooded


def begin(core: Core, ring: Ring) -> None:
    """This broker has turned: who is above gets what it needs in the new tree."""
    if ring.up in core.forwarding.neighbours:
        everything = gets_everything(core, ring, ring.up)
        core.forwarding.open(ring.up, everything=everything)


def settle(core: Core, ring: Ring) -> None:
    """The new tree holds: edges on the ring are routed as they have to be in it."""
    if not follows(core):
        return
    for name in ring.sides:
        one = core.neighbours.get(name)
        if one is None or name == ring.old:
            continue
        one.direct(sends_after(core, ring, name))
        one.announced = one.sends
        core.subscriptions.switch(name, one.sends)
        is_flooded = name == parent_after(core, ring)
        if is_flooded != one.is_flooded:
            one.outward_number += 1
            one.receives = FLOODING if is_flooded else core.config.routing
        if name in core.forwarding.neighbours:
            core.forwarding.open(name, everything=one.is_flooded)


def restore(core: Core, ring: Ring) -> None:
    """The old tree holds: who is above gets what it got before."""
    one = core.neighbours.get(ring.up)
    if one is not None and ring.up in core.forwarding.neighbours:
        core.forwarding.open(ring.up, everything=one.is_flooded)
