"""Routing algorithms beside each other: messages and entries, hierarchical, advertisements (T2)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from random import Random
from typing import Any, Final

from sapwood.experiments.claims import Claim, judged, near
from sapwood.experiments.curves import Curves, Observation, difference
from sapwood.experiments.experiment import Experiment, Figure, Parameters, Size
from sapwood.routing.algorithms import hierarchical, peer_to_peer
from sapwood.sim.network import Network
from sapwood.sim.run import Simulation
from sapwood.sim.scenario import from_mapping

SIMPLE, IDENTITY, COVERING, MERGING = "simple", "identity", "covering", "merging"
ALGORITHMS: Final = (SIMPLE, IDENTITY, COVERING, MERGING)
OVERLAPS: Final = (0, 1, 3)
WITH, WITHOUT = "with advertisements", "without"
LIFETIMES: Final = (5.0, 20.0, 80.0, 320.0)
"""Mean seconds that a publisher stays; subscriptions stay for 40."""

SUBSCRIPTION_SECONDS: Final = 40.0
SUBSCRIBING: Final = ("Subscribe", "Unsubscribe")


def sent(network: Network) -> Counter[str]:
    """Control messages over links, by kind."""
    found: Counter[str] = Counter()
    for one in (*network.directions.values(), *network.cut):
        found.update(one.control)
    return found


def _scenario(parameters: Parameters, **changes: Any) -> dict[str, Any]:
    return {
        "name": "routing algorithms",
        "duration": parameters["seconds"],
        "settle": 10.0,
        "settle_requests": False,
        "topology": {"shape": "random", "brokers": parameters["brokers"]},
        "delay": {"type": "constant", "delay": 0.01},
        **changes,
    }


# T2.1


def _compared(parameters: Parameters, seed: int) -> Iterator[Observation]:
    overlap = parameters["overlap"]
    messages, entries = {}, {}
    for algorithm in ALGORITHMS:
        scenario = _scenario(
            parameters,
            routing={"algorithm": algorithm},
            workload={
                "type": "classes", "classes": 20, "overlap": overlap, "arrival_rate": 2.0,
                "departure_rate": 1 / SUBSCRIPTION_SECONDS, "publication_rate": 1.0,
                "initial_subscriptions": 80,
            },
        )  # fmt: skip
        simulation = Simulation(from_mapping(scenario), seed, check=False, digest=False)
        result = simulation.run()
        messages[algorithm], entries[algorithm] = result.control_hops, result.table_entries
        yield Observation("messages", algorithm, float(overlap), float(result.control_hops))
        yield Observation("entries", algorithm, float(overlap), float(result.table_entries))
    for name, is_against in (
        ("identity sends more than simple", messages[IDENTITY] > messages[SIMPLE]),
        ("identity has more entries than simple", entries[IDENTITY] > entries[SIMPLE]),
        ("covering has more entries than identity", entries[COVERING] > entries[IDENTITY]),
        ("covering sends more than simple", messages[COVERING] > messages[SIMPLE]),
        ("merging sends more than simple", messages[MERGING] > messages[SIMPLE]),
    ):
        yield Observation("against", name, float(overlap), float(is_against))


def _judge_compared(curves: Curves) -> list[Claim]:
    claims = []
    for name in curves.lines("against"):
        points = curves.line("against", name)
        share = sum(one.mean for one in points) / len(points)
        is_theorem = not name.endswith("sends more than simple") or name.startswith(IDENTITY)
        expected = 0 if is_theorem else "seldom (below 0.5)"
        is_so = share == 0 if is_theorem else share < 0.5
        claims.append(judged("T2.1", f"share of runs in which {name}", is_so, share, expected))
    return claims


# T2.2

LINKS: Final = [
    ("B1", "B2"), ("B1", "B3"), ("B2", "B4"), ("B2", "B5"), ("B3", "B6"), ("B3", "B7"),
]  # fmt: skip
PUBLISHER, SUBSCRIBER = "B5", "B6"


def _seven(parameters: Parameters, seed: int) -> Iterator[Observation]:
    """One publisher and one subscriber: which brokers know of the subscription."""
    for line in ("hierarchical", "peer-to-peer", WITH):
        config = {"routing": SIMPLE, "settle_interval": 0.0}
        if line == WITH:
            config["advertisements_required"] = True
        network = Network(Random(seed), config)
        routing = (
            hierarchical(LINKS, SIMPLE, "B1")
            if line == "hierarchical"
            else peer_to_peer(LINKS, SIMPLE)
        )
        network.build_tree(LINKS, lambda random: 0.01, routing)
        network.connect("publisher", PUBLISHER)
        network.connect("subscriber", SUBSCRIBER)
        if line == WITH:
            network.advertise("publisher", "offer", "x >= 0", False)
            network.kernel.run()
        network.subscribe("subscriber", "wanted", "x = 1", False)
        network.kernel.run()
        for name in network.brokers:
            known = float(len(network.brokers[name].subscriptions) > 0)
            yield Observation("knows", f"{line}: {name}", 0.0, known)
        before = network.hops().notifications
        network.publish("publisher", {"x": 2})
        network.kernel.run()
        unwanted = network.hops().notifications - before
        yield Observation("links of an unwanted one", line, 0.0, float(unwanted))


def _judge_seven(curves: Curves) -> list[Claim]:
    claims = []
    for line, expected in (
        ("hierarchical", ("B1", "B3", "B6")),
        ("peer-to-peer", ("B1", "B2", "B3", "B4", "B5", "B6", "B7")),
        (WITH, ("B1", "B2", "B3", "B5", "B6")),
    ):
        found = [
            one.removeprefix(f"{line}: ")
            for one in curves.lines("knows")
            if one.startswith(f"{line}: ") and curves.mean("knows", one)
        ]
        is_so = sorted(found) == sorted(expected)
        claims.append(
            judged("T2.2", f"who has an entry, {line}", is_so, sorted(found), sorted(expected))
        )
    for line, links in (("hierarchical", 2.0), ("peer-to-peer", 0.0)):
        text = f"links that something unwanted passes, {line}"
        value = curves.mean("links of an unwanted one", line)
        claims.append(near("T2.2", text, value, links))
    return claims


# T2.3


def _advertised(parameters: Parameters, seed: int) -> Iterator[Observation]:
    lifetime = parameters["lifetime"]
    kinds = {}
    for line in (WITHOUT, WITH):
        scenario = _scenario(
            parameters,
            routing={
                "algorithm": IDENTITY, "advertisement_algorithm": IDENTITY,
                "advertisements": "required" if line == WITH else "off",
            },
            workload={
                "type": "classes", "classes": 20, "classes_per_publisher": 1, "publishers": 3,
                "publisher_lifetime": lifetime, "advertise": line == WITH, "arrival_rate": 2.0,
                "departure_rate": 1 / SUBSCRIPTION_SECONDS, "publication_rate": 1.0,
                "initial_subscriptions": 80,
            },
        )  # fmt: skip
        simulation = Simulation(from_mapping(scenario), seed, check=False, digest=False)
        simulation.run()
        kinds[line] = sent(simulation.network)
        asking = sum(kinds[line][one] for one in SUBSCRIBING)
        yield Observation("(un)subscriptions", line, lifetime, float(asking))
        yield Observation("all control messages", line, lifetime, float(kinds[line].total()))


def _judge_advertised(curves: Curves) -> list[Claim]:
    line = curves.line("(un)subscriptions difference", difference(WITHOUT, WITH))
    steady = [one for one in line if one.x >= SUBSCRIPTION_SECONDS]
    least = min(one.mean for one in steady)
    text = "(un)subscriptions saved by advertisements where publishers stay longer"
    claims = [judged("T2.3", text, least >= 0, least, "≥ 0")]
    fleeting = [one.mean for one in line if one.x < SUBSCRIPTION_SECONDS]
    text = "(un)subscriptions saved where publishers come and go faster than subscribers"
    why = (
        "an advertisement that comes pulls all matching subscriptions again: fewer messages is a "
        "theorem for publishers that stay only"
    )
    worst = min(fleeting)
    claims.append(judged("T2.3", text, worst >= 0, worst, "≥ 0", "" if worst >= 0 else why))
    totals = {
        one.x: one.mean
        for one in curves.line("all control messages difference", difference(WITHOUT, WITH))
    }
    longest, shortest = max(totals), min(totals)
    text = "control messages saved, publishers stay "
    claims.append(
        judged("T2.3", f"{text}{longest:g} s", totals[longest] > 0, totals[longest], "> 0")
    )
    less = totals[shortest] < totals[longest]
    text = f"fewer are saved, or more sent, where they stay {shortest:g} s"
    return [*claims, judged("T2.3", text, less, totals[shortest], f"< {totals[longest]:g}")]


def _sized(brokers: int, seconds: float, **sweep: tuple[float, ...]) -> list[Parameters]:
    ((name, values),) = sweep.items()
    return [{"brokers": brokers, "seconds": seconds, name: value} for value in values]


_ONCE: Final = Size(({},), 1, 0.1, is_printed=True)

EXPERIMENTS: Final = (
    Experiment(
        name="routing-algorithms",
        title="Messages and entries of the routing algorithms",
        shows=("T2.1",),
        setup="Random trees of 30 brokers (quick: 10), 20 classes whose filters take in 0, 1 or 3 "
        "neighbours on either side, subscriptions that come and go; the same for all algorithms.",
        quick=Size(_sized(10, 15.0, overlap=OVERLAPS), 2, 0.2),
        full=Size(_sized(30, 120.0, overlap=OVERLAPS), 30, 6.0, is_printed=True),
        measure=_compared,
        judge=_judge_compared,
        figures=(
            Figure("T2.1", "messages", "Control messages by overlap",
                   "classes that a filter takes in on either side", "messages"),
            Figure("T2.1-entries", "entries", "Entries in all tables at the end, by overlap",
                   "classes that a filter takes in on either side", "entries"),
        ),
        corrections=("Cancelling a cover may cost more than simple routing would.",),
    ),
    Experiment(
        name="routing-variants",
        title="Who knows of a subscription",
        shows=("T2.2", "T2.F3", "T2.F4"),
        setup="Seven brokers as a binary tree, B5 publishes, B6 subscribes; simple routing.",
        quick=_ONCE,
        full=_ONCE,
        measure=_seven,
        judge=_judge_seven,
        figures=(
            Figure("T2.2", "knows", "Brokers with an entry for the subscription", "", "has one",
                   is_bars=True),
        ),
    ),
    Experiment(
        name="advertisements",
        title="What advertisements save",
        shows=("T2.3",),
        setup="Random trees of 30 brokers (quick: 10), 20 classes, three publishers of one class "
        "each, who stay for 5 to 320 s; subscriptions stay for 40 s. Identity-based routing.",
        quick=Size(_sized(10, 60.0, lifetime=LIFETIMES), 3, 0.3),
        full=Size(_sized(30, 300.0, lifetime=LIFETIMES), 30, 10.0, is_printed=True),
        measure=_advertised,
        judge=_judge_advertised,
        figures=(
            Figure("T2.3", "all control messages", "Control messages with and without "
                   "advertisements", "seconds that a publisher stays in the mean", "messages",
                   x_log=True),
        ),
        pairs=(("(un)subscriptions", WITHOUT, WITH), ("all control messages", WITHOUT, WITH)),
    ),
)  # fmt: skip
