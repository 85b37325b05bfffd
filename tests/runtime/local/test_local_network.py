"""Networks on one machine: shapes, ports, who dials whom, and that nothing is left behind."""

from __future__ import annotations

import asyncio
import os
import socket

import pytest

from sapwood.errors import ListenError, NetworkError
from sapwood.protocol.tree import Topology
from sapwood.runtime.local.local_network import LocalNetwork, _levels, _parents

TREE = Topology(("B1", "B2", "B3", "B4"), (("B1", "B2"), ("B1", "B3"), ("B2", "B4")))


def test_every_broker_dials_the_one_nearer_to_the_first() -> None:
    parents = _parents(TREE)
    assert parents == {"B1": None, "B2": "B1", "B3": "B1", "B4": "B2"}
    assert _levels(parents) == [["B1"], ["B2", "B3"], ["B4"]]


def test_ports_follow_each_other_if_the_first_is_given() -> None:
    network = LocalNetwork(TREE, first_port=17_000)
    assert [broker.port for broker in network.values()] == [17_000, 17_001, 17_002, 17_003]
    assert network["B4"].admin_url == "http://127.0.0.1:18003"
    assert network.urls[3] == "sapwood://127.0.0.1:17003"


def test_links_beside_the_tree_are_dialled_too() -> None:
    beside = "sapwood://127.0.0.1:17002"
    network = LocalNetwork(TREE, first_port=17_000, dials_too={"B4": [beside]})
    joins = [word for word in network["B4"]._arguments if word.startswith("--join=")]
    assert joins == ["--join=sapwood://127.0.0.1:17001", f"--join={beside}"]


def test_the_first_may_dial_too_and_others_may_be_advertised() -> None:
    network = LocalNetwork(
        TREE,
        first_port=17_000,
        first_dials=True,
        advertises=True,
        advertised={"B1": "sapwood://127.0.0.1:9"},
    )
    words = [word for word in network["B1"]._arguments if word.startswith(("--join=", "--adv"))]
    assert words == ["--join=sapwood://127.0.0.1:17001", "--advertise=sapwood://127.0.0.1:9"]
    assert "--advertise=127.0.0.1:17001" in network["B2"]._arguments


def test_ports_are_free_ones_otherwise() -> None:
    one, two = LocalNetwork(TREE), LocalNetwork(TREE)
    ports = [
        port
        for network in (one, two)
        for broker in network.values()
        for port in (broker.port, broker.admin_port)
    ]
    assert len(set(ports)) == 16
    one.check_ports()
    one.stop()
    two.stop()


def test_a_port_in_use_is_found_before_the_start() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        network = LocalNetwork(TREE, first_port=port - 1)
        with pytest.raises(ListenError) as found:
            network.check_ports()
        assert str(found.value) == (
            f"port {port}, for broker B2, cannot be used: Address already in use; "
            "choose other ports with --port"
        )


@pytest.mark.slow
def test_the_brokers_form_the_tree_and_leave_it_in_order() -> None:
    async def check() -> LocalNetwork:
        async with LocalNetwork(TREE, ["--network=test"]) as network:
            for name, broker in network.items():
                linked = [one["id"] for one in broker.status()["neighbours"]]
                assert linked == list(TREE.neighbours(name))
                assert broker.status()["network"] == "test"
            assert len(network) == 4
            assert network.died == []
            return network

    network = asyncio.run(check())
    assert [broker.exit_status for broker in network.values()] == [0, 0, 0, 0]
    for broker in network.values():
        with pytest.raises(ProcessLookupError):
            os.kill(broker.pid, 0)


@pytest.mark.slow
def test_a_network_that_cannot_start_stops_what_it_started() -> None:
    network = LocalNetwork(TREE, dials={"B4": "sapwood://127.0.0.1:0/wrong"})
    with pytest.raises(NetworkError, match=r"broker B4 has ended; it said: error: --join is wrong"):
        network.start()
    assert not any(broker.is_running for broker in network.values())
