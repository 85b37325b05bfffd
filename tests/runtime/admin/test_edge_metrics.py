"""Metrics of edges."""

from __future__ import annotations

from sapwood.runtime.admin.edge_metrics import edge_metrics
from sapwood.runtime.admin.status import EdgesStatus, EdgeStatus


def test_modes_rates_and_switches_are_shown() -> None:
    edge = EdgeStatus(
        source="B1", target="B2", mode="flooding", number=3, all=5.0, wanted=4.0, said={"simple": 2}
    )
    status = EdgesStatus(choice="auto", stopped=2, edges=(edge,))
    found = {
        (sample.name, *sample.labels.values()): sample.value
        for metric in edge_metrics(status)
        for sample in metric.samples
    }
    assert found["sapwood_edge_floods", "B1", "B2"] == 1
    assert found["sapwood_edge_rate", "B1", "B2", "simple"] == 2
    assert found["sapwood_edge_switches_total", "stopped"] == 2
