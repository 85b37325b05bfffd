"""Which way a client's publications come from, once it has moved to another broker.

A client whose broker hangs, or cannot be reached, goes on elsewhere with the same session. What the
old broker still has of it, in its buffers or in those of a link that is away, may arrive later than
what was published since: a stale stream must not deliver. So the new broker tells everybody that
the client has moved (`ClientMoved`). On a tree all publications of a client come from one
direction; from then on a broker takes them only from the direction the message came from. Links
keep their order, so what arrived before the message is older than all that follows it, and what
arrives from elsewhere afterwards is dropped, counted, and reported as missed.

A broker that is restarted has forgotten its fences. Its neighbours tell it theirs, also of clients
that they took to be on its side: until it learns where such a client is now, it takes nothing of
what others have kept of it.

The tree may change, and then a client's publications come by another way. The brokers on the ring
of a change know which (``reconfigure.ways``). After faults nobody does; so a broker that has
clients that moved says again where they are, when a link comes and every refresh period: once for
all of them, which have their *home* there, however many they are. Of what was said about one stream
the last holds.

The number of fences is bounded; the oldest goes first.
"""

from __future__ import annotations

from collections.abc import Collection, Container
from typing import Final, NamedTuple

FENCES_MAX: Final = 65_536

NOWHERE: Final = ""
"""Where publications come from of which none are taken, as it is not known where the client is."""

ANYWHERE: Final = "*"
"""Where publications come from that are taken from all sides: the way to the client is lost."""


class Fence(NamedTuple):
    """Where the publications of a client come from."""

    source: str
    """A neighbour, or the client itself; or `NOWHERE`, or `ANYWHERE`."""
    streams: int
    """How many streams the client had begun when it came there."""
    again: int = 0
    """How often its broker has said so since."""
    home: str = ""
    """The session of the broker to which the client came; those with one home are in one place.
    Empty if the broker's release does not say it."""

    def place(self, client: str) -> str:
        """Where the client is: its home, or a place of its own if that is not known."""
        return self.home or client


class Fences:
    """The fences of clients that moved, by their sessions."""

    def __init__(self) -> None:
        self.homes: dict[str, Fence] = {}

    def __len__(self) -> int:
        """How many clients have moved."""
        return len(self.homes)

    def move(self, client: str, fence: Fence) -> bool:
        """Take a client's publications from a source from now on; whether that is news.

        News may overtake each other: what is older than what is known says nothing. A source says
        more than none.
        """
        known = self.homes.get(client)
        if known is not None and _weight(known) >= _weight(fence):
            return False
        self.homes.pop(client, None)
        if len(self.homes) >= FENCES_MAX:
            del self.homes[next(iter(self.homes))]
        self.homes[client] = fence
        return True

    def is_stale(self, source: str, client: str) -> bool:
        """Whether what a source brings of a client is what the client's old broker had left."""
        fence = self.homes.get(client)
        return fence is not None and fence.source not in (source, ANYWHERE)

    def move_home(self, home: str, source: str, again: int) -> bool:
        """Take the publications of all clients with a home from a source; whether that is news."""
        found = [
            (client, fence)
            for client, fence in self.homes.items()
            if fence.home == home and fence.again < again
        ]
        for client, fence in found:
            self.homes[client] = fence._replace(source=source, again=again)
        return bool(found)

    def places_from(self, source: str) -> list[str]:
        """Where the clients are whose publications come from a source, each place once."""
        found = (fence.place(one) for one, fence in self.homes.items() if fence.source == source)
        return list(dict.fromkeys(found))

    def mend(self, here: Container[str], sources: Collection[str]) -> bool:
        """Forget fences that cannot be: of a client that is here, or from where nobody is.

        A client that has moved away is not here any more: its session was ended. Whether anything
        was wrong.
        """
        wrong = [
            client
            for client, fence in self.homes.items()
            if fence.source != client
            and (client in here or fence.source not in (NOWHERE, ANYWHERE, *sources))
        ]
        for client in wrong:
            del self.homes[client]
        return bool(wrong)

    def forget_source(self, source: str) -> bool:
        """A neighbour is gone, and with it what was known about its direction."""
        gone = [(one, fence) for one, fence in self.homes.items() if fence.source == source]
        for client, fence in gone:
            self.homes[client] = fence._replace(source=ANYWHERE)
        return bool(gone)


def _weight(fence: Fence) -> tuple[int, int, bool]:
    """Of two fences the one with more holds."""
    return fence.streams, fence.again, fence.source not in (NOWHERE, ANYWHERE)
