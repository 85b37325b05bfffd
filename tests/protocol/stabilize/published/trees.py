"""Brokers of coloured trees for tests: one by itself, its neighbours are names."""

from __future__ import annotations

from random import Random
from typing import Any

from sapwood.filters.filter import Filter
from sapwood.protocol.stabilize.published.colour_messages import (
    Effect,
    Message,
    Received,
)
from sapwood.protocol.stabilize.published.colour_parts import ColourConfig
from sapwood.protocol.stabilize.published.three_colours import ThreeColours
from sapwood.protocol.stabilize.published.three_colours_printed import PrintedColours


def config(name: str, **others: Any) -> ColourConfig:
    """A broker of a small tree with the root R."""
    wanted: dict[str, Any] = {
        "root_group": ("R",),
        "recolor_period": 30.0,
        "height": 4,
        "delay_min": 0.1,
        "delay_max": 0.6,
        "degree_max": 2,
        **others,
    }
    return ColourConfig(id=name, **wanted)


def place(machine: PrintedColours, parent: str, children: tuple[str, ...] = ()) -> None:
    """Put a broker into a tree, the same one in all colours."""
    for one in machine.state.children:
        one.update(children)
    machine.state.flags.update(children)
    machine.state.parent[:] = [parent] * 3
    machine.state.path = ("R", machine.id) if parent == "R" else ("R", parent, machine.id)
    if not parent:
        machine.state.path = (machine.id,)
    machine.start(0.0)


def corrected(
    name: str, parent: str = "", children: tuple[str, ...] = (), **others: Any
) -> ThreeColours:
    """A broker of the corrected tree in its place."""
    machine = ThreeColours(config(name, **others), Random(1), Filter)
    place(machine, parent, children)
    return machine


def printed(
    name: str, parent: str = "", children: tuple[str, ...] = (), **others: Any
) -> PrintedColours:
    """A broker of the printed tree in its place."""
    machine = PrintedColours(config(name, **others), Random(1), Filter)
    place(machine, parent, children)
    return machine


def tell(machine: PrintedColours, source: str, message: Message, now: float = 1.0) -> list[Effect]:
    """What a broker does about a message."""
    return machine.handle(Received(source, message), now)
