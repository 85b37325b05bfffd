"""How much passes through a broker, how long it takes, and what may end soon, for Prometheus."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate

from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)

from sapwood.protocol.link.metering import LATENCY_BOUNDS
from sapwood.runtime.admin.status import LatencyStatus, Status

_BOUNDS = [*map(str, LATENCY_BOUNDS), "+Inf"]


def traffic_metrics(status: Status) -> Iterator[Metric]:
    """Bytes, round trips, latencies, changes that wait, and when certificates expire."""
    yield from _bytes(status)
    round_trips = GaugeMetricFamily(
        "sapwood_link_round_trip_seconds", "Of the last ping over a link.", labels=["neighbour"]
    )
    for one in status.neighbours:
        if one.round_trip_seconds:
            round_trips.add_metric([one.id], one.round_trip_seconds)
    yield round_trips
    yield _latency(status.latency)
    yield GaugeMetricFamily(
        "sapwood_changes_waiting",
        "Changes of subscriptions that wait for their turn.",
        value=status.waiting_changes,
    )
    expiries = GaugeMetricFamily(
        "sapwood_certificate_expiry_timestamp_seconds",
        "When the first certificate in a file expires.",
        labels=["file"],
    )
    for file, at in status.certificates.items():
        expiries.add_metric([file], at)
    yield expiries


def _bytes(status: Status) -> Iterator[Metric]:
    came = CounterMetricFamily(
        "sapwood_link_in_bytes", "Of the frames that came.", labels=["neighbour"]
    )
    left = CounterMetricFamily(
        "sapwood_link_out_bytes", "Of the notifications for the neighbour.", labels=["neighbour"]
    )
    for one in status.neighbours:
        came.add_metric([one.id], one.bytes_in)
        left.add_metric([one.id], one.bytes_out)
    yield came
    yield left


def _latency(latency: LatencyStatus) -> Metric:
    """Buckets as Prometheus wants them: each has all that are shorter, too."""
    counts = latency.counts or (0,) * len(_BOUNDS)
    histogram = HistogramMetricFamily(
        "sapwood_latency_seconds",
        "From the publisher to this broker, of a sample, as far as their clocks agree.",
    )
    buckets = [(bound, float(n)) for bound, n in zip(_BOUNDS, accumulate(counts), strict=True)]
    histogram.add_metric([], buckets, latency.seconds)
    return histogram
