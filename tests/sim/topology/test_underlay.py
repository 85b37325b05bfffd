"""The physical network: connected, heavy-tailed, linked by Waxman's probability, repeatable."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from random import Random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import ParameterError
from sapwood.protocol.spanning import spanning_tree
from sapwood.sim.topology import broker_names
from sapwood.sim.topology.underlay import (
    LIGHT_KM_PER_SECOND,
    SMALL_UNDERLAY,
    Underlay,
    UnderlayParameters,
    bounded_pareto,
    draw_underlay,
    link_nodes,
    place_brokers,
    place_nodes,
    waxman_probability,
)

THESIS = UnderlayParameters()


@pytest.fixture(scope="module")
def thesis() -> Underlay:
    return draw_underlay(THESIS, Random(1))


def reached(underlay: Underlay) -> set[int]:
    """The nodes that can be reached from the first."""
    beside: dict[int, list[int]] = {node: [] for node in range(len(underlay.node_positions))}
    for left, right, _, _ in underlay.links:
        beside[left].append(right)
        beside[right].append(left)
    found, todo = {0}, [0]
    while todo:
        for other in beside[todo.pop()]:
            if other not in found:
                found.add(other)
                todo.append(other)
    return found


@given(st.integers(1, 8), st.integers(1, 8), st.integers(1, 3), st.integers(0, 1000))
def test_a_network_is_connected_and_comes_from_its_seed(
    domains: int, nodes: int, links_per_node: int, seed: int
) -> None:
    parameters = UnderlayParameters(
        domains=domains, nodes_per_domain=nodes, links_per_node=links_per_node
    )
    underlay = draw_underlay(parameters, Random(seed))
    assert len(reached(underlay)) == domains * nodes
    assert underlay == draw_underlay(parameters, Random(seed))

    def links_of(count: int) -> int:
        return sum(min(links_per_node, earlier) for earlier in range(count))

    assert len(underlay.links) == domains * links_of(nodes) + links_of(domains)


@pytest.mark.slow
def test_the_network_of_the_thesis(thesis: Underlay) -> None:
    assert len(thesis.node_positions) == len(reached(thesis)) == 10_000
    between = [
        link for link in thesis.links if thesis.domain(link.left) != thesis.domain(link.right)
    ]
    assert (len(thesis.links) - len(between), len(between)) == (100 * 197, 197)
    assert all(0 <= place < 1000 for position in thesis.node_positions for place in position)
    longest = math.sqrt(2) * THESIS.plane_km / LIGHT_KM_PER_SECOND
    assert all(0 < link.delay < longest for link in thesis.links)


def test_a_link_between_domains_is_as_long_as_they_are_apart(thesis: Underlay) -> None:
    for left, right, delay, _ in thesis.links[-197:]:
        places = (thesis.domain_positions[thesis.domain(node)] for node in (left, right))
        assert delay == math.dist(*places) / LIGHT_KM_PER_SECOND


def test_bandwidths_are_heavy_tailed(thesis: Underlay) -> None:
    """The share above b is that of the bounded Pareto distribution."""
    bandwidths = [link.bandwidth for link in thesis.links]
    assert 10 <= min(bandwidths) <= max(bandwidths) <= 1024
    lowest = (10 / 1024) ** 1.2
    for bandwidth in (12, 20, 50, 100, 300):
        expected = ((10 / bandwidth) ** 1.2 - lowest) / (1 - lowest)
        share = sum(b > bandwidth for b in bandwidths) / len(bandwidths)
        tolerance = 4 * math.sqrt(expected * (1 - expected) / len(bandwidths))
        assert abs(share - expected) < tolerance


def fullest_share(parameters: UnderlayParameters) -> float:
    """The share of nodes in the fullest ten of a hundred squares, over fifty planes."""
    random, shares = Random(3), 0.0
    for _ in range(50):
        places = place_nodes(parameters, 100, random)
        squares = Counter((x // 100, y // 100) for x, y in places)
        shares += sum(number for _, number in squares.most_common(10)) / 100
    return shares / 50


def test_placement_is_heavy_tailed() -> None:
    """A tenth of the squares holds about half the nodes; evenly spread it would be a third."""
    assert fullest_share(THESIS) > 0.45
    assert fullest_share(msgspec.structs.replace(THESIS, placement_shape=100.0)) < 0.35


def test_waxman_probability_falls_with_the_distance() -> None:
    diagonal = math.sqrt(2) * 1000
    assert waxman_probability(THESIS, 0) == 0.15
    assert waxman_probability(THESIS, 0.2 * diagonal) == pytest.approx(0.15 / math.e)
    assert waxman_probability(THESIS, diagonal) == pytest.approx(0.15 * math.exp(-5))


def test_links_follow_the_waxman_probability() -> None:
    """The third node links once, and to the nearer of the two before it as often as it should."""
    parameters = UnderlayParameters(links_per_node=1)
    positions = [(0.0, 0.0), (500.0, 0.0), (100.0, 0.0)]
    random = Random(5)
    near = sum(list(link_nodes(parameters, positions, random))[1][0] == 0 for _ in range(4000))
    chances = waxman_probability(parameters, 100), waxman_probability(parameters, 400)
    expected = chances[0] / sum(chances)
    assert abs(near / 4000 - expected) < 4 * math.sqrt(expected * (1 - expected) / 4000)


@given(st.floats(0, 1), st.floats(0.5, 100), st.floats(1, 1000), st.floats(0.2, 5))
def test_a_pareto_value_keeps_to_its_bounds(
    share: float, lowest: float, factor: float, shape: float
) -> None:
    value = bounded_pareto(share, lowest, lowest * factor, shape)
    assert lowest <= value <= lowest * factor


def test_brokers_are_placed_on_nodes_of_their_own() -> None:
    underlay = draw_underlay(SMALL_UNDERLAY, Random(1))
    overlay = place_brokers(underlay, broker_names(48), Random(2))
    assert sorted(overlay.nodes) == list(range(48))
    assert overlay == place_brokers(underlay, broker_names(48), Random(2))


def test_what_an_overlay_link_would_be_like() -> None:
    """Delays are a metric; a tree of the cheapest links can be chosen from them."""
    underlay = draw_underlay(SMALL_UNDERLAY, Random(1))
    brokers = broker_names(12)
    overlay = place_brokers(underlay, brokers, Random(2))
    for a in brokers:
        assert (overlay.delay(a, a), overlay.hops(a, a)) == (0, 0)
        for b in brokers:
            assert overlay.delay(a, b) == overlay.delay(b, a) <= overlay.delay_max
            assert all(
                overlay.delay(a, b) <= overlay.delay(a, c) + overlay.delay(c, b) + 1e-12
                for c in brokers
            )
            if a != b:
                assert overlay.delay(a, b) > 0
                assert overlay.hops(a, b) >= 1
                assert 10 <= overlay.bandwidth(a, b) <= 1024
    candidates = list(overlay.candidates())
    assert len(candidates) == 66
    assert all(cost == overlay.delay(left, right) for left, right, cost in candidates)
    assert spanning_tree(brokers, candidates).brokers == brokers


@pytest.mark.slow
def test_a_hundred_brokers_on_the_network_of_the_thesis(thesis: Underlay) -> None:
    """Delays stay below the 100 ms of thesis 4.4.3."""
    overlay = place_brokers(thesis, broker_names(100), Random(2))
    delays = [cost for _, _, cost in overlay.candidates()]
    assert 0.01 < sum(delays) / len(delays) < 0.03
    assert max(delays) < 0.1


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (
            lambda: UnderlayParameters(domains=0),
            "domains: is 0; wanted a finite number, 1 or more",
        ),
        (
            lambda: UnderlayParameters(waxman_alpha=0),
            "waxman_alpha: is 0; wanted a probability above 0",
        ),
        (
            lambda: UnderlayParameters(waxman_beta=-1),
            "waxman_beta: is -1; wanted a finite number above 0",
        ),
        (
            lambda: UnderlayParameters(square_km=2000),
            "square_km: is 2000, above plane_km, 1000.0",
        ),
        (
            lambda: UnderlayParameters(bandwidth_min=2000),
            "bandwidth_min: is 2000, above bandwidth_max, 1024.0",
        ),
        (
            lambda: place_brokers(draw_underlay(SMALL_UNDERLAY, Random(1)), "AA", Random(1)),
            "brokers: names 'A' twice",
        ),
        (
            lambda: place_brokers(
                draw_underlay(SMALL_UNDERLAY, Random(1)), broker_names(49), Random(1)
            ),
            "brokers: 49 brokers do not fit on 48 nodes",
        ),
        (
            lambda: place_brokers(draw_underlay(SMALL_UNDERLAY, Random(1)), "A", Random(1)).delay(
                "A", "Z"
            ),
            "no broker 'Z' is placed on this underlay",
        ),
    ],
)
def test_what_is_wrong_is_named(make: Callable[[], object], problem: str) -> None:
    with pytest.raises(ParameterError) as caught:
        make()
    assert str(caught.value) == problem
