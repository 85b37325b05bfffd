"""Tests for what is set for a node from outside."""

from __future__ import annotations

import msgspec

from sapwood.analysis.stabilization.periods import RefreshScheme
from sapwood.protocol.accounts import Accounts
from sapwood.protocol.broker import BrokerConfig
from sapwood.protocol.link.limits import ClientLimits, LinkLimits
from sapwood.protocol.node_config import RELOADABLE, NodeConfig
from sapwood.protocol.optimize.edges.settings import EdgeRoutingSettings
from sapwood.protocol.optimize.settings import OptimizationSettings
from sapwood.protocol.ports import Hint
from sapwood.protocol.stabilize.settings import StabilizationSettings, TreeSettings

SCHEMES: tuple[RefreshScheme, ...] = ("digest", "batch", "hop-lease", "off")


def test_the_broker_gets_its_part() -> None:
    """Every field that both have is handed on: another value here is another value there."""
    config = NodeConfig(
        id="B7",
        session=9,
        routing="merging",
        routing_variant="hierarchical",
        advertisements_required=True,
        advertisement_routing="simple",
        settle_interval=0.5,
        settle_patience=3.0,
        remembered_max=17,
        addresses=("tcp://a:1",),
        admin="http://a:2",
        release="1.2.3",
        recording=True,
        noting=True,
        expected=("B8",),
        expected_parent="B8",
        book=(Hint("B7", ("tcp://b:1",), 3.0),),
        restore_seconds=4.0,
        link=LinkLimits(away_seconds=60.0),
        client=ClientLimits(refresh_seconds=7.0, max_clients=9, subscriptions_max=3),
        stabilization=StabilizationSettings(refresh_seconds=8.0),
        tree=TreeSettings(beacon_seconds=2.0),
        edges=EdgeRoutingSettings(choice="observe"),
        optimization=OptimizationSettings(mode="observe"),
        raises_faults=False,
        accounts=Accounts(),
    )
    made, given = msgspec.structs.asdict(config.broker()), msgspec.structs.asdict(config)
    shared = [name for name in made if name in given]
    assert [made[name] for name in shared] == [given[name] for name in shared]
    assert made["away_seconds"] == config.link.away_seconds
    assert made["claims_max"] == (3, config.client.subscription_bytes)
    assert made["clients_max"] == config.client.max_clients
    assert made["client_refresh_seconds"] == config.client.refresh_seconds
    usual = msgspec.structs.asdict(BrokerConfig(id="B1"))
    assert [name for name in made if made[name] == usual[name]] == ["stale_seconds"]


def test_what_is_offered_follows_from_the_scheme() -> None:
    found = {}
    for scheme in SCHEMES:
        settings = StabilizationSettings(refresh=scheme, refresh_seconds=8.0)
        config = NodeConfig(id="B1", stabilization=settings)
        found[scheme] = [
            (config.features(is_client=one), config.refresh_seconds(is_client=one))
            for one in (False, True)
        ]
    client = (("checks", "refresh", "moves"), 30.0)
    always = ("restart", "checks", "beacons")
    assert found == {
        "digest": [((*always, "refresh", "moves", "edges"), 8.0), client],
        "batch": [((*always, "refresh", "moves", "edges"), 8.0), client],
        "hop-lease": [((*always, "hop-lease", "moves", "edges"), 8.0), client],
        "off": [((*always, "moves", "edges"), 0.0), (("checks", "moves"), 0.0)],
    }


def test_without_beacons_none_are_offered() -> None:
    config = NodeConfig(id="B1", tree=TreeSettings(protocol="off"))
    assert config.features(is_client=False) == ("restart", "checks", "refresh", "moves", "edges")


def test_clients_and_links_have_limits_of_their_own() -> None:
    config = NodeConfig(id="B1", link=LinkLimits(window_bytes=2000))
    assert config.limits(is_client=True) == ClientLimits()
    assert config.limits(is_client=False) == LinkLimits(window_bytes=2000)


def test_a_node_shows_the_credentials_it_has() -> None:
    assert NodeConfig(id="B1").credentials == {}
    assert NodeConfig(id="B1", token="t", account="a", secret="s").credentials == {
        "token": "t",
        "account": "a",
        "secret": "s",
    }


def test_what_can_be_reloaded_is_a_setting() -> None:
    assert set(RELOADABLE) <= set(NodeConfig.__struct_fields__)
