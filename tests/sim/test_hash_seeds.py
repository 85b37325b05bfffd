"""One seed gives one result, under any hash seed: everything drawn, digested in two processes."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

SCRIPT = """
import hashlib
from random import Random

from sapwood.protocol.spanning import spanning_tree
from sapwood.sim.topology.costs import UnderlayCosts, draw_processing_costs
from sapwood.sim.topology.delays import JitteredDelay, UnderlayDelay
from sapwood.sim.topology import SHAPES, make_topology, random_tree_of_degree
from sapwood.sim.topology.underlay import SMALL_UNDERLAY, draw_underlay, place_brokers
from sapwood.sim.workloads.classes import ClassParameters, ClassWorkload
from sapwood.sim.workloads.content import ContentParameters, ContentWorkload
from sapwood.sim.workloads.jobs import JobParameters, JobWorkload
from sapwood.sim.workloads.narrowing import NarrowingParameters, NarrowingWorkload

random = Random(7)
drawn = [make_topology(shape, 20, random) for shape in SHAPES]
drawn.append(random_tree_of_degree(20, 3, random))
brokers = drawn[0].brokers
underlay = draw_underlay(SMALL_UNDERLAY, random)
overlay = place_brokers(underlay, brokers, random)
drawn += [underlay, overlay.nodes, spanning_tree(brokers, overlay.candidates())]
drawn.append(JitteredDelay(UnderlayDelay(overlay), 0.1).link("B1", "B2").sample(random))
drawn.append(draw_processing_costs(brokers, random))
rates = dict(arrival_rate=5, departure_rate=0.1, publication_rate=5, publisher_lifetime=9)
workloads = [
    ClassWorkload(
        ClassParameters(**rates, classes_per_publisher=5, advertise=True, overlap=1), brokers
    ),
    ContentWorkload(ContentParameters(**rates, workload="mixed", filters=50, events=50), brokers),
    JobWorkload(
        JobParameters(locality=0.5, load_min=0.1, reassignment_interval=50),
        brokers,
        UnderlayCosts(overlay),
    ),
    NarrowingWorkload(NarrowingParameters(subscriptions=50), brokers),
]
for workload in workloads:
    drawn += workload.actions(random, 20)
print(len(drawn), hashlib.sha256(repr(drawn).encode()).hexdigest())
"""


def digest(hash_seed: int) -> str:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env={**os.environ, "PYTHONHASHSEED": str(hash_seed)},
        capture_output=True,
        text=True,
        check=True,
        timeout=100,
    )
    return done.stdout


@pytest.mark.slow
def test_the_hash_seed_makes_no_difference() -> None:
    first = digest(0)
    assert int(first.split()[0]) > 1000
    assert first == digest(1)
