"""Reverse path forwarding on overlays with cycles (T3.16): once, and right again by the wrapper."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from sapwood.errors import TopologyError
from sapwood.protocol.stabilize.published.memory import Spoiler, Surroundings
from sapwood.sim.faults import recall, remember
from sapwood.sim.reverse_path import Links, ReversePaths, next_brokers
from sapwood.wire.frames import decode_envelope, decode_head, split

DELAY = 0.4
REFRESH = 20.0


def overlay(random: Random, count: int) -> Links:
    """A ring with chords: many ways between any two."""
    names = [f"B{number}" for number in range(1, count + 1)]
    links = [(names[number - 1], name) for number, name in enumerate(names)]
    chords = [(a, b) for a in names for b in names if a < b and random.random() < 0.2]
    return list(dict.fromkeys(tuple(sorted(link)) for link in (*links, *chords)))  # type: ignore[misc]


def running(seed: int, algorithm: str) -> ReversePaths:
    random = Random(seed)
    links = overlay(random, random.randint(4, 7))
    distance = max(
        len(path_to(next_brokers(links, root), name, root))
        for root in {name for link in links for name in link}
        for name in next_brokers(links, root)
    )
    network = ReversePaths(
        links,
        period=1.05 * (REFRESH + 2 * distance * DELAY),
        refresh=REFRESH,
        delay=lambda drawn: drawn.uniform(0.02, DELAY),
        algorithm=algorithm,
    )
    assert network.distance == distance
    for number, broker in enumerate(network.trees):
        network.connect(f"c{number}.1", broker)
        network.subscribe(f"c{number}.1", f"n >= {number}", random.uniform(0.0, REFRESH))
    return network


def path_to(found: dict[str, str], name: str, root: str) -> list[str]:
    path = [name]
    while path[-1] != root:
        path.append(found[path[-1]])
    return path[1:]


def publish_all(network: ReversePaths) -> list[str]:
    """Everybody publishes something; what did not come just once to whom it had to."""
    network.received.clear()
    clients = list(next(iter(network.trees.values())).clients)
    for number, client in enumerate(clients):
        network.publish(client, {"n": number})
    network.kernel.run(network.kernel.now + (network.distance + 1) * DELAY)
    got: Counter[tuple[str, str]] = Counter()
    for session, data in network.received:
        for _, head, body in split(data):
            assert decode_envelope(body).sequence
            got[decode_head(head)[0], session] += 1
    return [
        f"{publisher} came {got[publisher, reader]} times to {reader}"
        for sent, publisher in enumerate(clients)
        for wanted, reader in enumerate(clients)
        if got[publisher, reader] != (sent >= wanted)
    ]


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["simple", "identity", "covering", "merging"])
def test_on_cycles_everything_comes_once(algorithm: str) -> None:
    for seed in range(3):
        network = running(seed, algorithm)
        for _ in range(4):
            network.kernel.run(network.kernel.now + REFRESH)
            assert network.problems() == []
            assert publish_all(network) == []


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["simple", "identity", "covering", "merging"])
def test_the_wrapper_makes_every_tree_right_again_within_its_bound(algorithm: str) -> None:
    """Δg = 2π + d·δmax, d being the longest of the shortest paths (Eq. 3.10)."""
    for seed in range(3):
        network = running(seed, algorithm)
        network.kernel.run(3 * REFRESH)
        random = Random(seed)
        period = 0.0
        for tree in network.trees.values():
            for name, broker in tree.brokers.items():
                period = broker.settings.lease_period  # type: ignore[attr-defined]
                around = Surroundings(
                    now=network.kernel.now,
                    period=period,
                    destinations=[*broker.neighbours.tree(), *broker.clients],
                    neighbours=broker.neighbours.tree(),
                    filters=[(f"n >= {number}", f"n >= {number}") for number in range(9)],
                )
                recall(broker, Spoiler(random, around, 1.0).spoilt(remember(broker)))
                tree.look_at_clock(name)
        assert network.problems() != []
        network.kernel.run(network.kernel.now + 2 * period + network.distance * DELAY)
        assert network.problems() == []
        assert publish_all(network) == []


def test_a_broker_without_links_has_no_paths() -> None:
    with pytest.raises(TopologyError, match="'C' has no link"):
        next_brokers([("A", "B")], "C")
