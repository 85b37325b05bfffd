"""Where neighbours are in the tree, and what the tree asks of the broker for their links."""

from __future__ import annotations

from enum import StrEnum
from typing import Protocol

from sapwood.protocol.effects import Effect


class Place(StrEnum):
    """Where a neighbour is in the tree, if the link to it is where it was before it was lost."""

    NONE = ""
    PARENT = "parent"
    CHILD = "child"

    @property
    def seen_from_there(self) -> Place:
        """Where this broker is, for the neighbour."""
        opposites = {Place.PARENT: Place.CHILD, Place.CHILD: Place.PARENT}
        return opposites.get(self, Place.NONE)


class Links(Protocol):
    """What the tree asks of the broker, for a neighbour: each gives what follows from it."""

    def enter_tree(self, name: str, now: float) -> list[Effect]:
        """A candidate is part of the tree from now on."""

    def resume_link(self, name: str, now: float) -> list[Effect]:
        """A link that was kept carries again."""

    def hold_link(self, name: str, now: float) -> list[Effect]:
        """A link stays part of the tree, and carries nothing."""

    def watch(self, *, is_watched: bool) -> None:
        """Leave out what neighbours bring a second time from now on, or no longer."""

    def knows_change(self, change: str) -> bool:
        """Whether a change is one that this broker takes or took part in."""

    def said_since(self, name: str) -> None:
        """A neighbour has said something that does not belong to the change under way."""

    def has_signs_of_circle(self) -> bool:
        """Whether something came from two sides, or again, since this was last asked."""

    def leave_tree(self, name: str, reason: str, now: float) -> list[Effect]:
        """A link is part of the tree no longer, and its stream ends."""
