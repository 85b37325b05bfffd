"""The client library: a bus to publish on and to subscribe to, on asyncio.

A thin face over the client's session (`sapwood.protocol.client`), which decides everything.
"""

from sapwood.protocol.client.delivered import Delivered
from sapwood.protocol.client.deliveries import Gap, Item
from sapwood.runtime.client.bus import Bus, connect
from sapwood.runtime.client.durable import (
    Durable,
    DurablePage,
    DurableSubscription,
    Offset,
)
from sapwood.runtime.client.options import DEFAULT_SERVER, BusOptions, ConnectOptions
from sapwood.runtime.client.subscription import Subscription

__all__ = [
    "DEFAULT_SERVER",
    "Bus",
    "BusOptions",
    "ConnectOptions",
    "Delivered",
    "Durable",
    "DurablePage",
    "DurableSubscription",
    "Gap",
    "Item",
    "Offset",
    "Subscription",
    "connect",
]
