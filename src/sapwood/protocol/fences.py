"""Which way a client's publications come from, once it has moved to another broker.

A client whose broker hangs, or cannot be reached, goes on elsewhere with the same session. What the
old broker still has of it, in its buffers or in those of a link that is away, may arrive later than
what was published since: a stale stream must not deliver. So the new broker tells everybody that
the client has moved (`ClientMoved`). On a tree all publications of a client come from one
direction; from then on a broker takes them only from the direction the message came from. Links
keep their order, so what arrived before the message is older than all that follows it, and what
arrives from elsewhere afterwards is dropped, counted, and reported as missed.

The number of fences is bounded; the oldest goes first.
"""

from __future__ import annotations

from typing import Final

FENCES_MAX: Final = 65_536


class Fences:
    """By client session: the neighbour, or the client itself, that its publications come from."""

    def __init__(self) -> None:
        self.homes: dict[str, str] = {}

    def __len__(self) -> int:
        """How many clients have moved."""
        return len(self.homes)

    def move(self, client: str, source: str) -> bool:
        """A client's publications come from a source from now on; whether that is news."""
        if self.homes.get(client) == source:
            return False
        self.homes.pop(client, None)
        if len(self.homes) >= FENCES_MAX:
            del self.homes[next(iter(self.homes))]
        self.homes[client] = source
        return True

    def is_stale(self, source: str, client: str) -> bool:
        """Whether what a source brings of a client is what the client's old broker had left."""
        return self.homes.get(client, source) != source

    def forget_source(self, source: str) -> bool:
        """A neighbour is gone, and with it what was known about its direction."""
        gone = [client for client, home in self.homes.items() if home == source]
        for client in gone:
            del self.homes[client]
        return bool(gone)
