"""How often a broker looks again: what is usual for one on its own links, and what is refused."""

from __future__ import annotations

import msgspec
import pytest

from sapwood.protocol.node_config import NodeConfig
from sapwood.protocol.stabilize.settings import (
    NO_PROTOCOL,
    NO_REFRESH,
    StabilizationSettings,
    TreeSettings,
)


def test_a_node_looks_after_itself_unless_told_otherwise() -> None:
    config = NodeConfig(id="B1")
    assert config.stabilization == StabilizationSettings(
        refresh="digest", refresh_seconds=30.0, audit_seconds=300.0, delay_max=0.0, seconds=0.0
    )
    assert config.tree == TreeSettings(
        protocol="beacons",
        beacon_seconds=3.0,
        priority=1000,
        depth_max=64,
        children_max=0,
        seek_seconds=15.0,
        ring_max=12,
    )
    assert config.client.refresh_seconds == 30.0


def test_both_can_be_switched_off() -> None:
    assert (NO_REFRESH.refresh, NO_PROTOCOL.protocol) == ("off", "off")


@pytest.mark.parametrize(
    ("kind", "field", "value"),
    [
        (StabilizationSettings, "refresh", "lease"),
        (StabilizationSettings, "refresh_seconds", 0.0),
        (StabilizationSettings, "audit_seconds", -1.0),
        (StabilizationSettings, "delay_max", -0.1),
        (StabilizationSettings, "seconds", -1.0),
        (StabilizationSettings, "refresh_secs", 3.0),
        (TreeSettings, "protocol", "three-colour"),
        (TreeSettings, "beacon_seconds", 0.0),
        (TreeSettings, "priority", -1),
        (TreeSettings, "priority", 65_536),
        (TreeSettings, "depth_max", 1),
        (TreeSettings, "children_max", -1),
        (TreeSettings, "seek_seconds", 0.0),
        (TreeSettings, "ring_max", 2),
    ],
)
def test_what_no_broker_can_run_with_is_refused(
    kind: type[StabilizationSettings | TreeSettings], field: str, value: object
) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({field: value}, kind)
