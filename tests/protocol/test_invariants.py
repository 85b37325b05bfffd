"""Each invariant holds of brokers as they are, and is found broken where it was broken."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.wiring import Line
from sapwood.filters.filter import Filter
from sapwood.protocol.broker import Broker
from sapwood.protocol.clients import SUBSCRIBED
from sapwood.protocol.effects import Effect
from sapwood.protocol.events import NeighbourAway, NeighbourBack
from sapwood.protocol.invariants import broker_problems, network_problems
from sapwood.protocol.messages import Advertise, Subscribe
from sapwood.protocol.restoration import Stale
from sapwood.protocol.waves import OpenRequest, Wave, Waves
from sapwood.routing.strategy import Entry

ENTRY = Entry("B1", "e", Filter("x = 5"))


def new_line() -> Line:
    network = Line(3, advertisements_required=True)
    network.connect("s.1", "B2")
    network.connect("p.1", "B1")
    network.subscribe("s.1", "a", "x > 1")
    network.advertise("p.1", "a", "x > 0")
    network.run()
    return network


def keep_request(broker: Broker) -> None:
    broker.waves.under_way.append(OpenRequest("settling", "gone", 1, 1.0))


def keep_wave(broker: Broker) -> None:
    broker.waves.by_origin["X"] = Wave((1, 1), "B9", {"B3"}, 0.0)


def keep_empty_wave(broker: Broker) -> None:
    broker.waves.by_origin["X"] = Wave((1, 1), "B3", set(), 0.0)


def disorder(broker: Broker) -> None:
    broker.waves.queue += [
        OpenRequest("settling", "s.1", 1, 2.0),
        OpenRequest("settling", "s.1", 2, 1.0),
    ]


BREAKS: list[tuple[Callable[[Broker], object], list[str]]] = [
    (
        lambda broker: broker.forwarding.remove("s.1", "s.1/a"),
        ["B2: s.1 s.1/a is in the table and not in the index"],
    ),
    (
        lambda broker: broker.forwarding.add(ENTRY),
        ["in the index and not in the table"],
    ),
    (
        lambda broker: broker.neighbours.pop("B3"),
        [
            "B2: notifications are forwarded to {'B1': False, 'B3': False}, not to {'B1': False}",
        ],
    ),
    (
        lambda broker: broker.clients.claim("s.1", SUBSCRIBED, "b", ENTRY.filter),
        ["B2: s.1 claims other subscriptions than the table holds for it"],
    ),
    (
        lambda broker: broker.advertisements.add(Entry("B9", "e", ENTRY.filter)),
        [
            "B2: advertisement e is there for B9, who is unknown",
            "B2: B1 was not told of advertisements",
        ],
    ),
    (
        lambda broker: broker.advertisements.add(Entry("B3", "e", ENTRY.filter)),
        [
            "B2: B3 is owed other subscriptions than follow from the entries",
            "B2: B1 was not told of advertisements",
        ],
    ),
    (lambda broker: broker.clients.add("B3"), ["B2: B3 is a client and a broker"]),
    (
        keep_request,
        [
            "B2: an answer is kept for gone, who is gone",
            "B2: requests wait for a wave that does not exist",
        ],
    ),
    (
        disorder,
        [
            "B2: requests are not in the order of their deadlines",
        ],
    ),
    (keep_wave, ["B2: the wave of X cannot be answered to B9"]),
    (keep_empty_wave, ["B2: the wave of X waits for []"]),
    (
        lambda broker: broker.subscriptions.ledgers["B1"].told.clear(),
        ["B2: the ledger of B1 is wrong about"],
    ),
    (
        lambda broker: setattr(broker.neighbours["B1"], "sends", "simple"),
        [
            "B2: B1 is owed other subscriptions than follow from the entries",
            "B2: B1 was not told that its edge uses simple",
        ],
    ),
    (
        lambda broker: broker.restoration.stale.update(B1=Stale(1.0, {"x": None}, {})),
        ["B2: x of B1 is stale, and not in the table"],
    ),
    (
        lambda broker: broker.restoration.untold.update(B1=None, B9=None),
        [
            "B2: B1 was not told that the table is complete",
            "B2: B9 waits for a complete table, and is no neighbour",
        ],
    ),
]


@pytest.mark.parametrize(("damage", "expected"), BREAKS)
def test_damage_to_a_broker_is_found(
    damage: Callable[[Broker], object], expected: list[str]
) -> None:
    broker = new_line().brokers["B2"]
    assert broker_problems(broker) == []
    damage(broker)
    found = broker_problems(broker)
    assert len(found) == len(expected)
    for problem, part in zip(found, expected, strict=True):
        assert part in problem


def test_a_network_at_rest_has_no_problems() -> None:
    assert network_problems(new_line().brokers) == []


def test_what_one_owes_and_the_other_does_not_hold_is_found() -> None:
    network = new_line()
    network.subscribe("s.1", "b", "y = 1")  # on its way to B1
    filter_id = Filter("y = 1").id
    assert network_problems(network.brokers) == [
        f"B1: holds subscription {filter_id} None from B2, who owes y = 1"
    ]


def test_what_one_holds_and_the_other_does_not_owe_is_found() -> None:
    network = new_line()
    broker = network.brokers["B1"]
    entry = Entry("B2", "e", Filter("y = 1"))
    broker.subscriptions.add(entry)
    broker.forwarding.add(entry)
    assert network_problems(network.brokers) == [
        "B1: holds subscription e y = 1 from B2, who owes None"
    ]


def test_a_link_that_only_one_end_knows_is_found() -> None:
    network = new_line()
    del network.brokers["B3"]
    assert network_problems(network.brokers) == ["B2: B3 does not know of their link"]


def test_a_wave_that_stays_behind_is_found() -> None:
    network = new_line()
    network.brokers["B2"].waves.by_origin["X"] = Wave((1, 1), "B1", {"B3"}, 0.0)
    assert network_problems(network.brokers) == ["B2: a wave of X never came back"]


def test_a_deadline_that_nobody_will_remember_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    broker = new_line().brokers["B2"]
    broker.waves.by_origin["B2"] = Wave((1, 1), None, {"B1"}, 0.0)
    broker.waves.under_way.append(OpenRequest("settling", "s.1", 1, 5.0))
    assert broker_problems(broker) == []
    monkeypatch.setattr(Waves, "next_at", None)
    assert broker_problems(broker) == [
        "B2: the next tick comes at None, but something is due at 5.0"
    ]


def test_what_is_withheld_is_no_problem() -> None:
    network = new_line()
    network.handle("B2", NeighbourAway("B1"))
    network.subscribe("s.1", "b", "x > 0")
    broker = network.brokers["B2"]
    assert list(broker.subscriptions.differences()) != []
    assert broker_problems(broker) == []


@pytest.mark.slow
@given(st.integers(0, 2**32), st.sampled_from(["simple", "identity", "covering", "merging"]))
def test_looking_changes_nothing(seed: int, algorithm: str) -> None:
    """Two equal networks, one of which is looked at all the time, say the same."""
    said = []
    for looks in (0, 2):
        network = Line(3, algorithm=algorithm, random=Random(seed), advertisements_required=True)
        random = Random(seed)
        for number in range(1, 4):
            network.connect(f"c{number}.1", f"B{number}")
        effects: list[Effect] = []
        for _ in range(30):
            client = f"c{random.randrange(1, 4)}.1"
            entry_id, least = str(random.randrange(4)), random.randrange(9)
            kind = Subscribe if random.random() < 0.5 else Advertise
            away = NeighbourAway if random.random() < 0.5 else NeighbourBack
            effects += network.ask(client, kind(entry_id, f"x > {least}", random.randrange(2)))
            effects += network.handle("B2", away("B1"))
            for _ in range(looks):
                network_problems(network.brokers)
                for broker in network.brokers.values():
                    broker_problems(broker)
                    broker.snapshot()
                    broker.reports()
            network.step()
        said.append(effects)
    assert said[0] == said[1]
