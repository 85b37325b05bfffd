"""Faults on request: what the admin endpoint does to a running broker when it is asked to.

``POST /faults?fields=RoutingTable._entries&share=0.5&seed=1`` changes half of the places that
fields with that beginning hold, each to something plausible or absurd. Without `fields` it is all
of the broker's state.
"""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Final

from sapwood.errors import ParameterError
from sapwood.protocol.config import BrokerConfig
from sapwood.protocol.node import Node
from sapwood.testing.perturbing import Rom, perturb, walk

BROKER_ROM: Final[Rom] = {
    BrokerConfig: "set from outside",
    "Broker.id": "set from outside",
    "Broker.heads": "shared by the brokers of a simulator, None in a live one",
    "Surroundings.given": "set from outside",
}
"""What no fault changes in a broker, by the ground rules of self-stabilization."""


def spoil(node: Node, asked: Mapping[str, str]) -> list[str]:
    """Corrupt the state of a node's broker; what was done, one line for each place."""
    beginning = asked.get("fields", "")
    share = _number(asked, "share", 0.1)
    random = Random(int(_number(asked, "seed", 1, 2**53)))
    places = [one for one in walk(node.broker, BROKER_ROM) if one.field.startswith(beginning)]
    if not places:
        known = sorted({one.field for one in walk(node.broker, BROKER_ROM)})
        raise ParameterError(
            f"is {beginning!r}, with which no field begins; there are {', '.join(known)}", "fields"
        )
    chosen = [place for place in places if random.random() < share]
    return [done for place in chosen if (done := perturb(place, random)) is not None]


def _number(asked: Mapping[str, str], name: str, default: float, most: float = 1.0) -> float:
    text = asked.get(name, str(default))
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number <= most:
        raise ParameterError(f"is {text!r}; wanted a number from 0 to {most:g}", name)
    return number
