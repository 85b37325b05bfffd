"""Rings with clients to try published ways on, and what becomes of many of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from random import Random
from typing import Any

import msgspec

from sapwood.protocol.reconfigure.exchange import Exchange
from sapwood.protocol.tree import Topology
from sapwood.sim.reconfiguring.setting import Outcome, Publication, Setting
from sapwood.sim.reconfiguring.world import MakeBroker, World
from sapwood.sim.topology import chain
from sapwood.sim.topology.delays import ConstantDelay, DelayModel, UniformDelay

VARIED = UniformDelay(0.05, 2.0)
TOPICS = 2
INNER = ((4, 2), (5, 3), (6, 3))
"""Lengths and places at which all four ends are different."""
SHARED_LEFT = ((3, 1), (4, 1), (5, 1))
SHARED_RIGHT = ((3, 2), (4, 3), (5, 4))
ALL = (*INNER, *SHARED_LEFT, *SHARED_RIGHT)

KINDS = ("lost", "duplicated", "unexpected", "out_of_order_fifo", "out_of_order_causal")


def ring_setting(
    n: int,
    k: int,
    seed: int = 0,
    delays: DelayModel = VARIED,
    *,
    off_ring: int = 2,
    detour: float = 1.0,
    answer_share: float = 0.3,
    publishing: bool = True,
    share: float = 0.7,
) -> Setting:
    """A chain of n brokers whose link k is exchanged for one between its ends; some beside it."""
    random = Random(f"ring {n} {k} {seed}")
    ring = chain(n)
    names, links = list(ring.brokers), list(ring.links)
    for number in range(off_ring):
        links.append((random.choice(names), f"X{number}"))
        names.append(f"X{number}")
    clients = {f"C{name}": name for name in names}
    subscriptions = [
        (client, f"topic = {topic}")
        for client in clients
        for topic in range(TOPICS)
        if random.random() < share
    ]
    busy = 8.0 * n + 10 * (detour - 1)
    publications, at = [], 0.0
    while publishing and (at := at + random.expovariate(1 / 0.6)) < busy:
        attributes: dict[str, Any] = {"topic": random.randrange(TOPICS)}
        publications.append(Publication(at, random.choice(list(clients)), attributes))
    return Setting(
        tree=Topology(tuple(names), tuple(links)),
        delays=delays,
        clients=clients,
        subscriptions=tuple(subscriptions),
        publications=tuple(publications),
        changes=(Exchange(ring.brokers, k),),
        change_at=2.0 * n,
        until=busy + 6 * detour * n,
        seed=seed,
        answer_share=answer_share,
        detour=detour,
    )


def with_churn(setting: Setting, seed: int) -> Setting:
    """The same, and clients subscribe and unsubscribe while the tree changes."""
    random = Random(f"churn {seed}")
    standing = set(setting.subscriptions)
    churn, at = [], setting.change_at
    while (at := at + random.expovariate(1.0)) < setting.change_at + 30:
        one = (random.choice(list(setting.clients)), f"topic = {random.randrange(TOPICS)}")
        churn.append((at, *one, one not in standing))
        standing ^= {one}
    return msgspec.structs.replace(
        setting, churn=tuple(churn), settle=60.0, until=setting.change_at + 120
    )


def kinds(outcome: Outcome) -> list[str]:
    """What is wrong with an outcome, in words."""
    found = [kind for kind in KINDS if getattr(outcome.verdict, kind)]
    return ["stuck"] * bool(outcome.stuck) + ["problems"] * bool(outcome.problems) + found


def sweep(make: MakeBroker, settings: Iterable[Setting]) -> Counter[str]:
    """How many runs were wrong in which way."""
    found: Counter[str] = Counter()
    for setting in settings:
        outcome = World(setting, make).run()
        found["runs"] += 1
        found.update(kinds(outcome))
    return found


def rings(cases: Iterable[tuple[int, int]], seeds: int, **options: Any) -> list[Setting]:
    """Settings of several lengths and seeds."""
    return [ring_setting(n, k, seed, **options) for n, k in cases for seed in range(seeds)]


UNIT = ConstantDelay(1.0)
