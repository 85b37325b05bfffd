"""In which order the edges of a small network switch their routing (Schröter et al., Figure 2).

An edge may filter only when all edges behind it do, and flood only when all edges before it do; so
switches go through a tree in waves: to filtering from the brokers at the end of the way, to
flooding from those at its beginning. Brokers decide by what they measure, as they do live.
"""

from __future__ import annotations

from random import Random
from typing import Final, NamedTuple

from sapwood.protocol.optimize.edges.settings import EdgeRoutingSettings
from sapwood.routing.algorithms import FLOODING, Edge, peer_to_peer
from sapwood.sim.network import Network

LINKS: Final = [("B1", "B3"), ("B2", "B3"), ("B3", "B4"), ("B4", "B5")]
NAMES: Final = ("B1", "B2", "B3", "B4", "B5")
PERIOD: Final = 10.0
PHASE_SECONDS: Final = 100.0
"""How long nobody subscribes, and then everybody does: ten decisions each."""

OFTEN, SELDOM = 10, 1
"""Publications, or subscriptions, of a broker's clients in a second."""


class Waves(NamedTuple):
    """By edge: in which wave it has switched; 0: not at all."""

    to_simple: dict[Edge, int]
    to_flooding: dict[Edge, int]


def switching_waves() -> Waves:
    """Let all edges begin to filter, and then flood again.

    >>> waves = switching_waves()
    >>> sorted(edge for edge, wave in waves.to_simple.items() if wave == 1)
    [('B3', 'B1'), ('B3', 'B2'), ('B4', 'B5')]
    """
    return _Run().run()


class _Run:
    def __init__(self) -> None:
        settings = EdgeRoutingSettings(
            choice="auto", telling=("simple",), unit="messages", period_seconds=PERIOD,
            window_seconds=PERIOD, hold_seconds=0.0,
        )  # fmt: skip
        self.network = Network(
            Random(1), {"edges": settings, "routing": FLOODING, "settle_interval": 0.0}
        )
        self.network.build_tree(LINKS, lambda random: 0.001, peer_to_peer(LINKS, FLOODING))
        for name in NAMES:
            self.network.connect(f"c{name}", name)
        self.count = 0

    def run(self) -> Waves:
        """Both phases."""
        first = self._phase(0.0, publishing=OFTEN, subscribing=0)
        second = self._phase(PHASE_SECONDS, publishing=SELDOM, subscribing=OFTEN)
        return Waves(first, second)

    def _phase(self, begin: float, *, publishing: int, subscribing: int) -> dict[Edge, int]:
        """What happens in a phase, second by second; in which wave each edge has switched."""
        before = self._flooding()
        switched: dict[Edge, float] = {}
        for second in range(int(PHASE_SECONDS)):
            now = begin + second
            for act, often in ((self._publish, publishing), (self._subscribe, subscribing)):
                for number in range(often):
                    for name in NAMES:
                        self.network.kernel.at(now + number / often, act, name)
            self.network.kernel.run(now + 1.0)
            for edge in before ^ self._flooding():
                switched.setdefault(edge, now)
        times = sorted(set(switched.values()))
        edges = [(here, there) for one in LINKS for here, there in (one, one[::-1])]
        return {edge: 1 + times.index(switched[edge]) if edge in switched else 0 for edge in edges}

    def _flooding(self) -> set[Edge]:
        """Edges over which everything is sent."""
        return {
            (name, other)
            for name, broker in self.network.brokers.items()
            for other, one in broker.neighbours.items()
            if one.is_flooded
        }

    def _publish(self, name: str) -> None:
        self.count += 1
        self.network.publish(f"c{name}", {"type": self.count % 1000})

    def _subscribe(self, name: str) -> None:
        """A subscription that nothing matches, and that soon ends."""
        self.count += 1
        entry = f"s{self.count}"
        self.network.subscribe(f"c{name}", entry, f"type = {-self.count}", settle=False)
        kernel = self.network.kernel
        kernel.at(kernel.now + 1.0, self.network.unsubscribe, f"c{name}", entry, False)
