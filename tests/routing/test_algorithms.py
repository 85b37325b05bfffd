"""Algorithms by name, and the mixes that are correct, against the rule tried on all edges."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from routing.near import seeds
from sapwood.errors import RoutingError
from sapwood.routing.algorithms import (
    ALGORITHMS,
    FLOODING,
    Edge,
    check_algorithm,
    check_edge_routing,
    hierarchical,
    peer_to_peer,
    strategy,
)

Links = list[tuple[str, str]]


def random_tree(random: Random) -> Links:
    brokers = [f"B{number}" for number in range(random.randint(1, 8))]
    return [
        (brokers[random.randrange(at)], brokers[at])
        if random.random() < 0.5
        else (brokers[at], brokers[random.randrange(at)])
        for at in range(1, len(brokers))
    ]


trees = seeds.map(lambda seed: random_tree(Random(seed)))
algorithms = st.sampled_from(list(ALGORITHMS))


def loses(routing: dict[Edge, str], links: Links) -> bool:
    """Whether some notification does not arrive, by letting interest and notification travel.

    A broker asks over an edge that does not flood only for what it knows is wanted: by its own
    clients, and by those who ask it over edges that do not flood.
    """
    brokers = {broker for link in links for broker in link}
    neighbours = {one: [b for a, b in routing if a == one] for one in brokers}

    def is_asked(source: str, target: str, subscriber: str) -> bool:
        """Whether notifications for a subscriber pass from a source to a target."""
        if routing[source, target] == FLOODING:
            return True
        return knows(target, source, subscriber)

    def knows(broker: str, asked: str, subscriber: str) -> bool:
        """Whether a broker has the subscription to tell it to another."""
        if broker == subscriber:
            return True
        return any(
            routing[broker, other] != FLOODING and knows(other, broker, subscriber)
            for other in neighbours[broker]
            if other != asked
        )

    def arrives(broker: str, came_from: str, subscriber: str) -> bool:
        if broker == subscriber:
            return True
        return any(
            is_asked(broker, other, subscriber) and arrives(other, broker, subscriber)
            for other in neighbours[broker]
            if other != came_from
        )

    return not all(arrives(one, "", other) for one in brokers for other in brokers)


@given(links=trees, seed=seeds)
def test_exactly_the_mixes_that_lose_are_refused(links: Links, seed: int) -> None:
    random = Random(seed)
    chance = random.choice([0.1, 0.5, 0.9])
    routing = {
        edge: FLOODING if random.random() < chance else random.choice(list(ALGORITHMS))
        for a, b in links
        for edge in ((a, b), (b, a))
    }
    follows_rule = not any(
        routing[i, j] != FLOODING and routing[k, m] == FLOODING
        for i, j in routing
        for k, m in routing
        if k == j and m != i
    )
    try:
        check_edge_routing(routing)
        is_accepted = True
    except RoutingError:
        is_accepted = False
    assert is_accepted == follows_rule
    assert is_accepted == (not loses(routing, links))


@given(links=trees, algorithm=algorithms)
def test_peer_to_peer_and_hierarchical_are_accepted(links: Links, algorithm: str) -> None:
    everywhere = peer_to_peer(links, algorithm)
    assert everywhere == {edge: algorithm for a, b in links for edge in ((a, b), (b, a))}
    check_edge_routing(everywhere)
    for root in sorted({broker for link in links for broker in link} or {"B0"}):
        towards = hierarchical(links, algorithm, root)
        assert towards.keys() == everywhere.keys()
        assert set(towards.values()) <= {algorithm, FLOODING}
        check_edge_routing(towards)


def test_hierarchical_floods_towards_the_root() -> None:
    assert hierarchical([("a", "b"), ("c", "b")], "simple", root="b") == {
        ("b", "a"): "simple",
        ("a", "b"): FLOODING,
        ("b", "c"): "simple",
        ("c", "b"): FLOODING,
    }


def test_a_wrong_mix_is_named_with_its_remedy() -> None:
    with pytest.raises(RoutingError) as refused:
        check_edge_routing({("a", "b"): "covering", ("b", "c"): FLOODING})
    assert str(refused.value) == (
        "edge a -> b uses covering, but behind it b -> c floods, so b does not learn what to ask "
        "for: let a -> b flood too, or b -> c not"
    )


@pytest.mark.parametrize(
    ("links", "root", "message"),
    [
        ([("a", "b")], "x", r"the root 'x' is not a broker of the tree; there are a, b"),
        ([("a", "b"), ("c", "d")], "a", r"2 links reach 2 brokers from 'a': that is no tree"),
        ([("a", "b"), ("b", "c"), ("c", "a")], "a", r"3 links reach 3 brokers .*close a cycle"),
        ([("a", "b"), ("b", "a")], "a", r"2 links reach 2 brokers"),
    ],
)
def test_hierarchical_needs_a_tree(links: Links, root: str, message: str) -> None:
    with pytest.raises(RoutingError, match=message):
        hierarchical(links, "simple", root)


def test_unknown_algorithms_are_refused_everywhere() -> None:
    message = (
        "no routing algorithm 'magic'; there are flooding, simple, identity, covering, merging"
    )
    calls = (
        lambda: check_algorithm("magic"),
        lambda: strategy("magic"),
        lambda: peer_to_peer([("a", "b")], "magic"),
        lambda: hierarchical([("a", "b")], "magic", "a"),
        lambda: check_edge_routing({("a", "b"): "magic"}),
    )
    for call in calls:
        with pytest.raises(RoutingError) as refused:
            call()
        assert str(refused.value) == message


@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_algorithm_has_a_strategy_of_its_own(name: str) -> None:
    assert type(strategy(name)) is ALGORITHMS[name]
    assert strategy(name) is not strategy(name)
