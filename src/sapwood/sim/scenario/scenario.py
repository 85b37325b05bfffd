"""Scenario files: everything about a run that is not its seed, in TOML.

Typed, and closed: an unknown key, an impossible value, a tree that is not one or a broker that does
not exist is an error that names the file, the key and what would be right. All of it is found when
the file is read, not in the middle of a run. The keys are in docs/reference/scenarios.md.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import msgspec

from sapwood.errors import ParameterError, RoutingError, ScenarioError, TopologyError
from sapwood.file_errors import text_of
from sapwood.protocol.spanning import spanning_tree
from sapwood.protocol.stabilize.published.bounds import Delays
from sapwood.protocol.tree import Topology
from sapwood.routing.algorithms import (
    ALGORITHMS,
    Edge,
    check_edge_routing,
    hierarchical,
    peer_to_peer,
)
from sapwood.sim.parameters import check_at_least, check_positive
from sapwood.sim.scenario.errors import choices, explained
from sapwood.sim.scenario.faults import AnyFault, MessageFault
from sapwood.sim.scenario.stabilization import OFF, StabilizationSection
from sapwood.sim.topology import SHAPES, complete_tree, make_topology
from sapwood.sim.topology.delays import (
    ConstantDelay,
    DelayModel,
    JitteredDelay,
    UnderlayDelay,
    UniformDelay,
    delay_bounds,
)
from sapwood.sim.topology.underlay import UnderlayParameters, draw_underlay, place_brokers
from sapwood.sim.workloads.action import Workload
from sapwood.sim.workloads.classes import ClassParameters, ClassWorkload
from sapwood.sim.workloads.content import ContentParameters, ContentWorkload
from sapwood.sim.workloads.jobs import JobParameters, JobWorkload
from sapwood.sim.workloads.narrowing import NarrowingParameters, NarrowingWorkload
from sapwood.trace.schema import RunSettings

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def _within(section: str) -> Iterator[None]:
    """Name the key in errors of the parts a section is built of."""
    try:
        yield
    except ParameterError as problem:
        raise ScenarioError(problem.problem, f"{section}.{problem.parameter}") from None
    except TopologyError as problem:
        raise ScenarioError(f"form no tree: {problem}", section) from None


class TopologySection(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The tree: a shape and a number of brokers, or its links, or links to choose a tree from."""

    shape: str | None = None
    brokers: int | None = None
    arity: int = 2
    """How many children a broker of the shape `tree` has."""
    links: list[tuple[str, str]] | None = None
    candidates: list[tuple[str, str, float]] | None = None
    """Links with their costs; the cheapest tree is chosen, the others carry nothing."""

    def __post_init__(self) -> None:
        given = [name for name in ("shape", "links", "candidates") if getattr(self, name)]
        if len(given) != 1:
            found = " and ".join(given) or "none of them"
            raise ScenarioError(
                f"needs one of shape, links, candidates; it has {found}", "topology"
            )
        if self.shape is None and self.brokers is not None:
            raise ScenarioError(f"goes with shape; here the {given[0]} say it", "topology.brokers")
        if self.shape is not None and self.brokers is None:
            raise ScenarioError("is missing: how many brokers the shape has", "topology.brokers")
        if self.shape is not None and self.shape not in SHAPES:
            raise ScenarioError(
                f"is {self.shape!r}; {choices(self.shape, SHAPES)}", "topology.shape"
            )
        if self.arity != 2 and self.shape != "tree":
            raise ScenarioError("goes with shape = 'tree' only", "topology.arity")

    def build(self, random: Random) -> Topology:
        """The tree."""
        if self.links is not None:
            with _within("topology.links"):
                return Topology(_named(self.links), tuple(self.links))
        if self.candidates is not None:
            with _within("topology.candidates"):
                return spanning_tree(_named(self.candidates), self.candidates)
        assert self.shape is not None
        assert self.brokers is not None
        with _within("topology"):
            if self.shape == "tree":
                return complete_tree(self.arity, count=self.brokers)
            return make_topology(self.shape, self.brokers, random)


def _named(links: Iterable[tuple[Any, ...]]) -> tuple[str, ...]:
    """The brokers that links name, in the order of their names' first use."""
    return tuple(dict.fromkeys(name for link in links for name in link[:2]))


class RoutingSection(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which algorithm the edges use."""

    algorithm: str = "covering"
    variant: Literal["peer-to-peer", "hierarchical"] = "peer-to-peer"
    root: str | None = None
    """The root of the hierarchical variant; the first broker unless given."""
    edges: dict[str, str] = {}
    """Exceptions, as "B1 -> B2" = "flooding": how B1 learns what to send to B2."""
    advertisements: Literal["off", "required"] = "off"
    advertisement_algorithm: str = "covering"

    def __post_init__(self) -> None:
        _check_algorithm("algorithm", self.algorithm, ALGORITHMS)
        for text, name in self.edges.items():
            _check_algorithm(f"edges.{text!r}", name, ALGORITHMS)
        _check_algorithm("advertisement_algorithm", self.advertisement_algorithm, ALGORITHMS)
        if self.root is not None and self.variant != "hierarchical":
            raise ScenarioError("goes with variant = 'hierarchical' only", "routing.root")

    def build(self, topology: Topology) -> dict[Edge, str]:
        """The algorithm of every directed edge."""
        routing = self._homogeneous(topology)
        for text, algorithm in self.edges.items():
            source, _, target = (part.strip() for part in text.partition("->"))
            if (source, target) not in routing:
                edges = [f"{left} -> {right}" for left, right in routing]
                problem = f"names no edge of the tree; {choices(text, edges, shown_max=6)}"
                raise ScenarioError(problem, f"routing.edges.{text!r}")
            routing[source, target] = algorithm
        try:
            check_edge_routing(routing)
        except RoutingError as problem:
            raise ScenarioError(f"would lose notifications: {problem}", "routing.edges") from None
        return routing

    def _homogeneous(self, topology: Topology) -> dict[Edge, str]:
        if self.variant == "peer-to-peer":
            return peer_to_peer(topology.links, self.algorithm)
        root = self.root or topology.brokers[0]
        if root not in topology.brokers:
            known = choices(root, topology.brokers, shown_max=6)
            raise ScenarioError(f"is {root!r}, which is no broker; {known}", "routing.root")
        return hierarchical(topology.links, self.algorithm, root)


def _check_algorithm(key: str, name: str, known: Iterable[str]) -> None:
    if name not in known:
        raise ScenarioError(f"is {name!r}; {choices(name, known)}", f"routing.{key}")


class UnderlayDelays(
    msgspec.Struct, frozen=True, kw_only=True, tag="underlay", forbid_unknown_fields=True
):
    """Delays of the shortest paths in a physical network that is drawn with the seed."""

    domains: int = 100
    nodes_per_domain: int = 100
    processing_seconds: float = 0.00001
    jitter: float = 0.0
    """Up to how many seconds more each message takes."""

    def __post_init__(self) -> None:
        self._parameters()
        check_at_least("processing_seconds", self.processing_seconds, 0)
        check_at_least("jitter", self.jitter, 0)

    def _parameters(self) -> UnderlayParameters:
        return UnderlayParameters(domains=self.domains, nodes_per_domain=self.nodes_per_domain)

    def build(self, topology: Topology, random: Random) -> DelayModel:
        """Draw the network, and place the brokers on it."""
        with _within("delay"):
            underlay = draw_underlay(self._parameters(), random)
            overlay = place_brokers(underlay, topology.brokers, random)
        return JitteredDelay(UnderlayDelay(overlay, self.processing_seconds), self.jitter)


class ClassesWorkload(ClassParameters, frozen=True, kw_only=True, tag_field="type", tag="classes"):
    """Classes of filters."""


class NarrowWorkload(
    NarrowingParameters, frozen=True, kw_only=True, tag_field="type", tag="narrowing"
):
    """Arrivals only, of ranges that overlap."""


class JobsWorkload(JobParameters, frozen=True, kw_only=True, tag_field="type", tag="jobs"):
    """Publishers with their own subscribers."""


class ContentsWorkload(
    ContentParameters, frozen=True, kw_only=True, tag_field="type", tag="content"
):
    """Filters over many attributes."""


AnyWorkload: TypeAlias = ClassesWorkload | NarrowWorkload | JobsWorkload | ContentsWorkload


class Scenario(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A run: where, how, and what happens."""

    name: str = "run"
    seed: int = 1
    duration: float = 60.0
    """Seconds in which clients act; the run goes on until everything has arrived."""
    settle: float = 2.0
    """Seconds a change takes at most to be in effect everywhere, for the checkers."""
    drivers: tuple[Literal["sim", "live"], ...] = ("sim",)
    """Which drivers the scenario is meant for."""
    links: Literal["perfect", "faithful"] = "perfect"
    """Whether brokers are joined by links that never fail, or are whole nodes over connections."""
    topology: TopologySection
    routing: RoutingSection = RoutingSection()
    delay: ConstantDelay | UniformDelay | UnderlayDelays = ConstantDelay()
    workload: AnyWorkload
    clients_at: Literal["brokers", "leaves"] = "brokers"
    """Where clients are: at all brokers, or only at those with a single link (thesis 3.3.3)."""
    settle_requests: bool = True
    """Whether clients ask to be told when what they did has taken effect."""
    stabilization: StabilizationSection = StabilizationSection()
    faults: tuple[AnyFault, ...] = ()

    def __post_init__(self) -> None:
        if not self.name:
            raise ScenarioError("is empty; traces are kept under it", "name")
        check_positive("duration", self.duration)
        check_positive("settle", self.settle)
        if self.routing.advertisements == "required" and not getattr(
            self.workload, "advertise", False
        ):
            raise ScenarioError(
                "is 'required', but the workload does not advertise, so all it publishes would be "
                "refused: set workload.advertise = true (classes, jobs, content), or 'off' here",
                "routing.advertisements",
            )
        if self.links != "perfect" and (self.faults or self.is_stabilized):
            key = "faults" if self.faults else "stabilization.scheme"
            raise ScenarioError("goes with links = 'perfect' only", key)

    @property
    def is_stabilized(self) -> bool:
        """Whether a scheme keeps the tables right."""
        return self.stabilization.scheme != OFF

    @property
    def edge_routing(self) -> RoutingSection:
        """How edges are routed: by the algorithm of the scheme, if it has one, on both layers."""
        algorithm = self.stabilization.algorithm
        if not algorithm:
            return self.routing
        return msgspec.structs.replace(
            self.routing, algorithm=algorithm, advertisement_algorithm=algorithm
        )

    def control_delays(self, topology: Topology, delays: DelayModel) -> Delays:
        """What bounds and periods depend on: how far control messages go, and how fast.

        In hierarchical routing subscriptions go towards the root only.
        """
        root = self.routing.root or topology.brokers[0]
        is_hierarchical = self.routing.variant == "hierarchical"
        distance = topology.height(root) if is_hierarchical else topology.diameter
        return Delays(distance, *delay_bounds(delays, topology))

    def check(self) -> None:
        """Build everything once, so that what is wrong is found before a run begins.

        A random tree may differ under another seed; what depends on it is checked again then.
        """
        topology = self.topology.build(Random(0))
        self.edge_routing.build(topology)
        self.clients(topology)
        for fault in self.faults:
            if not isinstance(fault, MessageFault):
                fault.check(topology.brokers)
        for period in self.stabilization.periods:
            for name in period.brokers:
                if name not in topology.brokers:
                    known = choices(name, topology.brokers, shown_max=6)
                    raise ScenarioError(f"names {name!r}; {known}", "stabilization.periods.brokers")
        if not isinstance(self.delay, UnderlayDelays):  # to draw one may take seconds
            self.check_settle(topology, self.delay)
            self.stabilization.lease(self.control_delays(topology, self.delay))

    def check_settle(self, topology: Topology, delays: DelayModel) -> None:
        """Refuse a settling time in which a change may not be in effect everywhere.

        An advertisement goes to the far end, and what it pulls comes back: twice the way.
        """
        needed = 2 * topology.diameter * delay_bounds(delays, topology)[1]
        if self.settle < needed:
            raise ScenarioError(
                f"is {self.settle}; on this tree a change may take {needed:g} seconds to be in "
                "effect everywhere, so it must be that at least",
                "settle",
            )

    def run_name(self, seed: int) -> str:
        """Under which the rows of a run are kept."""
        return f"{self.name}-{seed}"

    def run_settings(self) -> RunSettings:
        """What the checkers have to know of a run."""
        return RunSettings(
            settle_seconds=self.settle,
            advertisements_required=self.routing.advertisements == "required",
        )

    def delays(self, topology: Topology, random: Random) -> DelayModel:
        """The delays of links."""
        if isinstance(self.delay, UnderlayDelays):
            return self.delay.build(topology, random)
        return self.delay

    def clients(self, topology: Topology) -> Workload:
        """What clients do, at the brokers of a tree."""
        with _within("workload"):
            return self._workload(self._places(topology))

    def _places(self, topology: Topology) -> tuple[str, ...]:
        """The brokers that have clients."""
        if self.clients_at == "brokers" or len(topology.brokers) == 1:
            return topology.brokers
        return tuple(one for one in topology.brokers if len(topology.neighbours(one)) == 1)

    def _workload(self, brokers: tuple[str, ...]) -> Workload:
        workload = self.workload
        if isinstance(workload, ClassParameters):
            return ClassWorkload(workload, brokers)
        if isinstance(workload, NarrowingParameters):
            return NarrowingWorkload(workload, brokers)
        if isinstance(workload, JobParameters):
            return JobWorkload(workload, brokers)
        return ContentWorkload(workload, brokers)


def load(path: Path) -> Scenario:
    """Read a scenario file."""
    return parse(text_of(path, ScenarioError), str(path))


def parse(text: str, file: str = "scenario") -> Scenario:
    """A scenario from its text; `file` is named in errors."""
    try:
        return from_mapping(tomllib.loads(text))
    except tomllib.TOMLDecodeError as problem:
        raise ScenarioError(f"is not TOML: {problem}", file=file) from None
    except ScenarioError as problem:
        raise problem.in_file(file) from None


def from_mapping(values: Mapping[str, Any]) -> Scenario:
    """A scenario from its parts."""
    try:
        scenario = msgspec.convert(values, Scenario)
    except msgspec.ValidationError as problem:
        raise explained(problem, values, Scenario) from None
    scenario.check()
    return scenario


__all__ = ["Scenario", "from_mapping", "load", "parse"]
