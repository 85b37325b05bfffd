"""Routing per edge, counted: against the exact simulator, and what must hold of any run."""

from __future__ import annotations

import numpy as np
import pytest

from sapwood.analysis.traffic.predicting import check_edges
from sapwood.analysis.traffic.tree import complete_tree
from sapwood.errors import ParameterError
from sapwood.protocol.optimize.edges.settings import EdgeRoutingSettings
from sapwood.routing.algorithms import FLOODING
from sapwood.sim.edge_routing.evaluation import Evaluation, Setup, excess
from sapwood.sim.flow import edges
from sapwood.sim.flow.edges import _Run

pytestmark = pytest.mark.timeout(600)
"""The first run compiles."""

PEAK = ((0.0, 20_000.0),)
SMALL = Setup(depth=3, scale=20.0, seconds=100, ramp=PEAK)
FIXED = EdgeRoutingSettings(choice="fixed", telling=("simple",), unit="messages")


@pytest.mark.slow
def test_one_seed_gives_one_result() -> None:
    first, again, other = (edges(SMALL._replace(seed=seed)) for seed in (1, 1, 2))
    assert first.seconds == again.seconds
    assert np.array_equal(first.floods, again.floods)
    assert first.seconds != other.seconds


def test_where_nothing_may_switch_it_is_simple_routing_or_flooding() -> None:
    simple = edges(SMALL._replace(settings=FIXED)).seconds
    assert [one.carried for one in simple] == [one.simple for one in simple]
    flooding = edges(SMALL._replace(settings=FIXED, start=FLOODING)).seconds
    assert [one.carried for one in flooding] == [one.flooding for one in flooding]


def test_edges_are_routed_so_that_nothing_is_missed() -> None:
    found = edges(SMALL)
    assert 0 < found.floods.sum() < found.floods.size
    check_edges(complete_tree(2, 4), found.floods)


def test_brokers_that_are_not_looked_at_would_switch_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """That a switch saves anything is asked first because it is quick, and changes nothing."""
    looked_at = edges(SMALL)
    monkeypatch.setattr(_Run, "_promising", lambda self: range(len(self.tree.brokers)))
    all_of_them = edges(SMALL)
    assert looked_at.seconds == all_of_them.seconds
    assert sum(one.switches for one in looked_at.seconds) > 0


@pytest.mark.slow
def test_the_exact_simulator_carries_as_much_and_floods_as_many_edges() -> None:
    """Clients are drawn by each for itself; after a minute all edges have been switched."""
    small = SMALL._replace(depth=2, seconds=70)
    exact = [Evaluation(small._replace(seed=seed)).run()[40:] for seed in range(4)]
    flow = [edges(small._replace(seed=seed)).seconds[40:] for seed in range(40)]
    for name in ("carried", "simple", "flooding", "flooded_edges"):
        means = [
            [np.mean([getattr(s, name) for s in run]) for run in runs] for runs in (exact, flow)
        ]
        errors = [np.std(one, ddof=1) / np.sqrt(len(one)) for one in means]
        away = abs(np.mean(means[0]) - np.mean(means[1]))
        assert away <= 4.5 * np.hypot(*errors), name


@pytest.mark.slow
def test_hybrid_routing_costs_hardly_more_than_the_cheaper_one() -> None:
    found = edges(Setup())
    assert excess(found.seconds) < 0.01
    assert max(one.flooded_edges for one in found.seconds) == pytest.approx(138, abs=4)


def test_arrivals_can_be_given_by_second() -> None:
    found = edges(SMALL._replace(settings=FIXED), [0.0] * 100)
    assert [one.simple for one in found.seconds] == [0] * 100


@pytest.mark.parametrize("rate", [-1.0, float("nan"), float("inf")])
def test_rates_that_are_none_are_refused(rate: float) -> None:
    with pytest.raises(ParameterError, match="arrival_rates"):
        edges(SMALL, [rate] * 100)
    with pytest.raises(ParameterError, match="publication_rate"):
        edges(SMALL._replace(publication_rate=rate))
    with pytest.raises(ParameterError, match="ramp"):
        edges(SMALL._replace(ramp=((0.0, rate),)))


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"groups": 0.1}, "groups"),
        ({"start": "merging"}, "'merging'"),
        ({"settings": EdgeRoutingSettings(choice="auto", unit="bytes")}, "unit"),
        ({"depth": 0}, "two levels"),
    ],
)
def test_what_cannot_be_counted_is_refused(changes: dict[str, object], named: str) -> None:
    with pytest.raises(ParameterError, match=named):
        edges(SMALL._replace(**changes))  # type: ignore[arg-type]  # by name
