"""Which server a client dials next, and when.

Servers are tried in turn: the last one that was found first, since it may have kept the stream,
then the others. Between two rounds there is a pause, which doubles from round to round.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from random import Random
from typing import Final

from sapwood.protocol.ports import Dial

SUCCESSORS_MAX: Final = 16
"""Addresses of a broker that a stream was handed over to."""

ADDRESS_CHARS_MAX: Final = 1024

RETRY_SECONDS_FIRST: Final = 0.05
RETRY_SECONDS_MAX: Final = 5.0
RETRY_SECONDS_MAX_KEPT: Final = 2.0
"""Longest pause between two rounds while a broker may keep the stream."""


class Search:
    """The search of one session for a server."""

    def __init__(self, servers: Sequence[str], random: Random) -> None:
        self.address = ""
        """The server that was dialled last."""
        self.dial = 0
        """The number of the attempt that counts; answers to others come too late."""
        self.give_up_at = inf
        """When the search ends if nothing was found."""
        self._known = tuple(servers)
        self._servers = list(servers)
        self._untried: list[str] = []
        """Servers that were not tried in this round."""
        self._successors: list[str] = []
        """Where the stream goes on, if its broker has handed it over: dialled before all others."""
        self._pause_seconds = RETRY_SECONDS_FIRST
        self._random = random

    def begin_round(self) -> None:
        """Try all servers once."""
        self._know_servers()
        others = [server for server in self._servers if server not in self._successors]
        self._untried = [*self._successors, *others]

    @property
    def is_at_successor(self) -> bool:
        """Whether the server that was dialled last was told by the broker before it."""
        return self.address in self._successors and self.address not in self._known

    def follow(self, addresses: Sequence[str]) -> None:
        """Dial these before all others from now on: the stream goes on there.

        Without any, it goes on where it was asked for last.
        """
        told = [one for one in addresses if len(one) <= ADDRESS_CHARS_MAX]
        self._successors = told[:SUCCESSORS_MAX] or [self.address]
        self._untried = []

    def settle(self) -> None:
        """A new stream has begun here: nothing goes on elsewhere."""
        if not self.is_at_successor:
            self._successors = []

    def next(self) -> Dial | None:
        """The next attempt of this round; None if all servers were tried."""
        self._know_servers()
        self.dial += 1
        if not self._untried:
            return None
        self.address = self._untried.pop(0)
        return Dial(self.dial, self.address)

    def try_again(self) -> None:
        """Let the next attempt be with the same server."""
        self._untried.insert(0, self.address)

    def found(self) -> None:
        """Begin with this server next time, without a pause, however long that takes."""
        at = self._servers.index(self.address) if self.address in self._servers else 0
        self._servers = self._servers[at:] + self._servers[:at]
        self._pause_seconds = RETRY_SECONDS_FIRST
        self.give_up_at = inf

    def derive(self, *, may_give_up: bool) -> None:
        """Know the servers again that were given, and the rest as it can be."""
        self._know_servers()
        if type(self.give_up_at) is not float or not may_give_up:
            self.give_up_at = inf

    def _know_servers(self) -> None:
        if not _is_turned(self._servers, self._known):
            self._servers = list(self._known)
        successors = self._successors
        if type(successors) is not list or {*map(type, successors)} - {str}:
            self._successors = []
        if type(self._untried) is not list or not self._knows_all(self._untried):
            self._untried = []
        if type(self.dial) is not int:
            self.dial = 0

    def _knows_all(self, servers: list[str]) -> bool:
        return {*servers} <= {*self._known, *self._successors}

    def pause(self, now: float, *, may_resume: bool, may_give_up: bool) -> float | None:
        """When the next round begins; None if that would be too late.

        Whoever has found a broker once looks for one for ever, whatever time is stored.
        """
        seconds = self._pause_seconds
        if not _is_between(RETRY_SECONDS_FIRST, seconds, RETRY_SECONDS_MAX):
            seconds = RETRY_SECONDS_FIRST
        self.derive(may_give_up=may_give_up)
        if now + seconds >= self.give_up_at:
            return None
        longest = RETRY_SECONDS_MAX_KEPT if may_resume else RETRY_SECONDS_MAX
        self._pause_seconds = min(2 * seconds, longest)
        return now + seconds * self._random.uniform(0.5, 1.0)


def _is_turned(servers: object, known: tuple[str, ...]) -> bool:
    """Whether these are the known servers, beginning with any of them."""
    if type(servers) is not list or len(servers) != len(known):
        return False
    return any(servers == [*known[at:], *known[:at]] for at in range(max(1, len(known))))


def _is_between(least: float, value: object, most: float) -> bool:
    return type(value) is float and least <= value <= most
