"""Periods are, by default, those of the settings."""

from __future__ import annotations

from typing import get_type_hints

from sapwood.analysis.stabilization import Periods
from sapwood.protocol.node_config import NodeConfig


def test_the_defaults_are_those_of_a_node() -> None:
    """One place says what is usual, or the bounds that are shown are not those of a node."""
    node, usual = NodeConfig(id="B1"), Periods()
    assert (usual.refresh, usual.tree) == (node.stabilization.refresh, node.tree.protocol)
    assert usual.refresh_period == node.stabilization.refresh_seconds
    assert usual.audit_period == node.stabilization.audit_seconds
    assert usual.client_refresh_period == node.client.refresh_seconds
    assert usual.beacon_period == node.tree.beacon_seconds
    assert usual.seek_period == node.tree.seek_seconds


def test_tables_are_compared_as_often_as_the_slower_side_does_it() -> None:
    assert Periods(refresh_period=5.0, client_refresh_period=7.0).table_period == 7.0
    assert Periods(refresh_period=8.0, client_refresh_period=7.0).table_period == 8.0


def test_every_time_is_a_number_of_seconds() -> None:
    hints = get_type_hints(Periods)
    times = [name for name in hints if name.endswith(("_period", "_time")) or name == "tick"]
    assert [name for name in times if hints[name] is not float and name != "table_period"] == []
