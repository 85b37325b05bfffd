"""Everything at once: refresh, beacons, turning waves, swaps and routing per edge; the joint swarm.

Brokers move links by themselves and switch their edges as often as they can, while clients publish,
subscribe and unsubscribe, and a few exchanges are asked for. By its seed a run is one of four:

* *under load*: nothing fails. Nothing is lost, repeated or reordered, not even causally, and nobody
  is told of a loss.
* *outages*: connections break and come back. The same holds, as streams go on.
* *faults*: brokers and links fail, as in the swarm of the tree. Nobody stays locked, no circle
  carries, and afterwards one tree delivers everything once. What is published while nothing fails
  and the network is right, between two faults and for a while behind the last, is not lost,
  repeated or reordered, though links move and edges switch all the time.
* *static*: the same traffic goes on and on, with costs that stay. Changes of the tree and of edges
  die out, though nobody stops them; half of these runs have what brokers have counted, been told
  and decided spoilt on the way, and it does no lasting harm. In a quarter of them costs are not
  given but measured, over links whose delays vary all the time.

After every event of every broker the routing of edges is valid: no edge filters that has a flooding
successor (Eq. 1 of the paper on hybrid routing, generalised). Where links and brokers fail, a link
that joins what was apart begins as if nothing were known, and is valid within a second.

``python -m sapwood.sim.faithful.together --seed K`` does one seed again and says what is wrong.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Final, NamedTuple

import msgspec

from sapwood.protocol.optimize.edges.settings import EdgeRoutingSettings
from sapwood.protocol.optimize.settings import OptimizationSettings
from sapwood.routing.algorithms import FLOODING
from sapwood.sim.edge_routing.validity import invalid_edges
from sapwood.sim.faithful.driver import StuckError
from sapwood.sim.faithful.edge_switches import RESTLESS, disagreements, switches
from sapwood.sim.faithful.host import Host
from sapwood.sim.faithful.network import FaithfulNetwork
from sapwood.sim.faithful.redundant import LATE_SECONDS, WRONG_SECONDS, draw_plan
from sapwood.sim.faithful.spoilt_choices import ChoiceSpoiler
from sapwood.sim.faithful.swapping import REST_SECONDS, SwapRun, draw_settings, swaps_of
from sapwood.sim.faithful.swarm import RunawayError
from sapwood.sim.faithful.turning import FILTERS, FaultyRun, Wish, carrying
from sapwood.sim.faithful.undisturbed import SETTLE_SECONDS, Undisturbed
from sapwood.sim.seeds import Seeds

KINDS: Final = ("under load", "outages", "faults", "static")
"""What a run is like, by the remainder of its seed."""

OUTAGES: Final = 4
"""Connections that break in a run with outages."""

STATIC_SECONDS: Final = 50.0
"""How long nothing changes but what brokers change themselves."""

SPOILT_SECONDS: Final = 20.0
"""After so long of that everything that choices rest on is spoilt, in some runs."""

DELAYS: Final = (0.002, 0.019, 0.020, 0.021, 0.060)
"""Of links, where costs are measured: some differ much, and some by less than can be measured."""

JITTER: Final = 0.1
"""By which share of it messages take longer, in the mean."""

SPIKES: Final = 0.01
SPIKE: Final = 2.0
"""How many of them take much longer, and how many times as long."""

STILL_SECONDS: Final = 12.0
"""For so long at the end of it nothing may change any more."""

LOADED_SECONDS: Final = 8.0
"""How long clients go on publishing when all faults are over."""

BACK_SECONDS: Final = 60.0
"""Within so long after the tree is right all clients are back."""

VALID_SECONDS: Final = 1.0
"""After a fault, edges are valid again within so long."""

CALM: Final = EdgeRoutingSettings(
    choice="auto",
    telling=("simple", "identity", "covering", "merging"),
    period_seconds=1.0,
    window_seconds=3.0,
    hold_seconds=3.0,
    hold_max_seconds=96.0,
    payback_seconds=60.0,
)
"""The defaults with times ten times as short."""

SHOWN_MAX: Final = 3


class Watch:
    """Looks at a network after every event: at the routing of edges, and when choices were made."""

    def __init__(self, network: FaithfulNetwork) -> None:
        self.network = network
        self.invalid: list[str] = []
        """Edges that filter though a successor floods, with the time."""
        self.moved_at = 0.0
        """When a link was last moved by a broker's own choice."""
        self.switched_at = 0.0
        """When an edge was last switched by choice."""
        self._made: dict[str, tuple[int, int]] = {}
        network.driver.watch = self._look

    def _look(self, host: Host) -> None:
        nodes = self.network.nodes
        node = nodes.get(host.name)
        if node is None:
            return
        broker, now = node.broker, self.network.kernel.now
        made = broker.swapping.counts["completed"], broker.edge_choice.counts["done"]
        before = self._made.get(host.name, (0, 0))
        if made != before:
            self._made[host.name] = made
            if made[0] > before[0]:
                self.moved_at = now
            if made[1] > before[1]:
                self.switched_at = now
        around = {
            name: nodes[name].broker for name in (host.name, *broker.neighbours) if name in nodes
        }
        self.invalid += [f"at {now:.3f}: {one}" for one in invalid_edges(around)]


def symmetric_costs(names: Sequence[str], seed: int) -> dict[str, tuple[tuple[str, float], ...]]:
    """By broker: what its link to every other one costs, the same from both ends."""
    random = Random(f"costs {seed}")
    costs = {
        (one, other): random.uniform(1.0, 10.0) for one in names for other in names if one < other
    }
    return {
        one: tuple(
            (other, costs[min(one, other), max(one, other)]) for other in names if other != one
        )
        for one in names
    }


class LoadedRun(SwapRun):
    """Links are moved and edges are switched under load; connections may break and come back."""

    def __init__(self, seed: int, edges: EdgeRoutingSettings = RESTLESS, outages: int = 0) -> None:
        super().__init__(seed, edges=edges)
        if self.course.routing == FLOODING:
            self.course = self.course._replace(routing="identity")
        self.watch = Watch(self.network)
        self._outages = outages
        self._random = Random(f"together {seed}")
        self._costs = symmetric_costs(sorted(self.course.joins), seed)

    def _add_broker(self, name: str) -> None:
        course = self.course
        self.network.add_broker(
            name,
            course.joins[name],
            is_hidden=name in course.hidden,
            routing=course.routing,
            optimization=self._optimization(name),
        )

    def _optimization(self, name: str) -> OptimizationSettings:
        settings = draw_settings(self.course.seed)
        costs = self._costs[name] if settings.link_costs else ()
        return msgspec.structs.replace(settings, link_costs=costs)

    def _interest(self, name: str) -> str:
        return self._random.choice(FILTERS)

    def _start(self) -> None:
        """Clients begin to publish: connections break from now on, too."""
        super()._start()
        for _ in range(self._outages):
            at = self.kernel.now + self._random.uniform(0.0, self.course.seconds)
            self.kernel.at(at, self._break)

    def _is_answered(self) -> bool:
        """A swap whose ring floods in parts waits until it is told, for its time at most."""
        brokers = self.network.brokers.values()
        return super()._is_answered() and all(one.swapping.proposal is None for one in brokers)

    def _break(self) -> None:
        links = sorted(carrying(self.network))
        if links:
            self.network.cut(*self._random.choice(links))

    def _judge(self) -> Iterator[str]:
        yield from super()._judge()
        yield from self.watch.invalid[:SHOWN_MAX]
        if not self._outages:
            yield from disagreements(self.network.brokers)


class Noisy:
    """Delays of links that vary: each has its own, and messages take longer by chance."""

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def usual(self, one: str, other: str) -> float:
        """What the quickest message takes between two brokers."""
        return Random(f"delay {self._seed} {sorted((one, other))}").choice(DELAYS)

    def between(self, one: str, other: str) -> Callable[[Random], float]:
        """How long the next message takes."""
        usual = self.usual(one, other)
        return lambda random: (
            usual * (1 + random.expovariate(1 / JITTER) + SPIKE * (random.random() < SPIKES))
        )


class StaticRun(LoadedRun):
    """The same traffic for a long time: what brokers change dies out, whatever was spoilt."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed, CALM)
        self.course = self.course._replace(pace=0.2, seconds=STATIC_SECONDS, wishes=(), deeds=())
        self.is_spoilt = seed % (2 * len(KINDS)) == KINDS.index("static")
        self.is_noisy = seed % (4 * len(KINDS)) == len(KINDS) + KINDS.index("static")
        self.noisy = Noisy(seed)
        self.spoilt: list[str] = []

    def _optimization(self, name: str) -> OptimizationSettings:
        settings = draw_settings(self.course.seed)
        if self.is_noisy:
            usual = OptimizationSettings()
            return msgspec.structs.replace(
                settings,
                z=usual.z,
                cost_tolerance=usual.cost_tolerance,
                cost_resolution=usual.cost_resolution,
                degree_max=usual.degree_max,
                link_costs=(),
            )
        return msgspec.structs.replace(
            settings,
            z=2.0,
            degree_max=16,
            gain_min=1.0,
            costs="given",
            link_costs=self._costs[name],
            processing_cost=1.0,
        )

    def _start(self) -> None:
        super()._start()
        if self.is_spoilt:
            self.kernel.at(self.kernel.now + SPOILT_SECONDS, self._spoil)

    def _add_broker(self, name: str) -> None:
        super()._add_broker(name)
        if self.is_noisy:
            for other in self.network.sites:
                if other != name:
                    for route in self.network.driver.both_routes(name, other):
                        route.sample = self.noisy.between(name, other)

    def _spoil(self) -> None:
        spoiler = ChoiceSpoiler(self._random, sorted(self.network.nodes))
        for name, node in self.network.nodes.items():
            if self._random.random() < 0.7:
                spoiler.spoil(node, self.network.driver.hosts[name].read_clock(self.kernel.now))
                self.spoilt.append(name)

    def _judge(self) -> Iterator[str]:
        yield from super()._judge()
        last = self._until - STILL_SECONDS
        if self.watch.moved_at > last:
            yield f"a link is moved at {self.watch.moved_at:.1f}, long after anything has changed"
        if self.watch.switched_at > last:
            at = self.watch.switched_at
            yield f"an edge is switched at {at:.1f}, long after anything has changed"


class FaultyTogetherRun(FaultyRun):
    """Brokers and links fail while links are moved and edges are switched."""

    def __init__(self, seed: int) -> None:
        random = Random(f"faulty together {seed}")
        plan = draw_plan(seed)
        wishes = [Wish(random.uniform(2.0, plan.calm_at), random.random()) for _ in range(2)]
        super().__init__(
            plan,
            sorted(wishes),
            optimization=draw_settings(seed),
            edges=RESTLESS,
            routing="identity",
        )
        self._invalid_since: dict[str, float] = {}
        self.lasting: list[str] = []
        """Edges that were not valid for longer than both ends need to tell each other."""
        begun = [(at, at) for at in plan.starts.values()]
        ended = [(one.at, min(one.at + one.seconds, plan.calm_at)) for one in plan.faults]
        late = (plan.calm_at, plan.calm_at + 2 * LATE_SECONDS)
        self.undisturbed = Undisturbed([*begun, *ended, late])
        self._publish_until = plan.calm_at
        self._looked_at = 0.0

    def heal(self) -> float | None:
        """Let faults and changes happen; clients publish on when all of it is over."""
        healed_after = super().heal()
        if healed_after is not None:
            self._load()
        return healed_after

    def _load(self) -> None:
        """Nothing fails any more: links move and edges switch under load, until they rest."""
        driver, kernel = self.network.driver, self.kernel
        driver.run_until(lambda: not self.undisturbed.wants_look(kernel.now), BACK_SECONDS)
        self._publish_until = kernel.now + SETTLE_SECONDS + LOADED_SECONDS
        for session in self._there():
            self._publish(session)
        kernel.run(self._publish_until)
        driver.run(REST_SECONDS)

    def _publish(self, session: str) -> None:
        self._sent += 1
        self.network.publish(session, {"n": self._sent})
        at = self.kernel.now + 0.1
        if at < self._publish_until:
            self.kernel.at(at, self._publish, session)

    def _there(self) -> list[str]:
        """Clients whose brokers are up."""
        clients = self.network.clients
        return [name for name in clients if self._home(name) in self.network.nodes]

    def _look_for_rest(self) -> None:
        """Note when the network is right and all clients are back."""
        now = self.kernel.now
        if not self.undisturbed.wants_look(now) or now - self._looked_at < WRONG_SECONDS:
            return
        self._looked_at = now
        clients, there = self.network.clients, self._there()
        is_back = all(
            clients[name].is_connected and clients[name].subscriptions["all"].is_settled
            for name in there
        )
        if is_back and not any(True for _ in self._wrong()):
            reach = self._reach()
            self.undisturbed.right(now, {name: reach.find(self._home(name)) for name in there})

    def _look(self) -> None:
        """A link that heals a fault begins as if nothing were known: for a moment."""
        super()._look()
        self._look_for_rest()
        now, brokers = self.kernel.now, self.network.brokers
        joined = {
            name: broker
            for name, broker in brokers.items()
            if not self.network.driver.hosts[name].hangs and not broker.neighbours.withheld()
        }
        found = list(invalid_edges(joined))
        self._invalid_since = {one: self._invalid_since.get(one, now) for one in found}
        self.lasting += [
            f"since {since:.2f} until {now:.2f} at least: {one}"
            for one, since in self._invalid_since.items()
            if now - since > VALID_SECONDS
        ]

    def run(self) -> list[str]:
        """Everything that is wrong; nothing if it is all right."""
        problems = [*super().run(), *self.lasting[:SHOWN_MAX]]
        return [*problems, *self.undisturbed.judge(self.network.clients)]


def kind_of(seed: int) -> str:
    """What the run of a seed is like."""
    return KINDS[seed % len(KINDS)]


def draw_run(seed: int) -> LoadedRun | FaultyTogetherRun:
    """The run of a seed."""
    kind = kind_of(seed)
    if kind == "faults":
        return FaultyTogetherRun(seed)
    if kind == "static":
        return StaticRun(seed)
    return LoadedRun(seed, outages=OUTAGES if kind == "outages" else 0)


class Outcome(NamedTuple):
    """What a seed came to."""

    problems: list[str]
    swaps: Counter[str]
    edges: Counter[str]
    published: int


def outcome_of(seed: int) -> Outcome:
    """What the run of a seed came to."""
    run = draw_run(seed)
    try:
        problems = run.run()
    except (RunawayError, StuckError) as problem:
        problems = [f"it does not come to rest: {problem}"]
    published = sum(len(one.publications) for one in run.network.clients.values())
    return Outcome(problems, swaps_of(run.network), switches(run.network.brokers), published)


def problems_of(seed: int) -> list[str]:
    """Everything that is wrong with the run of a seed; nothing if it is all right."""
    return outcome_of(seed).problems


SEEDS: Final = Seeds("python -m sapwood.sim.faithful.together", __doc__, problems_of, kind_of)
command = SEEDS.command


def main(arguments: Sequence[str] | None = None) -> int:
    """Check one seed, or several from it on, and count what happened; 1 if something is wrong."""

    def counted(seed: int, tally: Counter[str]) -> list[str]:
        found = outcome_of(seed)
        tally.update(found.swaps)
        tally["switches"] += found.edges["told"] + found.edges["stopped"]
        tally["published"] += found.published
        return found.problems

    return SEEDS.main_counting(
        counted,
        "{completed} swaps completed, {undone} undone, "
        "{refused} refused, {switches} switches of edges, "
        "{published} publications",
        arguments,
    )


if __name__ == "__main__":
    sys.exit(main())
