"""Whether tables are right: for every entry a reason, for every reason an entry (T3.1)."""

from __future__ import annotations

from random import Random

import pytest

from sapwood.filters.filter import Filter
from sapwood.protocol.clients import ADVERTISED, SUBSCRIBED
from sapwood.protocol.messages import Subscribe, Unsubscribe
from sapwood.routing.algorithms import hierarchical, peer_to_peer
from sapwood.routing.strategy import Entry
from sapwood.sim.network import Network
from sapwood.sim.recovery import Declared, Expectation, RecoveryWatch, problems
from sapwood.sim.topology import make_topology

EVERYTHING = Subscribe(Filter("true").id, "true")


def network(algorithm: str, *, root: str = "", **config: object) -> tuple[Network, RecoveryWatch]:
    """B1 - B2 - B3, with a client c at B1 that wants x = 1."""
    topology = make_topology("chain", 3, Random(1))
    made = Network(Random(1), config=config)
    links = list(topology.links)
    routing = hierarchical(links, algorithm, root) if root else peer_to_peer(links, algorithm)
    made.build_tree(links, lambda random: 0.1, routing)
    watch = RecoveryWatch(made.brokers, topology, lambda: made.kernel.now)
    made.watch = watch.touch
    made.connect("c", "B1")
    made.subscribe("c", "1", "x = 1", settle=False)
    declare(watch.expectation, "c", "B1", "x = 1")
    made.kernel.run()
    return made, watch


def declare(
    expectation: Expectation, session: str, broker: str, text: str, kind: str = SUBSCRIBED
) -> None:
    expectation.change(Declared(session, broker, kind, Filter(text)), required=1, allowed=1)


@pytest.mark.parametrize("algorithm", ["flooding", "simple", "identity", "covering", "merging"])
@pytest.mark.parametrize("root", ["", "B2", "B3"])
def test_tables_that_follow_from_what_clients_want_are_right(algorithm: str, root: str) -> None:
    made, watch = network(algorithm, root=root)
    made.connect("d", "B3")
    made.subscribe("d", "1", "x in (1, 2)", settle=False)
    declare(watch.expectation, "d", "B3", "x in (1, 2)")
    made.kernel.run()
    assert watch.problems() == []


def test_an_entry_that_nobody_wants_is_wrong() -> None:
    made, watch = network("identity")
    made.subscribe("c", "2", "x = 2", settle=False)
    made.kernel.run()
    assert watch.problems() == [
        "B1: subscribed x = 2 is held from c, where nobody wants it",
        "B2: subscribed x = 2 is held from B1, where nobody wants it",
        "B3: subscribed x = 2 is held from B2, where nobody wants it",
    ]


def test_what_is_wanted_and_not_held_is_wrong() -> None:
    made, watch = network("identity")
    made.brokers["B2"].forget("B1")
    assert watch.problems() == ["B2: subscribed x = 1 is not held from B1, where somebody wants it"]


def test_to_flood_is_wrong_though_clients_see_nothing_of_it() -> None:
    """Def. 6 is about what clients see; a configuration that floods is not right all the same."""
    made, watch = network("identity")
    broker = made.brokers["B2"]
    made.insert("B1", "B2", EVERYTHING)
    assert watch.problems()[0] == "B2: subscribed true is held from B1, where nobody wants it"
    assert len(broker.subscriptions) == 2


def test_on_an_edge_that_floods_nothing_is_held() -> None:
    made, watch = network("flooding")
    made.insert("B1", "B2", EVERYTHING)
    assert watch.problems() == ["B2: subscribed true is held from B1, where nobody wants it"]


def test_several_entries_together_may_be_what_is_wanted_and_the_other_way_round() -> None:
    made, watch = network("merging")
    made.subscribe("c", "2", "x = 2", settle=False)
    declare(watch.expectation, "c", "B1", "x = 2")
    made.kernel.run()
    held = [str(one.filter) for one in made.brokers["B3"].subscriptions]
    assert held == ["x in (1, 2)"]
    assert watch.problems() == []


def test_entries_of_strangers_are_wrong() -> None:
    made, watch = network("identity")
    broker = made.brokers["B3"]
    broker.add(broker.subscriptions, Entry("ghost", "1", Filter("x = 1")))
    assert list(problems(broker, watch.expectation)) == [
        "subscribed x = 1 is held from ghost, who is unknown"
    ]


def test_subscriptions_are_asked_for_only_towards_advertisements() -> None:
    made, watch = network("identity", advertisements_required=True)
    assert watch.problems() == []
    made.connect("p", "B3")
    made.advertise("p", "1", "x = 1", settle=False)
    declare(watch.expectation, "p", "B3", "x = 1", ADVERTISED)
    made.kernel.run()
    assert watch.problems() == []
    made.brokers["B2"].remove(made.brokers["B2"].subscriptions, "B1", Filter("x = 1").id)
    assert watch.problems() == ["B2: subscribed x = 1 is not held from B1, where somebody wants it"]


def test_the_watch_knows_since_when_everything_is_right() -> None:
    made, watch = network("identity")
    assert since(watch) == 0.2  # when B3 has heard of it
    made.kernel.run(5.0)
    made.insert("B1", "B2", EVERYTHING)
    made.kernel.run(6.0)
    assert since(watch) is None
    made.insert("B1", "B2", Unsubscribe(Filter("true").id))
    made.kernel.run(8.0)
    assert since(watch) == 6.1  # when B3 has heard of it


def since(watch: RecoveryWatch) -> float | None:
    watch.look()
    return watch.right_since
