"""Changes of the tree in the simulator with perfect links."""

from __future__ import annotations

from random import Random

import pytest

from sapwood.routing.algorithms import peer_to_peer
from sapwood.sim.network import Network
from sapwood.wire.frames import decode_envelope, decode_head, split

LINKS = [("B1", "B2"), ("B2", "B3"), ("B3", "B4"), ("B3", "B5")]


@pytest.mark.parametrize("algorithm", ["flooding", "simple", "identity", "covering", "merging"])
def test_a_change_under_load(algorithm: str) -> None:
    network = Network(Random(1))
    network.build_tree(
        LINKS, lambda random: random.uniform(0.01, 0.1), peer_to_peer(LINKS, algorithm)
    )
    got: dict[str, list[tuple[str, int]]] = {}

    def deliver(session: str, data: bytes) -> None:
        for _, head, body in split(data):
            name = decode_head(head)[0], decode_envelope(body).sequence
            got.setdefault(session, []).append(name)

    network.deliveries = deliver
    for number in range(1, 6):
        network.connect(f"C{number}", f"B{number}")
        network.subscribe(f"C{number}", "all", "x >= 0")
    network.kernel.run(5.0)
    for at in range(40):
        for number in range(1, 6):
            network.kernel.at(5.0 + at / 20, network.publish, f"C{number}", {"x": at})
    network.kernel.at(6.0, network.exchange, "B5", ("B2", "B3"), ("B1", "B4"))
    network.kernel.run(60.0)
    (ended,) = network.changes.values()
    assert (ended.outcome, ended.ring) == ("completed", ("B1", "B2", "B3", "B4"))
    assert network.problems() == []
    assert ("B2", "B3") not in network.directions
    for names in got.values():
        assert len(names) == len({*names}) == 200
        for number in range(1, 6):
            own = [sequence for publisher, sequence in names if publisher == f"C{number}"]
            assert own == sorted(own)
