"""What a machine of a broker is: a part with a state of its own, driven by events.

A broker is a core of tables and some machines beside it, and knows the machines only by this
contract. A machine says by table which events it handles, and which messages from neighbours and
from clients; it is told of ticks and of links and clients that come and go, and gives a report, its
problems and its state. Rules:

- State is plain data: no closures, no callables. It can be copied, compared and written down.
- Times are stored and looked at with every tick (`due`); `next_at` is derived from them.
- What may be gone meanwhile is looked up tolerantly.
- What follows from the tables, and how machines know each other, is made in `__init__`. An audit
  makes every machine anew, and hands it the state of the one before (`inherit`).
- `report`, `problems` and `state` change nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, TypeAlias

from sapwood.protocol.core import Core
from sapwood.protocol.effects import Effect

EventHandler: TypeAlias = Callable[[Any, float], list[Effect]]
"""Takes an event and the time."""

MessageHandler: TypeAlias = Callable[[str, Any, float], list[Effect]]
"""Takes the source of a message, the message and the time."""


class Machine:
    """One machine. What it does not care for is done by these methods, which do nothing."""

    name: ClassVar[str] = ""
    derived: ClassVar[tuple[str, ...]] = ()
    """Attributes that are made in `__init__` and not handed on, beside other machines."""

    def __init__(self, core: Core) -> None:
        self.core = core

    def inherit(self, before: Machine) -> None:
        """Go on with the state of the machine that this one takes the place of.

        A collection that has become something else is not taken over.
        """
        for name, fresh in list(vars(self).items()):
            if name in self.derived or isinstance(fresh, Machine | Core):
                continue
            value = getattr(before, name, fresh)
            is_collection = isinstance(fresh, dict | list | set)
            if not is_collection or type(value) is type(fresh):
                setattr(self, name, value)

    def events(self) -> Mapping[type, EventHandler]:
        """The events that this machine handles by itself; no other machine does."""
        return {}

    def from_neighbours(self) -> Mapping[type, MessageHandler]:
        """The messages from neighbours that this machine handles."""
        return {}

    def from_clients(self) -> Mapping[type, MessageHandler]:
        """The messages from clients that this machine handles."""
        return {}

    @property
    def next_at(self) -> float | None:
        """When something is due here, if anything is."""
        return None

    def tick(self, now: float) -> list[Effect]:
        """Time has passed: do what is due."""
        return []

    def link_up(self, neighbour: str, now: float) -> list[Effect]:
        """A neighbour is in the tree from now on."""
        return []

    def link_exchanged(self, neighbour: str, now: float) -> list[Effect]:
        """A change of the tree is complete, by which a neighbour is in the tree from now on."""
        return self.link_up(neighbour, now)

    def link_placed(self, neighbour: str, place: str, now: float) -> list[Effect]:
        """A neighbour in the tree is certainly the parent, or a child, of this broker."""
        return []

    def link_aside(self, neighbour: str, now: float) -> list[Effect]:
        """A broker is linked from now on, but not in the tree."""
        return []

    def link_down(self, neighbour: str, now: float) -> list[Effect]:
        """A neighbour is not in the tree any more."""
        return []

    def link_restarted(self, neighbour: str, now: float) -> list[Effect]:
        """A neighbour in the tree was restarted; it has lost its state, and tells it again."""
        return [*self.link_down(neighbour, now), *self.link_up(neighbour, now)]

    def link_away(self, neighbour: str, now: float) -> list[Effect]:
        """A neighbour in the tree cannot be reached for the time being."""
        return []

    def link_back(self, neighbour: str, now: float) -> list[Effect]:
        """A neighbour in the tree can be reached again."""
        return []

    def link_thawed(self, neighbour: str, now: float) -> list[Effect]:
        """A neighbour in the tree that was told nothing for a while can be told again."""
        return []

    def compare(self, neighbour: str, now: float) -> list[Effect]:
        """What this broker and a neighbour know of each other may differ."""
        return []

    def client_up(self, client: str, now: float) -> list[Effect]:
        """A client's session has begun."""
        return []

    def client_back(self, client: str, now: float) -> list[Effect]:
        """A client that had no connection has one again."""
        return []

    def line_up(self, neighbour: str, now: float) -> list[Effect]:
        """There is a connection to a neighbour again, in the tree or not."""
        return []

    def line_lost(self, neighbour: str, now: float) -> list[Effect]:
        """There is no connection to a neighbour any more, in the tree or not."""
        return []

    def neighbour_gone(self, neighbour: str, now: float) -> list[Effect]:
        """A neighbour is gone for good, in the tree or not."""
        return []

    def client_down(self, client: str, now: float) -> list[Effect]:
        """A client's session ends; afterwards it is gone."""
        return []

    def report(self) -> dict[str, Any]:
        """What is worth knowing about it, as plain data."""
        return {}

    def problems(self) -> Iterator[str]:
        """What does not hold though it must."""
        return iter(())

    def state(self) -> Any:
        """Its state as plain data: equal for machines that behave equally."""
        return None
