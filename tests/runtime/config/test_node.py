"""A node is told what the settings say, and what is remembered of the session before."""

from __future__ import annotations

from typing import Any

import pytest

from sapwood.protocol.node_config import NodeConfig
from sapwood.protocol.optimize.edges.settings import EdgeRoutingSettings
from sapwood.protocol.optimize.settings import OptimizationSettings
from sapwood.protocol.ports import Remember
from sapwood.protocol.stabilize.settings import StabilizationSettings, TreeSettings
from sapwood.runtime.config.node import node_config
from sapwood.runtime.config.settings import LinkSettings, Settings

NOTHING = Remember(())


def test_by_default_a_node_is_what_its_config_is_by_default_and_optimizes() -> None:
    config = node_config(Settings(id="B1"), 7, NOTHING, was_part=False)
    expected = NodeConfig(
        id="B1",
        session=7,
        joins_for_ever=False,
        release=config.release,
        raises_faults=False,
        noting=True,
        optimization=OptimizationSettings(),
        edges=EdgeRoutingSettings(choice="auto"),
    )
    assert config == expected
    assert config.release


def test_whatever_is_set_is_passed_on() -> None:
    link = LinkSettings(buffer_bytes=2**20)
    stabilization = StabilizationSettings(refresh="batch")
    tree = TreeSettings(priority=1)
    settings = Settings(
        id="B1",
        network="other",
        token="secret",
        routing="merging",
        join=("sapwood://10.0.0.1:7470",),
        advertise=("sapwood://10.0.0.2:7470",),
        advertisements="required",
        restore_seconds=3.0,
        link=link,
        stabilization=stabilization,
        tree=tree,
    )
    config = node_config(settings, 7, Remember(("B2", "B3"), (4, 5)), was_part=False, former=6)
    assert (config.network, config.token, config.routing) == ("other", "secret", "merging")
    assert (config.joins, config.addresses) == (settings.join, settings.advertise)
    assert (config.expected, config.expected_sessions) == (("B2", "B3"), (4, 5))
    assert config.former == 6
    assert (config.restore_seconds, config.link) == (3.0, link)
    assert (config.stabilization, config.tree) == (stabilization, tree)
    assert config.advertisements_required


@pytest.mark.parametrize(
    ("join_seconds", "was_part", "for_ever"),
    [(30.0, False, False), (0.0, False, True), (30.0, True, True)],
)
def test_who_was_part_of_the_network_or_is_told_so_tries_for_ever(
    join_seconds: float, was_part: bool, for_ever: bool
) -> None:
    settings = Settings(id="B1", join_seconds=join_seconds)
    assert node_config(settings, 7, NOTHING, was_part).joins_for_ever == for_ever


def test_everything_at_once_is_the_default() -> None:
    config = node_config(Settings(id="B1"), 7, NOTHING, was_part=False)
    assert (config.routing, config.edges.choice) == ("covering", "auto")
    assert config.optimization.mode == "on"
    assert config.stabilization.refresh == "digest"
    assert config.tree.protocol == "beacons"


def test_a_routing_that_is_named_stays() -> None:
    config = node_config(Settings(id="B1", routing="simple"), 7, NOTHING, was_part=False)
    assert (config.routing, config.edges.choice) == ("simple", "fixed")


@pytest.mark.parametrize(
    "changes", [{"routing_variant": "hierarchical"}, {"advertisements": "required"}]
)
def test_where_costs_of_edges_say_too_little_nothing_is_chosen(changes: dict[str, Any]) -> None:
    config = node_config(Settings(id="B1", **changes), 7, NOTHING, was_part=False)
    assert (config.routing, config.edges.choice) == ("covering", "fixed")


def test_where_brokers_only_look_that_is_kept() -> None:
    looking = EdgeRoutingSettings(choice="observe")
    settings = Settings(id="B1", routing="auto", edge_routing=looking)
    config = node_config(settings, 7, NOTHING, was_part=False)
    assert (config.routing, config.edges) == ("covering", looking)
    settings = Settings(id="B1", routing="covering", edge_routing=looking)
    assert node_config(settings, 7, NOTHING, was_part=False).routing == "covering"
