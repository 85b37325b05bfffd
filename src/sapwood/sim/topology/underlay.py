"""A physical network to lay brokers on: domains of nodes, in the manner of BRITE.

The thesis draws its networks with BRITE's two-level top-down model (appendix A, Table A.1): a
hundred domains are placed on a plane and linked; each domain is a plane of its own with a hundred
nodes, linked in the same way; every link between domains joins a node of the one, chosen at random,
to a node of the other. Brokers are put on nodes at random, and what a link between two brokers
costs and how long it takes comes from the shortest path between their nodes (4.4.3, 5.6.1).

On a plane, nodes come one after the other, and each links to `links_per_node` earlier ones, chosen
by Waxman's probability. Three details are ours, since the thesis does not give them: nodes are
placed in squares whose shares follow a bounded Pareto distribution; a link between domains is as
long as the domains are apart, whichever nodes it joins; and delays are those of light in a vacuum
on a plane in kilometres.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from random import Random
from typing import NamedTuple

import msgspec

from sapwood.errors import ParameterError
from sapwood.protocol.spanning import Candidate
from sapwood.sim.parameters import check_at_least, check_brokers, check_order, check_positive
from sapwood.sim.topology.shortest import Paths, shortest_paths

LIGHT_KM_PER_SECOND = 299_792.458

Position = tuple[float, float]


class UnderlayParameters(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a network is drawn from; the defaults are those of Table A.1."""

    domains: int = 100
    """Number of domains (N of the upper level)."""

    nodes_per_domain: int = 100
    """Number of nodes in each domain (N of the lower level)."""

    plane_km: float = 1000.0
    """Side of each plane (HS)."""

    square_km: float = 100.0
    """Side of the squares a plane is divided into for placing nodes (LS)."""

    waxman_alpha: float = 0.15
    """Probability of a link between nodes at the same place. Where every node gets a fixed number
    of links, as here, it has no influence: only ratios of probabilities count."""

    waxman_beta: float = 0.2
    """How far links reach, in diagonals of the plane."""

    links_per_node: int = 2
    """How many earlier nodes each new one links to (m)."""

    placement_shape: float = 1.0
    """Exponent of the Pareto distribution of the squares' shares: smaller is more uneven."""

    bandwidth_min: float = 10.0
    """Least bandwidth of a link, in Mbit/s."""

    bandwidth_max: float = 1024.0
    """Largest bandwidth of a link, in Mbit/s."""

    bandwidth_shape: float = 1.2
    """Exponent of the Pareto distribution of bandwidths."""

    def __post_init__(self) -> None:
        for name in ("domains", "nodes_per_domain", "links_per_node"):
            check_at_least(name, getattr(self, name), 1)
        for name in ("plane_km", "square_km", "waxman_beta", "placement_shape", "bandwidth_min"):
            check_positive(name, getattr(self, name))
        check_positive("bandwidth_shape", self.bandwidth_shape)
        check_order("square_km", self.square_km, "plane_km", self.plane_km)
        check_order("bandwidth_min", self.bandwidth_min, "bandwidth_max", self.bandwidth_max)
        if not 0 < self.waxman_alpha <= 1:
            raise ParameterError(
                f"is {self.waxman_alpha}; wanted a probability above 0", "waxman_alpha"
            )


SMALL_UNDERLAY = UnderlayParameters(domains=6, nodes_per_domain=8)
"""A network of 48 nodes, for tests and examples."""


class UnderlayLink(NamedTuple):
    """A physical link; it leads both ways."""

    left: int
    right: int
    delay: float
    """Seconds."""
    bandwidth: float
    """Mbit/s."""


@dataclass(frozen=True)
class Underlay:
    """A physical network. Node n is in domain ⌊n / `nodes_per_domain`⌋."""

    parameters: UnderlayParameters
    domain_positions: tuple[Position, ...]
    """Where the domains lie on their plane, in km."""
    node_positions: tuple[Position, ...]
    """Where each node lies on the plane of its domain, in km."""
    links: tuple[UnderlayLink, ...]

    def domain(self, node: int) -> int:
        """The domain a node is in."""
        return node // self.parameters.nodes_per_domain


def draw_underlay(parameters: UnderlayParameters, random: Random) -> Underlay:
    """Draw a network; the same parameters and random numbers give the same one."""
    size = parameters.nodes_per_domain
    domain_positions = place_nodes(parameters, parameters.domains, random)
    node_positions: list[Position] = []
    links: list[UnderlayLink] = []
    for domain in range(parameters.domains):
        positions = place_nodes(parameters, size, random)
        for left, right in link_nodes(parameters, positions, random):
            ends = domain * size + left, domain * size + right
            links.append(_link(parameters, ends, (positions[left], positions[right]), random))
        node_positions += positions
    for left, right in link_nodes(parameters, domain_positions, random):
        ends = left * size + random.randrange(size), right * size + random.randrange(size)
        places = domain_positions[left], domain_positions[right]
        links.append(_link(parameters, ends, places, random))
    return Underlay(parameters, tuple(domain_positions), tuple(node_positions), tuple(links))


def place_nodes(parameters: UnderlayParameters, count: int, random: Random) -> list[Position]:
    """Put nodes on a plane: few squares are crowded, most are nearly empty."""
    side = max(1, int(parameters.plane_km // parameters.square_km))
    shares = [
        bounded_pareto(random.random(), 1.0, max(1.0, count), parameters.placement_shape)
        for _ in range(side * side)
    ]
    squares = random.choices(range(side * side), cum_weights=[*accumulate(shares)], k=count)
    square_km = parameters.plane_km / side
    return [
        (
            (square % side + random.random()) * square_km,
            (square // side + random.random()) * square_km,
        )
        for square in squares
    ]


def bounded_pareto(share: float, lowest: float, highest: float, shape: float) -> float:
    """The value below which that share of a bounded Pareto distribution lies.

    >>> bounded_pareto(0.0, 10, 1024, 1.2), round(bounded_pareto(0.5, 10, 1024, 1.2), 1)
    (10.0, 17.8)
    """
    above = 1 - share * (1 - math.pow(lowest / highest, shape))
    return min(highest, lowest * math.pow(above, -1 / shape))


def waxman_probability(parameters: UnderlayParameters, distance_km: float) -> float:
    """How likely two nodes that far apart are linked: alpha · exp(−d / (beta · L)) (Waxman 1988).

    L is the largest distance on the plane, its diagonal.
    """
    reach_km = parameters.waxman_beta * math.sqrt(2) * parameters.plane_km
    return parameters.waxman_alpha * math.exp(-distance_km / reach_km)


def link_nodes(
    parameters: UnderlayParameters, positions: Sequence[Position], random: Random
) -> Iterator[tuple[int, int]]:
    """Link each node to earlier ones, which keeps the network connected at every step.

    Choosing an earlier node evenly and linking to it with its probability, again and again until
    there are enough links, is the same as choosing by the probabilities in the first place.
    """
    for node in range(1, len(positions)):
        here = positions[node]
        chances = [
            waxman_probability(parameters, math.dist(here, positions[other]))
            for other in range(node)
        ]
        for _ in range(min(node, parameters.links_per_node)):
            (other,) = random.choices(range(node), chances)
            chances[other] = 0.0
            yield other, node


def _link(
    parameters: UnderlayParameters,
    ends: tuple[int, int],
    places: tuple[Position, Position],
    random: Random,
) -> UnderlayLink:
    bandwidth = bounded_pareto(
        random.random(),
        parameters.bandwidth_min,
        parameters.bandwidth_max,
        parameters.bandwidth_shape,
    )
    return UnderlayLink(*ends, math.dist(*places) / LIGHT_KM_PER_SECOND, bandwidth)


@dataclass(frozen=True)
class Overlay:
    """Brokers on the nodes of a network: what a link between any two of them would be like."""

    underlay: Underlay
    brokers: tuple[str, ...]
    nodes: tuple[int, ...]
    """The node of each broker."""

    @cached_property
    def _paths(self) -> Paths:
        return shortest_paths(len(self.underlay.node_positions), self.underlay.links, self.nodes)

    @cached_property
    def _index(self) -> dict[str, int]:
        return {broker: index for index, broker in enumerate(self.brokers)}

    def _between(self, left: str, right: str) -> tuple[int, int]:
        try:
            return self._index[left], self._index[right]
        except KeyError as unknown:
            name = unknown.args[0]
            raise ParameterError(f"no broker {name!r} is placed on this underlay") from None

    def delay(self, left: str, right: str) -> float:
        """Seconds from broker to broker on the shortest path, the same in both directions."""
        return float(self._paths.length[self._between(left, right)])

    def bandwidth(self, left: str, right: str) -> float:
        """The narrowest bandwidth on that path, in Mbit/s."""
        return float(self._paths.narrowest[self._between(left, right)])

    def hops(self, left: str, right: str) -> int:
        """How many physical links that path has."""
        return int(self._paths.hops[self._between(left, right)])

    @cached_property
    def delay_max(self) -> float:
        """The longest delay between any two brokers, in seconds."""
        return float(self._paths.length.max())

    def candidates(self) -> Iterator[Candidate]:
        """Every possible link with its delay as cost, for choosing a spanning tree."""
        delays = self._paths.length.tolist()
        for index, left in enumerate(self.brokers):
            for other in range(index + 1, len(self.brokers)):
                yield Candidate(left, self.brokers[other], delays[index][other])


def place_brokers(underlay: Underlay, brokers: Sequence[str], random: Random) -> Overlay:
    """Put each broker on a node of its own, every node equally likely."""
    check_brokers("brokers", brokers)
    nodes = len(underlay.node_positions)
    if len(brokers) > nodes:
        raise ParameterError(f"{len(brokers)} brokers do not fit on {nodes} nodes", "brokers")
    return Overlay(underlay, tuple(brokers), tuple(random.sample(range(nodes), len(brokers))))
