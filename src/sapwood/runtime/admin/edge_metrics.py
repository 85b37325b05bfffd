"""How the edges of a broker are routed, for Prometheus."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from sapwood.routing.algorithms import FLOODING
from sapwood.runtime.admin.status import EdgesStatus


def edge_metrics(status: EdgesStatus) -> Iterator[Metric]:
    """Modes, rates and switches."""
    floods = GaugeMetricFamily(
        "sapwood_edge_floods", "Whether an edge floods.", labels=["source", "target"]
    )
    rate = GaugeMetricFamily(
        "sapwood_edge_rate",
        "What an edge carries or would carry per second: all, wanted, or what is said.",
        labels=["source", "target", "what"],
    )
    for one in status.edges:
        floods.add_metric([one.source, one.target], one.mode == FLOODING)
        carried = {"all": one.all, "wanted": one.wanted, **one.said}
        for what, value in carried.items():
            if value is not None:
                rate.add_metric([one.source, one.target, what], value)
    yield floods
    yield rate
    switches = CounterMetricFamily(
        "sapwood_edge_switches", "Switches of edges, by what was decided.", labels=["kind"]
    )
    for kind in ("stopped", "told", "contradicted", "unanswered", "observed"):
        switches.add_metric([kind], getattr(status, kind))
    yield switches
