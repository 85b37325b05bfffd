"""What is known of a network: how large its tree is, and how long a message takes over a link."""

from __future__ import annotations

import msgspec


class Network(msgspec.Struct, frozen=True, kw_only=True):
    """A tree of brokers. Nothing is checked here: ``refusals`` says what is impossible."""

    brokers: int
    height: int
    """Links from the root to the farthest broker, now and after any fault that is to be healed."""
    diameter: int
    """Links between the two brokers that are farthest apart."""
    delay_max: float
    """Longest time over one link (δmax), in seconds: of beacons and checks, which wait for nothing.
    Where it is measured, the largest round trip of the last hour: twice the way, to be safe."""
    delay_min: float = 0.0
    """Shortest time over one link (δmin)."""
    wait_max: float = 0.0
    """How much longer a counted control message may take, because it stands in the stream behind
    notifications that wait for credit. 0 where nothing is congested."""
    depth_max: int = 64
    """Brokers on the longest way from the root that is accepted."""
    ring_max: int = 12
    """Brokers on the longest ring that one change of the tree may concern."""

    @property
    def reach(self) -> int:
        """N: how many brokers a beacon can pass, since it visits none twice."""
        return min(self.brokers, self.depth_max)

    @property
    def counted_delay_max(self) -> float:
        """δ: the longest time of a counted control message over one link."""
        return self.delay_max + self.wait_max


def network_of(  # noqa: PLR0913 - one for each field
    brokers: int,
    *,
    height: int | None = None,
    diameter: int | None = None,
    delay_max: float,
    delay_min: float = 0.0,
    wait_max: float = 0.0,
    depth_max: int = 64,
    ring_max: int = 12,
) -> Network:
    """A network of which not everything is known: what is not given is as bad as it can be.

    >>> network_of(40, height=6, delay_max=0.05).diameter
    12
    >>> network_of(5, delay_max=0.05).height
    4
    """
    if height is None:
        farthest = min(brokers, depth_max) - 1
        height = farthest if diameter is None else min(farthest, diameter)
    if diameter is None:
        diameter = min(brokers - 1, 2 * height)
    return Network(
        brokers=brokers,
        height=height,
        diameter=diameter,
        delay_max=delay_max,
        delay_min=delay_min,
        wait_max=wait_max,
        depth_max=depth_max,
        ring_max=ring_max,
    )
