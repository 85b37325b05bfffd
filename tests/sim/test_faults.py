"""Faults happen as a scenario says, once, and the same with the same seed."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from sapwood.filters.filter import Filter
from sapwood.protocol.messages import Subscribe
from sapwood.routing.algorithms import peer_to_peer
from sapwood.sim.faults import Disturbance, Faults, recall, remember
from sapwood.sim.network import Network
from sapwood.sim.run import Result, Simulation
from sapwood.sim.scenario import from_mapping
from sapwood.sim.scenario.faults import AnyFault, CrashFault, MessageFault, TableFault

FILTERS = [(Filter(text).id, text) for text in ("x = 1", "x = 2", "true")]
LINKS = [("B1", "B2"), ("B2", "B3")]


def network() -> Network:
    """B1 - B2 - B3 with a client at either end; c wants x = 1."""
    made = Network(Random(1))
    made.build_tree(LINKS, lambda random: 0.1, peer_to_peer(LINKS, "identity"))
    made.connect("c", "B1")
    made.connect("p", "B3")
    made.subscribe("c", "1", "x = 1", settle=False)
    made.kernel.run()
    return made


def tables(made: Network) -> dict[str, list[str]]:
    return {
        name: sorted(f"{one.destination} {one.filter}" for one in broker.subscriptions)
        for name, broker in made.brokers.items()
    }


RIGHT = {"B1": ["c x = 1"], "B2": ["B1 x = 1"], "B3": ["B2 x = 1"]}


def strike(made: Network, *faults: AnyFault, seed: int = 1) -> list[str]:
    """Let faults happen; whom they struck."""
    struck: list[str] = []
    Faults(made, Random(seed), lambda: FILTERS, struck.append).schedule(faults)
    made.kernel.run(made.kernel.now + 100.0)
    return struck


def test_a_crash_leaves_empty_tables_with_the_same_neighbours_and_clients() -> None:
    made = network()
    before = made.brokers["B2"]
    assert strike(made, CrashFault(at=1.0, brokers=["B2"])) == ["B2"]
    after = made.brokers["B2"]
    assert after is not before
    assert tables(made) == RIGHT | {"B2": []}
    assert after.neighbours.tree() == ["B1", "B3"]
    strike(made, CrashFault(at=1.0, brokers=["B1"]))
    assert list(made.brokers["B1"].clients) == ["c"]
    assert made.brokers["B1"].clients.claims("c", "subscribed") != {}


def test_what_is_under_way_to_a_broker_that_crashes_is_lost() -> None:
    made = network()
    made.subscribe("c", "2", "x = 2", settle=False)
    made.kernel.run(made.kernel.now + 0.05)
    made.restart("B2")
    hops = made.hops()
    made.kernel.run()
    assert tables(made) == {"B1": ["c x = 1", "c x = 2"], "B2": [], "B3": ["B2 x = 1"]}
    assert made.hops() == hops


def test_a_stale_state_is_that_of_some_time_ago() -> None:
    made = network()
    made.kernel.at(made.kernel.now + 5.0, made.subscribe, "c", "2", "x = 2", False)
    strike(made, CrashFault(at=9.0, brokers=["B1"], state="stale", age=6.0))
    assert tables(made)["B1"] == ["c x = 1"]


def test_a_spoilt_state_is_another_one() -> None:
    made = network()
    strike(made, CrashFault(at=1.0, brokers=["B1"], state="spoilt"), seed=3)
    assert tables(made)["B1"] != RIGHT["B1"]


def test_tables_are_spoilt_on_a_share_of_brokers() -> None:
    made = network()
    assert strike(made, TableFault(at=1.0, share=0.0)) == []
    assert tables(made) == RIGHT
    assert strike(made, TableFault(at=1.0), seed=2) == ["B1", "B2", "B3"]
    assert tables(made) != RIGHT
    assert len(strike(network(), TableFault(at=1.0, share=0.0001))) == 1


def test_a_state_can_be_kept_and_put_back() -> None:
    made = network()
    kept = remember(made.brokers["B2"])
    made.brokers["B2"].forget("B1")
    recall(made.brokers["B2"], kept)
    assert tables(made) == RIGHT
    made.kernel.run()
    assert tables(made) == RIGHT  # and nobody is told


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        ({"loss": 1.0}, []),
        ({"duplication": 1.0}, [1, 1]),
        ({}, [1]),
    ],
)
def test_notifications_are_lost_and_doubled(fault: dict[str, float], expected: list[int]) -> None:
    made = network()
    got: list[int] = []
    made.deliveries = lambda session, data: got.append(1)
    Disturbance(made, MessageFault(at=0.0, **fault), Random(1), FILTERS).begin()
    made.publish("p", {"x": 1})
    made.kernel.run()
    assert len(got) == len(expected) ** 2  # over two links


def test_messages_come_too_late_and_behind_what_was_sent_later() -> None:
    made = network()
    fault = MessageFault(at=0.0, seconds=1.0, late=1.0, late_seconds=7.0)
    Disturbance(made, fault, Random(1), FILTERS).begin()
    made.subscribe("c", "2", "x = 2", settle=False)
    made.kernel.run(made.kernel.now + 2.0)
    made.unsubscribe("c", "2", settle=False)
    made.kernel.run(made.kernel.now + 2.0)
    assert "B1 x = 2" not in tables(made)["B2"]
    made.kernel.run()
    assert "B1 x = 2" in tables(made)["B2"]  # its end came before it


def test_control_messages_are_changed_and_made_up() -> None:
    made = network()
    fault = MessageFault(at=0.0, seconds=1.0, corruption=1.0)
    Disturbance(made, fault, Random(4), FILTERS).begin()
    made.subscribe("c", "2", "x = 3", settle=False)
    made.kernel.run()
    assert "B1 x = 3" not in tables(made)["B2"] or "B2 x = 3" not in tables(made)["B3"]
    made = network()
    Disturbance(made, MessageFault(at=0.0, seconds=50.0, insertion=1.0), Random(1), FILTERS).begin()
    made.kernel.run()
    assert tables(made) != RIGHT


def test_when_a_fault_is_over_nothing_happens_any_more() -> None:
    made = network()
    Disturbance(made, MessageFault(at=0.0, seconds=1.0, loss=1.0), Random(1), FILTERS).begin()
    made.kernel.run(made.kernel.now + 2.0)
    made.subscribe("c", "2", "x = 2", settle=False)
    made.kernel.run()
    assert "B2 x = 2" in tables(made)["B3"]


def test_a_message_that_nobody_sent_arrives() -> None:
    made = network()
    made.insert("B3", "B2", Subscribe("?", "x = 9"))
    made.kernel.run()
    assert tables(made)["B1"] == ["B2 x = 9", "c x = 1"]


def run(seed: int, **faults: Any) -> Result:
    described = from_mapping(
        {
            "seed": seed,
            "duration": 20.0,
            "topology": {"shape": "tree", "brokers": 5},
            "stabilization": {"scheme": "lease-identity", "refresh_period": 5.0},
            "workload": {
                "type": "classes",
                "classes": 4,
                "arrival_rate": 0.5,
                "departure_rate": 0.05,
                "publication_rate": 2.0,
                "initial_subscriptions": 4,
            },
            "faults": [{"type": "tables", "at": 5.0}, {"type": "messages", "at": 8.0, "loss": 0.3}],
        }
    )
    return Simulation(described).run()


def test_a_seed_gives_one_run() -> None:
    first, again, other = run(1), run(1), run(2)
    assert first.summary() == again.summary()
    assert first.digest != other.digest
