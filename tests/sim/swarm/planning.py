"""A small case of the swarm with a plan of one's own."""

from __future__ import annotations

from sapwood.protocol.tree import Topology
from sapwood.sim.swarm.plan import Case, Do, Step, Variant
from sapwood.sim.topology.delays import ConstantDelay


def case_of(*steps: Step, advertisements: bool = False) -> Case:
    """Two brokers, a second apart at most, and these steps."""
    return Case(
        seed=1,
        topology=Topology(("A", "B"), (("A", "B"),)),
        delay=ConstantDelay(0.5),
        variant=Variant.PEER_TO_PEER,
        root="A",
        mix={},
        advertisements_required=advertisements,
        advertisement_algorithm="simple",
        settle=1.0,
        phases=(steps,),
        links_ever=(("A", "B"),),
    )


def published(at: float, expires_at: float = 0.0) -> Step:
    return Step(at, Do.PUBLISH, "P", attributes={"n": 1}, expires_at=expires_at)


BEGIN = (
    Step(0, Do.CONNECT, "P", "A"),
    Step(0, Do.CONNECT, "S", "B"),
    Step(0, Do.SUBSCRIBE, "S", "1", "n = 1"),
)
