"""A network of nodes whose brokers' derived state was spoilt, under load, is right again.

Entries are left alone here: to find out that they are wrong takes two brokers.
"""

from __future__ import annotations

from random import Random

import pytest

from expecting import expect_none
from marking import few, many
from sapwood.protocol.invariants import network_problems
from sapwood.protocol.stabilize.settings import StabilizationSettings
from sapwood.sim.faithful.network import FaithfulNetwork
from sapwood.testing.perturbing import perturb, walk
from sim.faithful.loading import client, sequences
from testing.classification import known
from testing.specimens import ROM

SETTINGS = StabilizationSettings(refresh_seconds=2.0, audit_seconds=5.0)
DERIVED = frozenset(field for field, kind in known().items() if kind in {"derived", "clamped"})


def spoil_network(seed: int, share: float) -> list[str]:
    """Spoil a share of the derived state of every broker; what is wrong with the network later."""
    random = Random(seed)
    routing = random.choice(("covering", "merging", "simple", "identity"))
    network = FaithfulNetwork(
        Random(seed),
        config={"stabilization": SETTINGS, "raises_faults": False, "routing": routing},
    )
    network.add_broker("B1")
    for name, other in (("B2", "B1"), ("B3", "B2"), ("B4", "B2")):
        network.add_broker(name, (other,))
    network.driver.run(10)
    readers = [client(network, f"r{n}.1", f"B{n}", f"n > {n}") for n in range(1, 5)]
    client(network, "w.1", "B4")
    network.driver.run(random.uniform(0.0, 6.0))
    done: list[str] = []
    for broker in network.brokers.values():
        for place in walk(broker, ROM):
            if place.field in DERIVED and random.random() < share:
                line = perturb(place, random)
                done += [] if line is None else [f"{broker.id} {line}"]
    network.publish("w.1", {"n": 3})
    network.driver.run(4 * SETTINGS.audit_seconds)
    network.driver.run_until(network.has_no_waves, 2.0)
    problems = [*network.problems(), *network_problems(network.brokers)]
    before = [len(sequences(one, "w.1")) for one in readers]
    network.publish("w.1", {"n": 9})
    network.driver.run(3)
    for reader, count in zip(readers, before, strict=True):
        if len(sequences(reader, "w.1")) != count + 1:
            problems.append(f"{reader.name} got {sequences(reader, 'w.1')}, {count} before")
    return [f"{one} (again: spoil_network({seed}, {share}), spoilt: {done})" for one in problems]


@pytest.mark.slow
@pytest.mark.parametrize("seed", few(range(6), quick=2))
def test_a_network_is_right_again(seed: int) -> None:
    expect_none(spoil_network(seed, (0.01, 0.1)[seed % 2]))


@pytest.mark.slow
@pytest.mark.parametrize("seed", many(range(6, 66), slow=20))
def test_more_networks_are_right_again(seed: int) -> None:
    expect_none(spoil_network(seed, (0.01, 0.05, 0.3)[seed % 3]))
