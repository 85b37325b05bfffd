"""The status of a broker in the words of Prometheus.

Nothing is counted twice: metrics are made from a `Status` when somebody asks for them. Streams are
labelled by neighbour. Clients come and go by the thousands, so they are summed; only those that do
not keep up are named.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Final, TypeAlias

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector, CollectorRegistry

from sapwood.protocol.drops import Drop
from sapwood.runtime.admin.edge_metrics import edge_metrics
from sapwood.runtime.admin.loss_metrics import loss_metrics
from sapwood.runtime.admin.status import (
    LINKED,
    ClientStatus,
    NeighbourStatus,
    RefreshStatus,
    Status,
)
from sapwood.runtime.admin.traffic_metrics import traffic_metrics

METRICS_TYPE = CONTENT_TYPE_PLAIN_0_0_4

EVENTS: Final = (
    "abandoned",
    "adopted",
    "connections_lost",
    "given_up",
    "handed_over",
    "overruns",
    "refused",
    "resumed",
    "slow_clients_disconnected",
    "started_over",
    "streams_reset",
)
"""What a node counts: said from the start, so that an increase from 0 is seen, too."""

_OfLink: TypeAlias = Callable[[NeighbourStatus], float]


class _OneStatus(Collector):
    """Metrics made from one status."""

    def __init__(self, status: Status) -> None:
        self._status = status

    def collect(self) -> Iterator[Metric]:
        """All metrics."""
        yield from _broker(self._status)
        yield from _links(self._status.neighbours)
        yield from _clients(self._status.clients)
        yield from loss_metrics(self._status)
        yield from traffic_metrics(self._status)
        yield from _what_happened(self._status)
        yield from _refresh(self._status.refresh)
        yield from _healing(self._status)
        yield from _optimization(self._status)
        yield from edge_metrics(self._status.edges)


def exposition(status: Status) -> bytes:
    """The metrics of a broker in the text format of Prometheus."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_OneStatus(status))
    ProcessCollector(registry=registry)
    return generate_latest(registry)


def _gauge(name: str, text: str, value: float) -> Metric:
    return GaugeMetricFamily(f"sapwood_{name}", text, value=value)


def _broker(status: Status) -> Iterator[Metric]:
    about = GaugeMetricFamily(
        "sapwood_info",
        "What runs here; the value is always 1.",
        labels=["broker", "session", "network", "version", "routing"],
    )
    labels = [status.id, str(status.session), status.network, status.version, status.routing]
    about.add_metric(labels, 1)
    yield about
    yield _gauge("uptime_seconds", "Time since the start.", status.uptime_seconds)
    yield _gauge("neighbours", "Brokers at the other end of a link.", len(status.neighbours))
    linked = sum(one.state == LINKED for one in status.neighbours)
    yield _gauge("neighbours_linked", "Of those, with a connection.", linked)
    table = GaugeMetricFamily(
        "sapwood_table_entries", "Entries of the routing tables.", labels=["table"]
    )
    table.add_metric(["subscriptions"], status.tables.subscriptions)
    table.add_metric(["advertisements"], status.tables.advertisements)
    yield table


_LINK_GAUGES: dict[str, tuple[str, _OfLink]] = {
    "link_up": ("Whether there is a connection.", lambda one: one.state == LINKED),
    "link_away_seconds": ("Time without connection.", lambda one: one.away_seconds),
    "link_congested": ("Whether publishers are held back.", lambda one: one.is_congested),
    "link_buffered_bytes": (
        "Notifications that wait or are not acknowledged.",
        lambda one: one.queue.buffered_bytes,
    ),
    "link_control_buffered_bytes": (
        "Control messages that wait or are not acknowledged.",
        lambda one: one.queue.control_bytes,
    ),
}
_LINK_COUNTERS: dict[str, tuple[str, _OfLink]] = {
    "link_frames_in": ("Frames that came.", lambda one: one.frames_in),
    "link_frames_out": ("Notifications for the neighbour.", lambda one: one.frames_out),
    "link_given_up": ("Notifications given up.", lambda one: one.queue.given_up),
    "link_missed": ("Notifications the neighbour gave up.", lambda one: one.queue.missed),
}


def _links(neighbours: tuple[NeighbourStatus, ...]) -> Iterator[Metric]:
    for name, (text, value) in _LINK_GAUGES.items():
        gauge = GaugeMetricFamily(f"sapwood_{name}", text, labels=["neighbour"])
        for one in neighbours:
            gauge.add_metric([one.id], value(one))
        yield gauge
    for name, (text, value) in _LINK_COUNTERS.items():
        counter = CounterMetricFamily(f"sapwood_{name}", text, labels=["neighbour"])
        for one in neighbours:
            counter.add_metric([one.id], value(one))
        yield counter


def _clients(clients: tuple[ClientStatus, ...]) -> Iterator[Metric]:
    yield _gauge("clients", "Clients that are connected or may come back.", len(clients))
    slow = GaugeMetricFamily(
        "sapwood_client_slow", "A client that does not keep up.", labels=["client", "policy"]
    )
    for one in clients:
        if one.is_slow:
            slow.add_metric([one.id, one.slow_policy], 1)
    yield slow
    buffered = sum(one.queue.buffered_bytes for one in clients)
    yield _gauge("client_buffered_bytes", "What clients have not acknowledged.", buffered)


def _refresh(refresh: RefreshStatus) -> Iterator[Metric]:
    found = CounterMetricFamily(
        "sapwood_refresh",
        "What the comparison of tables has found; nothing, without a fault.",
        labels=["finding"],
    )
    for what in ("mismatch", "repaired", "expired", "strays", "silent"):
        found.add_metric([what], getattr(refresh, what))
    yield found
    differing = len(refresh.differing)
    yield _gauge("refresh_differing", "Those whose tables differ again and again.", differing)
    without = len(refresh.neighbours_without)
    yield _gauge("refresh_neighbours_without", "Neighbours that cannot compare.", without)
    without = refresh.clients_without
    yield _gauge("refresh_clients_without", "Clients that cannot compare.", without)


def _healing(status: Status) -> Iterator[Metric]:
    tree = status.tree
    place = GaugeMetricFamily(
        "sapwood_tree_info",
        "Where the broker is in the tree; the value is always 1.",
        labels=["root", "parent"],
    )
    place.add_metric([tree.root, tree.parent], 1)
    yield place
    yield _gauge("tree_depth", "Links to the root.", tree.depth)
    yield _gauge("tree_kept", "Links of the tree that carry nothing now.", len(tree.kept))
    yield _gauge("tree_candidates", "Links that stand by.", len(tree.candidates))
    changes = GaugeMetricFamily(
        "sapwood_tree_changes", "The last changes of the tree with this broker.", labels=["outcome"]
    )
    changes.add_metric(["completed"], status.changes.completed)
    changes.add_metric(["undone"], status.changes.undone)
    yield changes
    yield _gauge("tree_locked", "Whether a change is under way here.", bool(status.changes.change))
    faults = CounterMetricFamily(
        "sapwood_faults", "What was found that only a fault brings about.", labels=["kind"]
    )
    for kind, count in status.faults.items():
        faults.add_metric([kind], count)
    yield faults
    if status.healing is not None:
        times = GaugeMetricFamily(
            "sapwood_healing_seconds", "Longest time until a fault is healed.", labels=["bound"]
        )
        for name, seconds in status.healing.bounds.items():
            times.add_metric([name], math.inf if seconds is None else seconds)
        yield times


def _optimization(status: Status) -> Iterator[Metric]:
    known = status.optimization
    if known.mode == "off":
        return
    swaps = CounterMetricFamily(
        "sapwood_swaps", "Links that were to be moved by this broker.", labels=["outcome"]
    )
    for outcome, count in known.swaps.items():
        swaps.add_metric([outcome], count)
    yield swaps
    yield _gauge("cost", "Share of this broker in the cost of the traffic per second.", known.cost)
    predicted, seen = known.gain_predicted, known.gain_seen
    yield _gauge("swap_gain_predicted", "What the swaps made here were to gain.", predicted)
    yield _gauge("swap_gain_seen", "What they have gained, as far as measured.", seen)
    yield CounterMetricFamily("sapwood_probes", "Links asked to be measured.", value=known.probes)
    ignored = known.ignored
    yield CounterMetricFamily("sapwood_costs_ignored", "Impossible costs told.", value=ignored)
    yield _gauge("utilisation", "Share of the time in which the broker is busy.", known.utilisation)


def _what_happened(status: Status) -> Iterator[Metric]:
    drops = CounterMetricFamily("sapwood_drops", "What was dropped.", labels=["reason"])
    for reason, count in {**dict.fromkeys(map(str, Drop), 0), **status.drops}.items():
        drops.add_metric([reason], count)
    yield drops
    events = CounterMetricFamily("sapwood_events", "What happened.", labels=["event"])
    for event, count in {**dict.fromkeys(EVENTS, 0), **status.counts}.items():
        events.add_metric([event], count)
    yield events
    if status.trace is not None:
        left_out = status.trace.left_out
        yield CounterMetricFamily("sapwood_trace_left_out", "Rows not recorded.", value=left_out)
        failed = float(bool(status.trace.failure))
        yield _gauge("trace_failed", "Whether nothing is recorded any more.", failed)
