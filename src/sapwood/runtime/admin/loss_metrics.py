"""Every way in which a broker loses notifications, in one metric that an alert can watch.

All kinds are there from the start, with 0: an alert on an increase sees the first loss, too. What
is refused at the door is none, since whoever sent it is told.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from prometheus_client.core import CounterMetricFamily, Metric

from sapwood.protocol.drops import Drop
from sapwood.runtime.admin.status import Status

GIVEN_UP: Final = ("given_up", "abandoned", "mailbox_given_up")
"""Counts of what was kept for somebody and never reached them: there was no room, or they have
gone for good; or a durable subscription was not read in time."""

DROPPED: Final = (
    Drop.EXPIRED,
    Drop.HELD,
    Drop.MALFORMED,
    Drop.OUTSIDE_TREE,
    Drop.STALE,
    Drop.UNKNOWN_SENDER,
)
"""Reasons for which notifications that came were not taken."""


def loss_metrics(status: Status) -> Iterator[Metric]:
    """All losses, by kind."""
    losses = CounterMetricFamily(
        "sapwood_losses", "Notifications lost by this broker, or not taken.", labels=["kind"]
    )
    for kind in GIVEN_UP:
        losses.add_metric([kind], status.counts.get(kind, 0))
    for reason in DROPPED:
        losses.add_metric([reason.name.lower()], status.drops.get(str(reason), 0))
    yield losses
