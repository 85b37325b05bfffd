"""Bytes of a swap and of a removal (003, Figures 12b to 16): messages, and the tables they carry.

What the messages of a swap carry follows from where clients are: `swap_entries` counts it for any
size, and a run by brokers has to come to the same number. Sizes of messages, events and
subscriptions are those of 003; ours differ, so that it is the number of entries that is measured.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations, pairwise
from random import Random
from typing import Final, NamedTuple

import msgspec

from sapwood.experiments.claims import (
    Claim,
    fit,
    if_printed_size,
    judged,
    near,
    not_judged,
    within_interval,
)
from sapwood.experiments.curves import Curves, Observation, difference
from sapwood.experiments.experiment import Experiment, Figure, Parameters, Size
from sapwood.protocol.reconfigure.exchange import Exchange
from sapwood.protocol.reconfigure.published.changes import Leave
from sapwood.protocol.reconfigure.published.remove_broker import RemoveBroker
from sapwood.protocol.reconfigure.published.swap_link import SwapLink, roles
from sapwood.protocol.tree import Topology
from sapwood.sim.reconfiguring.setting import Outcome, Setting
from sapwood.sim.reconfiguring.setups import S003_PRINTED, TopicSetup
from sapwood.sim.reconfiguring.world import World
from sapwood.sim.topology.shapes import random_tree

MESSAGE, EVENT, SUBSCRIPTION = 18.8, 760.0, 770.0
"""Bytes of a message without tables, of an event, and of a subscription, in 003."""

SWAP_MESSAGES: Final = 13
SUBSCRIPTIONS: Final = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 10_000)
BROKERS: Final = (10, 20, 50, 100, 200, 500, 1000)
DELAYS: Final = (0.05, 0.1, 0.25, 0.75, 2.0, 5.0)
"""Seconds between two publications of a client."""

DEFAULT_SUBSCRIPTIONS, DEFAULT_BROKERS, DEFAULT_DELAY = 10, 100, 0.75
TOPICS, MANY_TOPICS = 1000, 10_000
MANY: Final = "with tables, 10,000 topics"
TRANSFER, NO_TRANSFER = "with tables", "without tables"
RANDOM, CHOSEN = "random swaps", "chosen swaps"
COUNTED, RUN = "counted", "by brokers"
CHOICES: Final = 20
"""Random swaps among which the cheapest is chosen."""


class Drawn(NamedTuple):
    """A network with clients, and what each broker's clients want together."""

    tree: Topology
    wanted: Mapping[str, frozenset[int]]
    clients: Mapping[str, Sequence[frozenset[int]]]
    """By broker: what each of its clients wants."""


def drawn(brokers: int, subscriptions: int, random: Random, topics: int = TOPICS) -> Drawn:
    """As many clients as brokers, at half of them; each wants so many topics."""
    tree = random_tree(brokers, random)
    serving = random.sample(tree.brokers, max(1, brokers // 2))
    clients: dict[str, list[frozenset[int]]] = {name: [] for name in tree.brokers}
    for _ in range(brokers):
        chosen = frozenset(random.sample(range(topics), min(subscriptions, topics)))
        clients[random.choice(serving)].append(chosen)
    wanted = {name: frozenset().union(*each) for name, each in clients.items()}
    return Drawn(tree, wanted, clients)


def random_swap(tree: Topology, random: Random) -> tuple[str, str, str]:
    """Broker a leaves b for c: any way over two links is as likely as any other."""
    middles = [name for name in tree.brokers if len(tree.neighbours(name)) > 1]
    weights = [math.comb(len(tree.neighbours(name)), 2) for name in middles]
    (middle,) = random.choices(middles, weights)
    moved, joined = random.sample(tree.neighbours(middle), 2)
    return moved, middle, joined


def swap_entries(
    tree: Topology, wanted: Mapping[str, frozenset[int]], swap: tuple[str, str, str]
) -> int:
    """Entries in the five messages of a swap that carry tables.

    a to b what is wanted beyond a; b to c that and what is wanted at b and beyond it; c to a and c
    to b what is wanted by the other two. Equal filters are one entry.
    """
    moved, middle, joined = swap
    of_a, of_c = (_beyond(tree, wanted, one, middle) for one in (moved, joined))
    others = [one for one in tree.neighbours(middle) if one not in swap]
    of_b = wanted[middle].union(*(_beyond(tree, wanted, one, middle) for one in others))
    return 2 * len(of_a) + len(of_b) + len(of_b | of_c) + len(of_a | of_c)


def _beyond(
    tree: Topology, wanted: Mapping[str, frozenset[int]], start: str, without: str
) -> frozenset[int]:
    seen, ahead = {without, start}, [start]
    for name in ahead:
        fresh = [other for other in tree.neighbours(name) if other not in seen]
        seen.update(fresh)
        ahead += fresh
    return frozenset().union(*(wanted[name] for name in ahead))


def swap_bytes(entries: float) -> float:
    """What a swap takes with tables of so many entries."""
    return SWAP_MESSAGES * MESSAGE + SUBSCRIPTION * entries


# Counted


def _counted(parameters: Parameters, seed: int) -> Iterator[Observation]:
    brokers, subscriptions = parameters["brokers"], parameters["subscriptions"]
    random = Random(f"bytes {brokers} {subscriptions} {seed}")
    found = drawn(brokers, subscriptions, random)
    measure, x = ("by brokers", brokers) if parameters["x"] == "brokers" else (
        "by subscriptions", subscriptions
    )  # fmt: skip
    entries = swap_entries(found.tree, found.wanted, random_swap(found.tree, random))
    yield Observation(measure, TRANSFER, float(x), swap_bytes(entries) / 1000)
    yield Observation(measure, NO_TRANSFER, float(x), swap_bytes(0) / 1000)
    if parameters["x"] == "subscriptions":
        many = drawn(brokers, subscriptions, random, MANY_TOPICS)
        entries = swap_entries(many.tree, many.wanted, random_swap(many.tree, random))
        yield Observation(measure, MANY, float(x), swap_bytes(entries) / 1000)
        leaves = [one for one in found.tree.brokers if len(found.tree.neighbours(one)) == 1]
        serving = [one for one in leaves if found.clients[one]]
        if serving:
            clients = found.clients[random.choice(serving)]
            yield Observation("clients of a leaf", COUNTED, float(x), float(len(clients)))
            carried = MESSAGE * (1 + 5 * len(clients)) + SUBSCRIPTION * len(clients) * x
            yield Observation("removal", TRANSFER, float(x), carried / 1000)
    if (brokers, subscriptions) == (DEFAULT_BROKERS, DEFAULT_SUBSCRIPTIONS):
        yield from _chosen(found, random)


def _chosen(found: Drawn, random: Random) -> Iterator[Observation]:
    """P3.8: the swap that shortens the tree most, beside a random one in the same network."""
    pairs = map(frozenset, combinations(found.tree.brokers, 2))
    delays = {pair: random.uniform(1.0, 5.0) for pair in pairs}

    def grows(swap: tuple[str, str, str]) -> float:
        moved, middle, joined = swap
        return delays[frozenset((moved, joined))] - delays[frozenset((moved, middle))]

    swaps = [random_swap(found.tree, random) for _ in range(CHOICES)]
    for line, swap in ((RANDOM, swaps[0]), (CHOSEN, min(swaps, key=grows))):
        size = swap_bytes(swap_entries(found.tree, found.wanted, swap))
        yield Observation("one swap", line, 0.0, size / 1000)


# By brokers


def _run(parameters: Parameters, seed: int) -> Iterator[Observation]:
    """A swap by brokers that send every message: entries beside what was counted; events."""
    setup = msgspec.convert(parameters["setup"], TopicSetup)
    setting = setup.setting(3, seed)
    (change,) = setting.changes
    wanted = {name: frozenset[int]() for name in setting.tree.brokers}
    for client, filter in setting.subscriptions:
        wanted[setting.clients[client]] |= {int(filter.split(" = ")[1])}
    assert isinstance(change, Exchange)
    counted = swap_entries(setting.tree, wanted, roles(change))
    plain, filtering = (
        World(setting, partial(SwapLink, is_filtering=filters)) for filters in (False, True)
    )
    outcomes = [one.run() for one in (plain, filtering)]
    yield Observation("entries", COUNTED, 0.0, float(counted))
    yield Observation("entries", RUN, 0.0, float(outcomes[0].entries))
    apart = setup.publish_period
    extra = plain.carried["Flooded"] - filtering.carried["Flooded"]
    yield Observation("flooded", RUN, apart, EVENT * extra / 1000)
    yield Observation("total", RUN, apart, swap_bytes(outcomes[0].entries) / 1000)
    removal = _removed(setting)
    if removal is not None:
        clients, outcome = removal
        messages = sum(outcome.coordination.values()) - 1
        yield Observation("removal messages", RUN, 0.0, messages / clients)
        yield Observation("removal entries", RUN, 0.0, outcome.entries / clients)


def _removed(setting: Setting) -> tuple[int, Outcome] | None:
    """A leaf with clients goes."""
    tree = setting.tree
    homes = set(setting.clients.values())
    leaves = [one for one in tree.brokers if len(tree.neighbours(one)) == 1 and one in homes]
    if not leaves:
        return None
    change = Leave(leaves[0], tree.neighbours(leaves[0])[0])
    leaving = msgspec.structs.replace(setting, changes=(change,), publications=())
    clients = sum(broker == leaves[0] for broker in setting.clients.values())
    return clients, World(leaving, RemoveBroker).run()


# Judged


def _judge_counted(curves: Curves) -> list[Claim]:
    total = curves.mean("by subscriptions", TRANSFER, DEFAULT_SUBSCRIPTIONS)
    share = 1 - curves.mean("by subscriptions", NO_TRANSFER, DEFAULT_SUBSCRIPTIONS) / total
    claims = [
        judged("P3-F12b", "share of tables in all bytes", share > 0.99, share, "> 0.99"),
        judged("P3-F12b", "kilobytes of a swap", 500 <= total <= 2000, total, "500 to 2,000"),
        *_judge_subscriptions(curves),
        *_judge_brokers(curves),
        *_judge_removal(curves),
    ]
    point = curves.at("one swap difference", difference(CHOSEN, RANDOM))
    text = "chosen swaps minus random ones, kilobytes"
    return [*claims, within_interval("P3.8", text, point, 0.0)]


def _judge_subscriptions(curves: Curves) -> Iterator[Claim]:
    line = {one.x: one.mean for one in curves.line("by subscriptions", TRANSFER)}
    slope = _log_slope([(x, y) for x, y in line.items() if x <= 100])
    text = "growth up to 100 subscriptions, log-log"
    why = "of 1,000 topics most are wanted by somebody from 20 subscriptions on"
    is_so = 0.8 <= slope <= 1.2
    yield judged("P3-F13", text, is_so, slope, "0.8 to 1.2", "" if is_so else why)
    many = [(one.x, one.mean) for one in curves.line("by subscriptions", MANY) if one.x <= 100]
    why = "with as many topics the bend is where it is in print; it was chosen after the fact"
    text = "the same with 10,000 topics"
    yield not_judged("P3-F13", text, "0.8 to 1.2", why, _log_slope(many))
    growth = line[1000.0] / line[100.0]
    yield judged("P3-F13", "from 100 to 1,000 subscriptions", growth < 2, growth, "< 2 times")
    flat = {one.mean for one in curves.line("by subscriptions", NO_TRANSFER)}
    yield judged("P3-F13", "constant without tables", len(flat) == 1, len(flat), 1)


def _judge_brokers(curves: Curves) -> Iterator[Claim]:
    line = [(one.x, one.mean) for one in curves.line("by brokers", TRANSFER)]
    rises = all(low[1] < high[1] for low, high in pairwise(line))
    yield judged("P3-F14", "rises with the number of brokers", rises, rises, True)
    first, last = _log_slope(line[:3]), _log_slope(line[-3:])
    text = "flattens: growth at the end and at the beginning, log-log"
    yield judged("P3-F14", text, last < first, [last, first], "less")


def _judge_removal(curves: Curves) -> Iterator[Claim]:
    bare = MESSAGE * 6 / 1000
    yield near("P3-F16", "kilobytes without subscriptions, one client", bare, 0.11, 0.05)
    line = [(one.x, one.mean) for one in curves.line("removal", TRANSFER)]
    slope = _log_slope([one for one in line if one[0] >= 10])
    text = "grows with the subscriptions, log-log"
    yield judged("P3-F16", text, 0.9 <= slope <= 1.1, slope, "0.9 to 1.1")
    most = line[-1][1] / 1000
    clients = curves.line("clients of a leaf", COUNTED)[-1].mean
    why = f"leaves with clients have {clients:.3g} of them in the mean; 7.7 MB for each"
    yield judged("P3-F16", "megabytes with 10,000 subscriptions", most > 10, most, "> 10", why)


def _log_slope(points: Sequence[tuple[float, float]]) -> float:
    return fit([(math.log(x), math.log(y)) for x, y in points])[0]


def _judge_run(curves: Curves) -> list[Claim]:
    counted, run = (curves.mean("entries", line) for line in (COUNTED, RUN))
    claims = [near("P3-F12b", "entries sent by brokers, as counted", run, counted)]
    value = curves.mean("removal messages", RUN)
    text = "messages of a removal for each client, between brokers"
    claims.append(near("P3-F16", text, value, 3.0))
    line = curves.line("flooded", RUN)
    slope, reach, straight = fit([(1 / one.x, one.mean) for one in line])
    is_so = straight >= 0.95 and slope - reach > 0
    value_text = f"R² {straight:.3f}, slope {slope:.3g} ± {reach:.2g}"
    text = "bytes of flooded events over publications a second"
    claims.append(
        if_printed_size(
            curves, judged("P3-F15", text, is_so, value_text, "a straight line that rises")
        )
    )
    share = curves.mean("flooded", RUN, DEFAULT_DELAY) / curves.mean("total", RUN, DEFAULT_DELAY)
    claims.append(
        judged("P3-F15", "share of flooded events, 750 ms", share < 0.01, share, "< 0.01")
    )
    entries = curves.mean("removal entries", RUN)
    why = "one for each of its subscriptions; equal ones of two clients are not one"
    return [*claims, not_judged("P3-F16", "entries for each client", "", why, entries)]


def _counting_points() -> list[Parameters]:
    return [
        *({"x": "subscriptions", "brokers": DEFAULT_BROKERS, "subscriptions": one}
          for one in SUBSCRIPTIONS),
        *({"x": "brokers", "brokers": one, "subscriptions": DEFAULT_SUBSCRIPTIONS}
          for one in BROKERS),
    ]  # fmt: skip


def _running_points(setup: TopicSetup) -> list[Parameters]:
    return [
        {"setup": msgspec.to_builtins(msgspec.structs.replace(setup, publish_period=one))}
        for one in DELAYS
    ]


EXPERIMENTS: Final = (
    Experiment(
        name="swap-bytes",
        title="Bytes of a swap and of a removal, counted",
        shows=("P3-F12b", "P3-F13", "P3-F14", "P3-F16", "P3.8"),
        setup="S003: as many clients as brokers, at half of them, each with some of 1,000 topics; "
        "identity-based routing. Entries of the tables are counted; a message takes 18.8 bytes, a "
        "subscription 770, as in 003. Where more than 1,000 subscriptions are asked for, a client "
        "wants all topics; a removal carries each of them. Chosen swaps: the one of 20 that "
        "shortens the tree most.",
        quick=Size(_counting_points(), 30, 0.5),
        full=Size(_counting_points(), 100, 2.0, is_printed=True),
        measure=_counted,
        judge=_judge_counted,
        figures=(
            Figure("P3-F13", "by subscriptions", "003, Figure 13: bytes of a swap",
                   "subscriptions of a client", "kilobytes", x_log=True, y_log=True),
            Figure("P3-F14", "by brokers", "003, Figure 14: bytes of a swap",
                   "brokers", "kilobytes", x_log=True, y_log=True),
            Figure("P3-F16", "removal", "003, Figure 16: bytes of removing a broker",
                   "subscriptions of a client", "kilobytes", x_log=True, y_log=True),
        ),
        pairs=(("one swap", CHOSEN, RANDOM),),
        cost=lambda parameters: parameters["brokers"] * parameters["subscriptions"],
    ),
    Experiment(
        name="swap-events",
        title="Events that a swap floods, by brokers",
        shows=("P3-F15",),
        setup="S003 by brokers that send every message (quick: 16 brokers): a swap as published "
        "beside one that filters, and the removal of a leaf. Events take 760 bytes.",
        quick=Size(_running_points(TopicSetup(answer_share=0.0)), 4, 0.5),
        full=Size(
            _running_points(msgspec.structs.replace(S003_PRINTED, answer_share=0.0)), 100, 30.0,
            is_printed=True,
        ),
        measure=_run,
        judge=_judge_run,
        figures=(
            Figure("P3-F15", "flooded", "003, Figure 15: events flooded during a swap",
                   "seconds between two publications of a client", "kilobytes", x_log=True),
        ),
    ),
)  # fmt: skip
