"""Every loss is in one metric, from the start."""

from __future__ import annotations

import msgspec

from runtime.statuses import STATUS
from sapwood.protocol.drops import Drop
from sapwood.runtime.admin.loss_metrics import DROPPED, GIVEN_UP, loss_metrics
from sapwood.runtime.admin.metrics import exposition
from sapwood.runtime.admin.status import Status


def losses(status: Status) -> dict[str, float]:
    (family,) = loss_metrics(status)
    return {sample.labels["kind"]: sample.value for sample in family.samples}


def test_nothing_was_lost_yet_and_all_kinds_are_there() -> None:
    assert losses(STATUS) == dict.fromkeys(
        [
            "given_up",
            "abandoned",
            "mailbox_given_up",
            "expired",
            "held",
            "malformed",
            "outside_tree",
            "stale",
            "unknown_sender",
        ],
        0,
    )


def test_each_kind_has_its_own_count() -> None:
    counts = {name: number for number, name in enumerate(GIVEN_UP, 1)}
    drops = {str(reason): number for number, reason in enumerate(DROPPED, 10)}
    status = msgspec.structs.replace(
        STATUS,
        counts={**counts, "resumed": 100},
        drops={**drops, str(Drop.REFUSED): 200, str(Drop.REPEATED): 300},
    )
    assert list(losses(status).values()) == [*counts.values(), *drops.values()]


def test_prometheus_is_told() -> None:
    status = msgspec.structs.replace(STATUS, counts={"given_up": 7})
    assert 'sapwood_losses_total{kind="given_up"} 7.0' in exposition(status).decode()
