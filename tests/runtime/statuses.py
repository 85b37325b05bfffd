"""A status with a different figure in every place."""

from __future__ import annotations

from sapwood.runtime.admin.rates import Rate
from sapwood.runtime.admin.status import (
    CONNECTED,
    LINKED,
    ClientStatus,
    JoinStatus,
    NeighbourStatus,
    QueueStatus,
    RefreshStatus,
    Status,
    TableStatus,
)

QUEUE = QueueStatus(
    buffered_bytes=13,
    buffer_bytes=2**20,
    control_bytes=14,
    waiting_runs=2,
    given_up=15,
    missed=16,
)
NEIGHBOUR = NeighbourStatus(
    id="B2",
    session=2,
    state=LINKED,
    in_tree=True,
    sends="covering",
    receives="covering",
    address="127.0.0.1:50000",
    advertised=("sapwood://b2.example:7470",),
    away_seconds=0.0,
    is_congested=True,
    frames_in=11,
    frames_out=12,
    rate=Rate(1.5, 2.5),
    queue=QUEUE,
)
CLIENT = ClientStatus(
    id="quick.1",
    state=CONNECTED,
    address="127.0.0.1:50001",
    away_seconds=0.0,
    subscriptions=3,
    slow_policy="drop_oldest",
    is_slow=False,
    frames_in=21,
    frames_out=22,
    rate=Rate(3.5, 4.5),
    queue=QUEUE,
)
STATUS = Status(
    id="B1",
    session=1,
    network="sapwood",
    version="1.2.3",
    protocol=(1, 1),
    routing="covering",
    listens="sapwood://127.0.0.1:7470",
    at=1000.5,
    uptime_seconds=77.5,
    neighbours=(),
    clients=(),
    joins=(JoinStatus(address="sapwood://127.0.0.1:7471", is_linked=True, problem=""),),
    tables=TableStatus(subscriptions=5, advertisements=6),
    refresh=RefreshStatus(
        scheme="digest",
        mismatch=31,
        repaired=32,
        expired=33,
        strays=34,
        silent=35,
        differing=("B7", "B8"),
        neighbours_without=("B9",),
        clients_without=36,
    ),
    drops={},
    counts={},
    trace=None,
)
