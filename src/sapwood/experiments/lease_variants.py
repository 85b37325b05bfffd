"""Leases, periods and the wrapper in variants: T3.10, T3.12, T3.14 to T3.17."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from random import Random
from typing import Any, Final

from sapwood.experiments.claims import (
    Claim,
    above,
    if_printed_size,
    judged,
    not_judged,
    within_interval,
)
from sapwood.experiments.curves import Curves, Observation
from sapwood.experiments.experiment import Experiment, Figure, Parameters, Size
from sapwood.filters.filter import Filter
from sapwood.protocol.clients import SUBSCRIBED
from sapwood.protocol.config import BrokerConfig
from sapwood.protocol.stabilize.published.broker import PublishedBroker
from sapwood.protocol.stabilize.published.memory import Spoiler, Surroundings
from sapwood.protocol.stabilize.published.renewing import RenewalPlan
from sapwood.protocol.stabilize.published.settings import SchemeSettings
from sapwood.protocol.tree import Topology
from sapwood.routing.algorithms import hierarchical, peer_to_peer
from sapwood.sim.faults import recall, remember
from sapwood.sim.network import Network
from sapwood.sim.recovery import Declared, RecoveryWatch
from sapwood.sim.reverse_path import Links, ReversePaths, next_brokers
from sapwood.sim.run import Simulation
from sapwood.sim.scenario import from_mapping
from sapwood.wire.frames import decode_head, split

LEASE, WRAPPER = "lease-identity", "rebuild"
TOLD, EXPIRE = "told", "left to expire"
FAST, WHOLE = "fast zone", "whole network"
LARGE_FIRST, SMALL_FIRST = "large filter first", "small filter first"


def _workload(subscriptions: int, lifetime: float, **changes: Any) -> dict[str, Any]:
    return {
        "type": "classes", "classes": 10, "arrival_rate": subscriptions / lifetime,
        "departure_rate": 1 / lifetime, "publication_rate": 1.0,
        "initial_subscriptions": subscriptions, **changes,
    }  # fmt: skip


def _run(scenario: dict[str, Any], seed: int, measure_from: float = 0.0) -> tuple[Any, Any, Any]:
    """A run without faults: its simulation, and hops before and after what is measured."""
    simulation = Simulation(from_mapping(scenario), seed, check=False, digest=False)
    before = simulation.network.hops()
    is_begun = False

    def begin(at: float) -> None:
        nonlocal before, is_begun
        if not is_begun and at >= measure_from:
            before, is_begun = simulation.network.hops(), True

    simulation.run(begin)
    return simulation, before, simulation.network.hops()


# T3.10: periods of their own

ZONE: Final = ("B2", "B4", "B5")
ZONE_LINKS: Final = [
    ("B1", "B2"), ("B1", "B3"), ("B2", "B4"), ("B2", "B5"), ("B3", "B6"), ("B3", "B7"),
]  # fmt: skip
ZONE_DELAY: Final = 0.01
SLOW, SHORT = (20.0, 20.2), (4.0, 4.2)
"""Refresh and lease period of the network, and of the zone where it has its own."""

FAULT_AT: Final = 70.0


def _zones(parameters: Parameters, seed: int) -> Iterator[Observation]:
    """The brokers of a zone, and its clients, have short periods: it heals as much sooner.

    Hierarchical routing: brokers of the zone have entries of its own clients only.
    """
    for line, zone in ((WHOLE, SLOW), (FAST, SHORT)):
        after, bound = _healed_after(zone, seed), 2 * zone[1] + 2 * ZONE_DELAY
        yield Observation("late", line, 0.0, float(after > bound))
        yield Observation("bound", line, 0.0, bound)
        if math.isfinite(after):
            yield Observation("seconds", line, 0.0, after)
    plan = RenewalPlan(SLOW[0], rate=0.5, period_min=1.0)
    for count in (1, 10, 100, 10_000):
        yield Observation("renews after", "at most every 2 s", float(count), plan.seconds(count))


def _healed_after(zone: tuple[float, float], seed: int) -> float:
    """Seconds from when the tables of the zone are spoilt until they are right, and stay so."""
    random = Random(f"zones {seed}")
    phases = {name: random.random() for one in ZONE_LINKS for name in one}

    def make(config: BrokerConfig, **shared: Any) -> PublishedBroker:
        lease = zone[1] if config.id in ZONE else SLOW[1]
        settings = SchemeSettings(scheme=LEASE, lease_period=lease, phase=phases[config.id])
        return PublishedBroker(config, settings, **shared)

    network = Network(random, {"settle_interval": 0.0}, make_broker=make)
    routing = hierarchical(ZONE_LINKS, "identity", "B1")
    network.build_tree(ZONE_LINKS, lambda drawn: ZONE_DELAY, routing)
    topology = Topology(tuple(network.brokers), tuple(ZONE_LINKS))
    kernel = network.kernel
    inside = {name: network.brokers[name] for name in ZONE}
    watch = RecoveryWatch(inside, topology, lambda: kernel.now)
    network.watch = lambda name: watch.touch(name) if name in ZONE else None

    def renew(client: str, text: str, every: float) -> None:
        network.subscribe(client, text, text, False)
        kernel.at(kernel.now + every, renew, client, text, every)

    for number in range(16):
        home = ("B4", "B5", "B6", "B7")[number % 4]
        client, text = f"c{number}", f"n = {random.randrange(10)}"
        network.connect(client, home)
        every = zone[0] if home in ZONE else SLOW[0]
        declared = Declared(client, home, SUBSCRIBED, Filter(text))
        watch.expectation.change(declared, required=1, allowed=1)
        network.subscribe(client, text, text, False)
        kernel.at(random.uniform(0.0, every), renew, client, text, every)
    kernel.run(FAULT_AT)
    for name, broker in inside.items():
        around = Surroundings(
            now=kernel.now, period=zone[1], destinations=[*broker.neighbours.tree(),
            *broker.clients], neighbours=broker.neighbours.tree(),
            filters=[(Filter(f"n = {one}").id, f"n = {one}") for one in range(10)],
        )  # fmt: skip
        recall(broker, Spoiler(random, around, 1.0).spoilt(remember(broker)))
        network.look_at_clock(name)
        watch.touch(name)
    kernel.run(FAULT_AT + 5 * SLOW[1])
    watch.touch_all()
    watch.look()
    return float("inf") if watch.right_since is None else max(0.0, watch.right_since - FAULT_AT)


def _judge_zones(curves: Curves) -> list[Claim]:
    claims = []
    for line in (WHOLE, FAST):
        late, bound = curves.mean("late", line), curves.mean("bound", line)
        text = f"share of spoilt zones right later than {bound:g} s, periods of the {line}"
        claims.append(judged("T3.10", text, late == 0, late, 0))
    claims.append(
        above(curves, "T3.10", "right sooner than with one period for all", "seconds", WHOLE, FAST)
    )
    longest = max(one.mean for one in curves.line("renews after", "at most every 2 s"))
    text = "adaptive refresh: longest period, however many subscriptions"
    return [*claims, judged("T3.10", text, longest <= SLOW[0], longest, f"≤ {SLOW[0]:g}")]


# T3.12: how often a subscription is renewed


class _Counting(Network):
    """Counts what clients say."""

    said = 0

    def subscribe(self, *arguments: Any, **named: Any) -> int:
        """A client subscribes or renews."""
        self.said += 1
        return super().subscribe(*arguments, **named)


class _CountingSimulation(Simulation):
    network_type = _Counting


def _renewals(parameters: Parameters, seed: int) -> Iterator[Observation]:
    refresh, seconds, live = parameters["refresh"], 3000.0, 200
    scenario = {
        "name": "renewals",
        "duration": seconds,
        "settle_requests": False,
        "topology": {"shape": "star", "brokers": 3},
        "stabilization": {"scheme": LEASE, "refresh_period": refresh},
        "workload": _workload(live, 600.0, publication_rate=0.0),
    }
    simulation = _CountingSimulation(from_mapping(scenario), seed, check=False, digest=False)
    simulation.run()
    network = simulation.network
    assert isinstance(network, _Counting)
    sessions = sum(name.startswith("S") for name in simulation._sessions)  # noqa: SLF001
    renewed = (network.said - sessions) / seconds
    yield Observation("renewals", "", refresh, renewed / (live / 600.0))


def _judge_renewals(curves: Curves) -> list[Claim]:
    claims = []
    for refresh, expected in ((60.0, 10.0), (600.0, 1.0)):
        point = curves.at("renewals", "", refresh)
        text = f"renewals of a subscription that lasts 600 s, ρ = {refresh:g} s"
        claims.append(if_printed_size(curves, within_interval("T3.12", text, point, expected)))
    return claims


# T3.14: leases and the wrapper; the order of renewals


def _beside(parameters: Parameters, seed: int) -> Iterator[Observation]:
    for line in (LEASE, WRAPPER):
        scenario = {
            "name": "beside",
            "duration": 300.0,
            "settle_requests": False,
            "topology": {"shape": "tree", "brokers": 15},
            "delay": {"type": "constant", "delay": 0.01},
            "routing": {"algorithm": "identity"},
            "stabilization": {"scheme": line, "refresh_period": 20.0},
            "workload": _workload(parameters["subscriptions"], 1e9, arrival_rate=0.0, classes=100),
        }
        _, before, after = _run(scenario, seed, 60.0)
        yield Observation("messages", line, 0.0, (after.control - before.control) / 240.0)
    for scheme in ("lease-covering-1", "lease-covering-2"):
        for line, first in ((LARGE_FIRST, 0.0), (SMALL_FIRST, 0.5)):
            messages = _ordered_renewals(scheme, large_at=first, small_at=0.5 - first)
            yield Observation("covered", f"{scheme}, {line}", 0.0, messages)


def _ordered_renewals(scheme: str, *, large_at: float, small_at: float) -> float:
    """Messages a period, where a filter and one that covers it are renewed at given phases."""
    period, links = 20.0, [("B1", "B2"), ("B2", "B3"), ("B3", "B4")]

    def make(config: Any, **shared: Any) -> PublishedBroker:
        return PublishedBroker(config, SchemeSettings(scheme=scheme, lease_period=21.0), **shared)

    network = Network(Random(1), {"settle_interval": 0.0}, make_broker=make)
    network.build_tree(links, lambda random: 0.01, peer_to_peer(links, "covering"))
    filters = (("large", "x > 0", large_at), ("small", "x > 5", small_at))
    for name, _, _ in filters:
        network.connect(name, "B1")

    def renew(name: str, text: str) -> None:
        network.subscribe(name, text, text, False)
        network.kernel.at(network.kernel.now + period, renew, name, text)

    for name, text, at in filters:
        network.kernel.at(at, renew, name, text)
    network.kernel.run(5.5 * period)
    before = network.hops().control
    network.kernel.run(15.5 * period)
    return (network.hops().control - before) / 10


def _judge_beside(curves: Curves) -> list[Claim]:
    leases, wrapper = (curves.mean("messages", line) for line in (LEASE, WRAPPER))
    text = "identity: messages of the wrapper / of leases"
    ratio = wrapper / leases
    claims = [judged("T3.14", text, abs(ratio - 1) <= 0.05, ratio, "1 ± 5 %")]
    for scheme in ("lease-covering-1", "lease-covering-2"):
        large, small = (
            curves.mean("covered", f"{scheme}, {line}") for line in (LARGE_FIRST, SMALL_FIRST)
        )
        text = f"{scheme}: messages a period, large filter first, against the other order"
        claims.append(judged("T3.14", text, large <= small, large, f"≤ {small:g}"))
    return claims


# T3.15: two layers


def _layers(parameters: Parameters, seed: int) -> Iterator[Observation]:
    scenario = {
        "name": "two layers",
        "duration": 40.0,
        "topology": {"shape": "tree", "brokers": 7},
        "routing": {"advertisements": "required", "algorithm": "identity",
                    "advertisement_algorithm": "identity"},
        "stabilization": {"scheme": WRAPPER, "refresh_period": 15.0},
        "workload": _workload(10, 1e9, arrival_rate=0.0, publication_rate=0.0, publishers=3,
                              advertise=True, classes_per_publisher=3),
        "faults": [{"type": "tables", "at": 20.0, "share": 0.8}],
    }  # fmt: skip
    result = Simulation(from_mapping(scenario), seed, check=False, digest=False).run()
    after, bound = result.recovered_after, result.bound or 0.0
    yield Observation("late", "two layers", 0.0, float(after is None or after > bound))
    if after is not None:
        yield Observation("share of the bound", "two layers", 0.0, after / bound)


def _judge_layers(curves: Curves) -> list[Claim]:
    late = curves.mean("late", "two layers")
    text = "share of spoilt starts right later than 2 (2π + d·δmax)"
    return [judged("T3.15", text, late == 0, late, 0)]


# T3.16: cycles


def _cycles(parameters: Parameters, seed: int) -> Iterator[Observation]:
    """A ring with chords: every notification comes once to who wants it."""
    random = Random(seed)
    names = [f"B{number}" for number in range(1, parameters["brokers"] + 1)]
    ring = [(names[at - 1], name) for at, name in enumerate(names)]
    chords = [(a, b) for a in names for b in names if a < b and random.random() < 0.2]
    links: Links = list({frozenset(one): one for one in (*ring, *chords)}.values())
    delay, refresh = 0.4, 20.0
    distance = max(len(_path(links, root, name)) for root in names for name in names)
    network = ReversePaths(
        links, period=1.05 * (refresh + 2 * distance * delay), refresh=refresh,
        delay=lambda drawn: drawn.uniform(0.02, delay), algorithm=parameters["algorithm"],
    )  # fmt: skip
    for number, broker in enumerate(network.trees):
        network.connect(f"c{number}", broker)
        network.subscribe(f"c{number}", f"n >= {number}", random.uniform(0.0, refresh))
    network.kernel.run(refresh)
    for number in range(len(names)):
        network.publish(f"c{number}", {"n": number})
    network.kernel.run(network.kernel.now + (network.distance + 1) * delay)
    got = Counter(
        (decode_head(head)[0], session)
        for session, data in network.received
        for _, head, _ in split(data)
    )
    pairs = [(sent, wanted) for sent in range(len(names)) for wanted in range(len(names))]
    wrong = [one for one in pairs if got[f"c{one[0]}", f"c{one[1]}"] != (one[0] >= one[1])]
    line = parameters["algorithm"]
    yield Observation("not just once", line, 0.0, float(len(wrong)))
    yield Observation("links beyond a tree", line, 0.0, float(len(links) - len(names) + 1))
    yield Observation("wrong tables", line, 0.0, float(len(network.problems())))


def _path(links: Links, root: str, name: str) -> list[str]:
    following, path = next_brokers(links, root), []
    while name != root:
        name = following[name]
        path.append(name)
    return path


def _judge_cycles(curves: Curves) -> list[Claim]:
    claims = []
    for line in curves.lines("not just once"):
        wrong = sum(curves.mean(measure, line) for measure in ("not just once", "wrong tables"))
        text = f"deliveries on cyclic overlays that did not come just once, {line}"
        claims.append(judged("T3.16", text, wrong == 0, wrong, 0))
    return claims


# T3.17: unsubscriptions left to expire


def _expiring(parameters: Parameters, seed: int) -> Iterator[Observation]:
    for line, how in ((TOLD, "told"), (EXPIRE, "expire")):
        scenario = {
            "name": "expiring",
            "duration": 400.0,
            "clients_at": "leaves",
            "settle_requests": False,
            "topology": {"shape": "tree", "brokers": 15},
            "delay": {"type": "constant", "delay": 0.01},
            "routing": {"algorithm": "identity", "variant": "hierarchical"},
            "stabilization": {"scheme": LEASE, "refresh_period": 20.0, "unsubscriptions": how},
            "workload": _workload(parameters["subscriptions"], 30.0, publication_rate=20.0),
        }
        simulation, before, after = _run(scenario, seed, 60.0)
        kinds: Counter[str] = Counter()
        for one in simulation.network.directions.values():
            kinds.update(one.control)
        yield Observation("unsubscriptions", line, 0.0, kinds["Unsubscribe"] / 400.0)
        control = (after.control - before.control) / 340.0
        carried = (after.notifications - before.notifications) / 340.0
        yield Observation("control", line, 0.0, control)
        yield Observation("notifications", line, 0.0, carried)
        yield Observation("all", line, 0.0, control + carried)


def _judge_expiring(curves: Curves) -> list[Claim]:
    share = curves.mean("unsubscriptions", EXPIRE) / curves.mean("unsubscriptions", TOLD)
    halved = (1 + share) / 2
    why = (
        "an entry that expires is told as an unsubscription (N5), or tables would be wrong beyond "
        "the bound: of the unsubscriptions only the first link's are saved"
    )
    is_so = 0.4 <= halved <= 0.6
    text = "toggle messages, left to expire / told"
    claims = [
        judged("T3.17", text, is_so, halved, "about a half (0.4 to 0.6)", "" if is_so else why),
        above(curves, "T3.17", "more notifications", "notifications", EXPIRE, TOLD),
    ]
    net = curves.mean("all", EXPIRE) - curves.mean("all", TOLD)
    text = "all messages a second, left to expire minus told"
    value = f"{net:+.3g} of {curves.mean('all', TOLD):.3g}"
    why = "the thesis leaves the sign open"
    return [*claims, not_judged("T3.17", text, "either sign", why, value)]


def _subscribing(*counts: int) -> list[Parameters]:
    return [{"subscriptions": one} for one in counts]


def _full(points: list[Parameters], runs: int, minutes: float) -> Size:
    return Size(points, runs, minutes, is_printed=True)


_CYCLES: Final[list[Parameters]] = [
    {"brokers": 6, "algorithm": one} for one in ("simple", "identity", "covering", "merging")
]

EXPERIMENTS: Final = (
    Experiment(
        name="zones",
        title="Zones with periods of their own, and refresh that adapts",
        shows=("T3.10",),
        setup="Seven brokers, hierarchical, clients at the leaves; tables of one subtree are "
        "spoilt. It renews every 4 s instead of every 20 s.",
        quick=Size([{}], 6, 0.2),
        full=_full([{}], 200, 3.0),
        measure=_zones,
        judge=_judge_zones,
        figures=(
            Figure("T3.10", "seconds", "A spoilt zone is right again after", "", "seconds",
                   is_bars=True),
        ),
        pairs=(("seconds", WHOLE, FAST),),
    ),
    Experiment(
        name="renewals",
        title="How often a subscription is renewed",
        shows=("T3.12",),
        setup="200 subscriptions that last 600 s in the mean, for 3,000 s; the first renewal comes "
        "at any time within a period.",
        quick=Size([{"refresh": 60.0}, {"refresh": 600.0}], 3, 0.2),
        full=_full([{"refresh": 60.0}, {"refresh": 600.0}], 20, 3.0),
        measure=_renewals,
        judge=_judge_renewals,
        figures=(
            Figure("T3.12", "renewals", "Renewals of a subscription that lasts 600 s",
                   "refresh period, s", "renewals", x_log=True, y_log=True),
        ),
        corrections=("001 prints 10 (100); it is 10 (1).",),
    ),
    Experiment(
        name="leases-and-wrapper",
        title="Leases beside the generic wrapper, and the order of renewals",
        shows=("T3.14",),
        setup="15 brokers, identity-based, subscriptions that stay; and two filters, one of which "
        "covers the other, renewed in either order over a chain of four.",
        quick=Size(_subscribing(600), 3, 0.2),
        full=_full(_subscribing(600), 30, 2.0),
        measure=_beside,
        judge=_judge_beside,
        figures=(
            Figure("T3.14", "messages", "Control messages of both, without faults", "",
                   "messages a second", is_bars=True),
            Figure("T3.14-order", "covered", "A filter and one that covers it", "",
                   "messages a period", is_bars=True),
        ),
    ),
    Experiment(
        name="two-layers",
        title="The wrapper on subscriptions and advertisements",
        shows=("T3.15",),
        setup="Seven brokers, both tables of 80 % of them spoilt; advertisements are required.",
        quick=Size([{}], 10, 0.2),
        full=_full([{}], 300, 3.0),
        measure=_layers,
        judge=_judge_layers,
        figures=(
            Figure("T3.15", "share of the bound", "Right again, as a share of the bound", "",
                   "share", is_bars=True),
        ),
    ),
    Experiment(
        name="cycles",
        title="Reverse path forwarding on overlays with cycles, under the wrapper",
        shows=("T3.16",),
        setup="Rings of 6 brokers with chords; a tree for each broker that publishes.",
        quick=Size(_CYCLES, 2, 0.2),
        full=_full(_CYCLES, 30, 3.0),
        measure=_cycles,
        judge=_judge_cycles,
        figures=(
            Figure("T3.16", "links beyond a tree", "Links of the overlays beyond a tree", "",
                   "links", is_bars=True),
        ),
        corrections=("The thesis says acyclic where it means cyclic, and the reverse.",),
    ),
    Experiment(
        name="expiring",
        title="Unsubscriptions left to expire",
        shows=("T3.17",),
        setup="15 brokers, hierarchical, leases renewed every 20 s, subscriptions that last 30 s.",
        quick=Size(_subscribing(30), 3, 0.2),
        full=_full(_subscribing(30), 30, 3.0),
        measure=_expiring,
        judge=_judge_expiring,
        figures=(
            Figure("T3.17", "all", "All messages, where unsubscriptions are told or not", "",
                   "messages a second", is_bars=True),
        ),
        pairs=(("notifications", EXPIRE, TOLD),),
    ),
)  # fmt: skip
