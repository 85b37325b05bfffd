"""The traffic of a small network, counted by hand."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pipeline.planting import write_run
from sapwood.errors import TraceError
from sapwood.pipeline import read_traces, traffic
from sapwood.pipeline.loads.costs import Costs
from sapwood.pipeline.loads.traffic import measured_costs
from tracing.making import Recorder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.slow


def chain() -> Recorder:
    """A chain B1 - B2 - B3; what p publishes at B1 is wanted at B3, every other at B2, too."""
    trace = Recorder()
    trace.subscribe(0, "a.1", broker="B2")
    trace.subscribe(0, "b.1", broker="B3")
    trace.add(1, "control", broker="B2", target="B1", message="subscribe", bytes=40)
    for number in range(1, 5):
        trace.publish(number, "p.1", number, broker="B1")
        which = {"publisher": "p.1", "sequence": number, "bytes": 10}
        trace.add(number, "forwarded", broker="B1", target="B2", **which)
        trace.add(number + 0.25, "forwarded", broker="B2", target="B3", **which)
        if number % 2:
            trace.deliver(number + 0.25, "a.1", "p.1", number, broker="B2")
        trace.deliver(number + 0.75, "b.1", "p.1", number, broker="B3")
    trace.clock(10)
    return trace


def test_rates_shared_traffic_load_and_costs(spark: SparkSession, tmp_path: Path) -> None:
    write_run(tmp_path, chain().rows)
    rows = read_traces(tmp_path, spark=spark)
    found = traffic(rows, Costs(links={("B1", "B3"): 7.0}, brokers={"B2": 5.0}))
    brokers = {row["broker"]: row for row in found.brokers.toArrow().to_pylist()}
    assert [brokers[name]["published"] for name in ("B1", "B2", "B3")] == [4, 0, 0]
    assert [brokers[name]["delivered"] for name in ("B1", "B2", "B3")] == [0, 2, 4]
    assert [brokers[name]["concerned"] for name in ("B1", "B2", "B3")] == [4, 2, 4]
    assert brokers["B1"]["publication_rate"] == 0.4
    assert brokers["B3"]["subscriptions"] == 1
    pairs = found.shared.toArrow().to_pylist()
    shared = {(pair["left"], pair["right"]): pair["notifications"] for pair in pairs}
    assert shared == {
        ("B1", "B1"): 4, ("B1", "B2"): 2, ("B1", "B3"): 4,
        ("B2", "B2"): 2, ("B2", "B3"): 2, ("B3", "B3"): 4,
    }  # fmt: skip
    links = {(r["source"], r["target"], r["message"]): r for r in found.links.toArrow().to_pylist()}
    assert links["B1", "B2", "notification"]["messages"] == 4
    assert links["B1", "B2", "notification"]["bytes_per_second"] == 4.0
    assert links["B2", "B1", "subscribe"]["bytes"] == 40
    assert all(link["in_tree"] for link in links.values())
    [costs] = found.costs.toArrow().to_pylist()
    assert costs["cost"] == 4 * (1 + 1 + 5)  # all pass B2
    assert costs["spanning"] == 2 * 7 + 2 * (5 + 1 + 1)
    assert costs["least"] == 2 * 7 + 2 * (5 + 2 * 3 / 4)


def test_costs_may_be_measured(spark: SparkSession, tmp_path: Path) -> None:
    write_run(tmp_path, chain().rows)
    costs = measured_costs(read_traces(tmp_path, spark=spark))
    assert costs == Costs(links={("B1", "B2"): 0.25, ("B2", "B3"): 0.5}, default=0.5)


def test_nothing_has_no_traffic(spark: SparkSession, tmp_path: Path) -> None:
    write_run(tmp_path, chain().rows)
    with pytest.raises(TraceError, match="no rows"):
        traffic(read_traces(tmp_path, spark=spark).limit(0))
