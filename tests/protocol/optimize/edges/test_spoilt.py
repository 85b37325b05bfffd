"""What a fault does to measurements and decisions ages out, and does no lasting harm."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from sapwood.protocol.config import BrokerConfig
from sapwood.protocol.core import Core
from sapwood.protocol.machine import Machine
from sapwood.protocol.optimize.edges.settings import EdgeRoutingSettings
from sapwood.protocol.stabilize.settings import StabilizationSettings
from sapwood.routing.algorithms import peer_to_peer
from sapwood.sim.edge_routing.validity import invalid_edges
from sapwood.sim.network import Network
from sapwood.testing.perturbing import Rom, perturb_share
from sapwood.wire.frames import decode_envelope, decode_head, split

LINKS = [("B1", "B2"), ("B2", "B3")]
SETTINGS = EdgeRoutingSettings(
    choice="auto",
    telling=("identity", "covering"),
    unit="messages",
    period_seconds=1.0,
    window_seconds=2.0,
    hold_seconds=2.0,
)
OTHERS: Rom = {
    Core: "spoilt by other tests",
    BrokerConfig: "set from outside",
    EdgeRoutingSettings: "set from outside",
    "Choosing._switching": "spoilt by itself",
}


class Spoilt:
    """Three brokers that choose their edges, each with a client that publishes and wants all."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.network = Network(
            Random(seed),
            {
                "edges": SETTINGS,
                "routing": "identity",
                "settle_interval": 0.0,
                "raises_faults": False,
                "stabilization": StabilizationSettings(refresh_seconds=1.0, audit_seconds=2.0),
            },
        )
        self.network.build_tree(LINKS, lambda random: 0.001, peer_to_peer(LINKS, "identity"))
        self.got: Counter[tuple[str, str, int]] = Counter()
        self.network.deliveries = self._delivered
        for name in self.network.brokers:
            self.network.connect(f"c{name}", name)
            self.network.subscribe(f"c{name}", "s", "x >= 0", settle=False)

    def _delivered(self, session: str, data: bytes) -> None:
        for _, head, body in split(data):
            self.got[session, decode_head(head)[0], decode_envelope(body).sequence] += 1

    def go_on(self, seconds: int) -> None:
        """Let clients publish for a while."""
        network = self.network
        for _ in range(seconds * 4):
            for session in network.clients:
                network.publish(session, {"x": 1})
            network.kernel.run(network.kernel.now + 0.25)

    def spoil(self) -> list[str]:
        """Change much of what one broker has measured and decided."""
        broker = self.network.brokers[self.random.choice(["B1", "B2", "B3"])]
        done: list[str] = []
        for part in (broker.edge_choice, broker.edges, broker.wishes, broker.tally):
            done += perturb_share(part, self.random, 0.5, OTHERS)
        self.network.look_at_clock(broker.id)
        return done


@pytest.mark.parametrize("seed", range(4))
def test_spoilt_measurements_do_no_lasting_harm(seed: int) -> None:
    scene = Spoilt(seed)
    scene.go_on(4)
    assert scene.spoil()
    scene.go_on(12)
    scene.got.clear()
    scene.go_on(1)
    assert isinstance(scene.network.brokers["B1"].edge_choice, Machine)
    assert len(scene.got) == 4 * 3 * 3
    assert set(scene.got.values()) == {1}
    assert list(invalid_edges(scene.network.brokers)) == []
    for broker in scene.network.brokers.values():
        assert list(broker.edges.problems()) == []
        assert list(broker.edge_choice.problems()) == []
        for meter in (*broker.edge_choice.inward.values(), *broker.edge_choice.outward.values()):
            seen = broker.edge_choice.measured(meter)
            assert seen is None or 0 <= seen.flooded < 1000
