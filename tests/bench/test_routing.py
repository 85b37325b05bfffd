"""The benchmark of routing: the order of the algorithms that the papers claim."""

from __future__ import annotations

import pytest

from sapwood.bench.registry import Options
from sapwood.bench.routing import run, scenario
from sapwood.routing.algorithms import ALGORITHMS


def test_a_scenario_is_the_same_but_for_its_routing() -> None:
    first, second = (
        scenario("simple", "hierarchical", True),
        scenario("merging", "hierarchical", True),
    )
    assert first.workload == second.workload
    assert first.topology == second.topology
    assert (first.routing.algorithm, second.routing.algorithm) == ("simple", "merging")


@pytest.mark.slow
def test_filtering_algorithms_share_their_traffic_and_shrink_their_tables() -> None:
    report = run(Options(quick=True), lambda message: None)
    assert report.is_right
    for variant in ("peer-to-peer", "hierarchical"):
        figures = {name: report.figures[f"{name} {variant}"] for name in ALGORITHMS}
        filtering = ["simple", "identity", "covering", "merging"]
        assert len({figures[name]["notification_hops"] for name in filtering}) == 1
        assert figures["simple"]["notification_hops"] <= figures["flooding"]["notification_hops"]
        entries = [figures[name]["table_entries"] for name in filtering]
        assert entries == sorted(entries, reverse=True)
        assert figures["identity"]["control_hops"] <= figures["simple"]["control_hops"]
        assert len({figures[name]["delivered"] for name in ALGORITHMS}) == 1
