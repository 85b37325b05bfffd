"""Random cases for the swarm: a network, its routing and a plan, drawn from a seed alone."""

from __future__ import annotations

from random import Random

from sapwood.protocol.tree import Topology
from sapwood.routing.algorithms import ALGORITHMS, FLOODING, Edge, check_edge_routing
from sapwood.sim.swarm.plan import PHASE_SECONDS, TELLING, Case, Step, Variant
from sapwood.sim.swarm.planner import Planner
from sapwood.sim.topology.delays import ConstantDelay, UniformDelay
from sapwood.sim.topology.shapes import SHAPES, make_topology


def draw_case(seed: int) -> Case:
    """The case of a seed."""
    random = Random(f"swarm {seed}")
    topology = make_topology(random.choice(list(SHAPES)), random.randint(2, 16), random)
    delay = _draw_delay(random)
    variant = random.choices(list(Variant), (60, 20, 20))[0]
    advertisements = random.random() < 0.35
    settle = max(0.001, 2.02 * (len(topology.brokers) - 1) * delay.delay_max)
    # Without delays, what settles and what is published at one moment have no order.
    asks = delay.delay_max > 0
    planner = Planner(random, topology, advertisements=advertisements, asks=asks)
    phases = _draw_phases(random, planner, settle, variant)
    return Case(
        seed=seed,
        topology=topology,
        delay=delay,
        variant=variant,
        root=random.choice(topology.brokers),
        mix=_draw_mix(random, topology) if variant is Variant.MIXED else {},
        advertisements_required=advertisements,
        advertisement_algorithm=random.choice(list(ALGORITHMS)),
        settle=settle,
        phases=phases,
        links_ever=tuple(dict.fromkeys(planner.links_ever)),
    )


def _draw_phases(
    random: Random, planner: Planner, settle: float, variant: Variant
) -> tuple[tuple[Step, ...], ...]:
    links_move = ""
    if random.random() < 0.3:
        anywhere = variant is Variant.PEER_TO_PEER and random.random() < 0.5
        links_move = "elsewhere" if anywhere else "back"
    phases = []
    busy = random.randint(1, 2)
    for number in range(busy):
        length = min(PHASE_SECONDS / 4, settle * random.choice((0.5, 3, 10, 30)))
        count = 250 if planner.is_eager else random.choice((10, 40, 100))
        start = number * PHASE_SECONDS
        steps = [*planner.busy(start, length, count, links_move)]
        if random.random() < 0.8:
            steps += planner.repaired(start + PHASE_SECONDS / 2)
        phases.append(tuple(steps))
    phases.append(tuple(planner.calm(busy * PHASE_SECONDS, random.randint(5, 20))))
    return tuple(phases)


def _draw_delay(random: Random) -> ConstantDelay | UniformDelay:
    kind = random.choice(("constant", "uniform", "none", "hardly any", "uneven"))
    if kind in ("uniform", "uneven"):
        return UniformDelay(0.001, 0.251) if kind == "uniform" else UniformDelay(0.0, 1.0)
    return ConstantDelay({"constant": 0.025, "hardly any": 1e-6, "none": 0.0}[kind])


def _draw_mix(random: Random, topology: Topology) -> dict[Edge, str]:
    """A random valid mix: where an edge floods, all that lead to it flood too."""
    routing = {
        edge: random.choice(TELLING)
        for left, right in topology.links
        for edge in ((left, right), (right, left))
    }
    waiting = [edge for edge in routing if random.random() < 0.2]
    while waiting:
        source, target = waiting.pop()
        if routing[source, target] != FLOODING:
            routing[source, target] = FLOODING
            before = [other for other in topology.neighbours(source) if other != target]
            waiting += [(other, source) for other in before]
    check_edge_routing(routing)
    return routing
