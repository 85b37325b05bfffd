"""What a broker knows while it takes part in a change of the tree.

The ring is the path ``b1 … bn`` of the old tree and the new link between its ends. The old link is
``bk - bk+1``: up to ``bk`` brokers are *left* of it, the others right. Every broker of the ring has
a neighbour *down*, towards the old link, and one *up*, towards the new one. A *top* has the new
link above it, a *bottom* the old one below it; a broker may be both. *Black* is what belongs to the
old tree, *gray* what belongs to the new one.
"""

from __future__ import annotations

import msgspec

from sapwood.filters.filter import Filter
from sapwood.protocol.reconfigure.messages import Offer, Way


class Draft(msgspec.Struct):
    """How one table of an edge of the ring differs from what it will be in the new tree."""

    pending: dict[str, None] = {}
    """Ids of the neighbour that go when the change is complete."""
    added: dict[str, None] = {}
    """Ids of the neighbour that came with the change, and go if it is undone."""
    replaced: dict[str, str] = {}
    """Texts that stood under ids of the neighbour; until the change ends they do so elsewhere."""
    told: dict[str, Filter] | None = None
    """All that the neighbour has been told for the new tree; None before it was."""


class EdgeDraft(msgspec.Struct):
    """The same for both tables."""

    advertisements: Draft
    subscriptions: Draft


class Ring(msgspec.Struct):
    """One change, as one broker of its ring knows it."""

    change: str
    path: tuple[str, ...]
    k: int
    place: int
    """Of this broker in the path, from zero on."""
    since: float
    """When this broker was locked."""
    is_root_left: bool | None = None
    is_gray: bool = False
    """Whether this broker has turned to the new tree."""
    is_collected: bool = False
    """Whether the table from below is known."""
    offer: Offer | None = None
    """What came over the new link, at the first of the path."""
    is_flushed: bool = False
    """Whether nothing black comes from below any more."""
    is_closed: bool = False
    """Whether what comes over the new link waits."""
    is_stream_gray: bool = False
    """The colour of what comes from below, as it was painted."""
    is_painted_gray: bool = False
    """The colour that was last painted for those above."""
    has_asked: bool = False
    way: Way | None = None
    """To the root, as the neighbour above will tell it in the new tree."""
    way_at: float = 0.0
    """When that came."""
    heard: dict[str, None] = {}
    """Neighbours of the ring from whom a message of this change came."""
    newer: dict[str, None] = {}
    """Those whose last beacon was sent after the change had ended for them."""
    tabled: dict[str, None] = {}
    """Those whose gray table is here: they tell no differences until the change has ended."""
    intruders: dict[str, None] = {}
    """Those of them who did all the same."""
    drafts: dict[str, EdgeDraft] = {}
    """By neighbour of the ring."""
    held: list[bytes] = []
    """What came over the new link and waits."""
    crossed: dict[str, None] = {}
    """Homes of clients that moved which are beyond the old link (``ways``)."""
    arrived: dict[str, None] = {}
    """Clients of whose moves only this side of the old link has heard: that was gray."""
    heard_of: dict[str, None] = {}
    """Clients beyond the old link of whose moves this broker has heard since it was locked."""
    amid: dict[str, None] = {}
    """Clients that moved in the middle of the change, where that was black."""
    sent: int = 0
    """Messages of this change that this broker has sent."""

    @property
    def n(self) -> int:
        """How many brokers the ring has."""
        return len(self.path)

    @property
    def is_left(self) -> bool:
        """Whether this broker is on the initiator's side of the old link."""
        return self.place < self.k

    @property
    def is_top(self) -> bool:
        """Whether the new link is this broker's."""
        return self.place in (0, self.n - 1)

    @property
    def is_bottom(self) -> bool:
        """Whether the old link is this broker's."""
        return self.place in (self.k - 1, self.k)

    @property
    def is_initiator(self) -> bool:
        """Whether this broker says when to turn."""
        return self.place == 0

    @property
    def is_decider(self) -> bool:
        """Whether this broker, and nobody else, completes or undoes the change."""
        return self.place == self.k - 1

    @property
    def decider(self) -> str:
        """The broker that completes or undoes the change."""
        return self.path[self.k - 1]

    @property
    def up(self) -> str:
        """The neighbour towards the new link."""
        return self.path[(self.place - 1 if self.is_left else self.place + 1) % self.n]

    @property
    def down(self) -> str:
        """The neighbour towards the old link."""
        return self.path[self.place + 1 if self.is_left else self.place - 1]

    @property
    def new(self) -> str:
        """The neighbour at the other end of the new link; empty if it is not this broker's."""
        return self.up if self.is_top else ""

    @property
    def old(self) -> str:
        """The neighbour at the other end of the old link; empty if it is not this broker's."""
        return self.down if self.is_bottom else ""

    @property
    def sides(self) -> tuple[str, str]:
        """Both neighbours."""
        return self.up, self.down

    @property
    def is_turned_side(self) -> bool:
        """Whether the root is beyond the old link, so that parents here change."""
        return self.is_left is not bool(self.is_root_left)

    def draft(self, neighbour: str) -> EdgeDraft:
        """What differs on the edge with a neighbour of the ring."""
        found = self.drafts.get(neighbour)
        if found is None:
            found = self.drafts[neighbour] = EdgeDraft(Draft(), Draft())
        return found


def messages_of(n: int, k: int) -> int:
    """How many messages a change takes without faults and paints."""
    return 3 * n + k - 2
