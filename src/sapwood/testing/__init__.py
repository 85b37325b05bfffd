"""Networks for tests: real broker processes on free loopback ports, gone when the test is over.

>>> import sapwood.sync, sapwood.testing
>>> with sapwood.testing.network("chain", 2) as net:
...     with sapwood.sync.connect(net["B1"].url) as bus, bus.subscribe("price > 100") as quotes:
...         with sapwood.sync.connect(net["B2"].url) as other:
...             _ = other.publish({"price": 120.5})
...         print(quotes.get(10)["price"])
120.5

``async with`` works as well. Brokers are named ``B1`` to ``BN``, and the parent of a broker is the
one it dials: see `sapwood.sim.topology` for the shapes.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import Random

from sapwood.runtime.local.broker_process import BrokerProcess
from sapwood.runtime.local.local_network import LocalNetwork
from sapwood.sim.topology import make_topology

__all__ = ["BrokerProcess", "LocalNetwork", "network"]


def network(
    shape: str = "tree",
    n: int = 3,
    *,
    seed: int = 1,
    routing: str = "covering",
    trace: str | Path | None = None,
    data: Path | None = None,
    arguments: Sequence[str] = (),
) -> LocalNetwork:
    """A network of `n` broker processes: a ``tree``, ``chain``, ``star`` or ``random`` one.

    `arguments` go to every ``sapwood broker``; `seed` is that of a random shape. Below `data` each
    broker keeps what it needs for its next start.
    """
    topology = make_topology(shape, n, Random(seed))
    traced = [] if trace is None else [f"--trace={trace}"]
    return LocalNetwork(topology, [f"--routing={routing}", *traced, *arguments], data=data)
