"""Whether the parts of a node are there and know each other: else its session cannot go on.

Peers and lines, and what is kept beside them, are mended one by one (``checking``). But who mends
them is memory, too. A node that has lost a part, or whose parts work for another node, begins a
new session in the same process, as a broker does that was reborn in vain.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from sapwood.protocol.broker import Broker
from sapwood.protocol.durable.keeping import Durability
from sapwood.protocol.link.admission import Admission
from sapwood.protocol.link.credit import Credit
from sapwood.protocol.link.dialing import Dialing
from sapwood.protocol.link.ending import Ending
from sapwood.protocol.link.farewells import Farewells
from sapwood.protocol.link.flow import Flow
from sapwood.protocol.link.keepalive import Keepalive
from sapwood.protocol.link.membership import Membership
from sapwood.protocol.link.orders import Orders
from sapwood.protocol.link.overflow import Overflow
from sapwood.protocol.link.placing import Placing
from sapwood.protocol.link.rows import Rows

if TYPE_CHECKING:
    from sapwood.protocol.node import Node

PARTS: Final[dict[str, type]] = {
    "admission": Admission,
    "dialing": Dialing,
    "ending": Ending,
    "farewells": Farewells,
    "keepalive": Keepalive,
    "credit": Credit,
    "membership": Membership,
    "orders": Orders,
    "overflow": Overflow,
    "placing": Placing,
    "rows": Rows,
}
"""By their names in a node: those that work for it. Whoever checks is one of them, too, and if it
is not there nothing is mended at all (`Node.handle`)."""


def wiring_problems(node: Node) -> Iterator[str]:
    """What of a node is not there, or belongs to another one."""
    for name, kind in PARTS.items():
        part = getattr(node, name)
        if type(part) is not kind or vars(part).get("_node") is not node:
            yield f"{name} is {part!r}"
    if type(node.farewells) is Farewells and type(node.farewells.leaving) is not dict:
        yield f"those who leave are {node.farewells.leaving!r}"
    durability: object = node.durability
    is_right = type(durability) is Durability if node.config.durability.is_on else not durability
    if not is_right:
        yield f"durability is {durability!r}"
    flow: object = node.flow
    if type(flow) is not Flow or not flow.is_about(node.peers):
        yield f"flow is {flow!r}"
    for name, kind in (("peers", dict), ("lines", dict), ("broker", Broker)):
        if not isinstance(getattr(node, name), kind):
            yield f"{name} is {getattr(node, name)!r}"
