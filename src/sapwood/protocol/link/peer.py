"""A neighbour or client as the node sees it: its stream, and perhaps a line."""

from __future__ import annotations

from typing import Final

import msgspec

from sapwood.protocol.fitting import (
    COUNT,
    FLAG,
    NOTHING,
    TEXT,
    TEXTS,
    TIME,
    TIME_OR_NOTHING,
    Kinds,
    Parts,
)
from sapwood.protocol.link.channel import Channel
from sapwood.protocol.link.handshake import COUNT_MAX, JournalMark
from sapwood.protocol.link.line import Line


class Introduction(msgspec.Struct, frozen=True, kw_only=True):
    """What the other side said about itself, and what was agreed in the handshake."""

    name: str
    session: int
    is_client: bool = False
    secret: str = ""
    """What has to be shown to resume the stream; empty: nothing, as with older releases."""
    in_tree: bool = True
    addresses: tuple[str, ...] = ()
    """Of a neighbour: where it can be dialled."""
    features: tuple[str, ...] = ()
    refresh_seconds: float = 0.0
    """Of a neighbour: how often it compares tables."""
    routing: str = ""
    """Of a neighbour: how it tells what it wants; empty if it did not say."""
    expects_us: bool = False
    """Of a neighbour: whether its session before this one had this broker as a neighbour, to the
    end; so that it takes part only when this one is back."""
    former: int = 0
    """Of a neighbour: the number of that session; 0 if it is not known."""
    slow_policy: str = ""
    """Of a client: what happens when it does not keep up."""
    has_moved: bool = False
    """Of a client: whether its session was at another broker before."""
    streams: int = 0
    """Of a client: how many streams its session had begun before."""
    journal: str = ""
    """Of a neighbour: the name of its journal, if it keeps one."""
    mark: JournalMark | None = None
    """Of such a neighbour: how far the journal of this broker has come to it."""


class Peer:
    """Whoever frames are exchanged with, across connections. Plain data."""

    __slots__ = (
        "addresses",
        "away_since",
        "broken_in",
        "broken_out",
        "bytes_in",
        "bytes_out",
        "channel",
        "check_at",
        "claimed_again",
        "congested_since",
        "ended_orderly",
        "expects_us",
        "features",
        "former",
        "frames_in",
        "frames_in_at_silence",
        "frames_out",
        "frames_seen",
        "given_up_seen",
        "has_moved",
        "heard_at",
        "holders",
        "holds",
        "homes",
        "in_tree",
        "is_client",
        "is_condemned",
        "is_over",
        "journal",
        "line",
        "lost_there",
        "mark",
        "name",
        "order",
        "progress_at",
        "refresh_seconds",
        "round_trip",
        "routing",
        "secret",
        "session",
        "slow_policy",
        "streams",
    )

    def __init__(self, said: Introduction, channel: Channel) -> None:
        self.name = said.name
        self.session = said.session
        self.channel = channel
        self.is_client = said.is_client
        self.secret = said.secret
        self.in_tree = said.in_tree
        self.addresses, self.features = said.addresses, said.features
        self.refresh_seconds = said.refresh_seconds
        self.routing = said.routing
        self.expects_us = said.expects_us
        self.former = said.former
        self.slow_policy = said.slow_policy
        self.has_moved = said.has_moved
        self.streams = said.streams
        self.journal, self.mark = said.journal, said.mark
        self.line: Line | None = None
        self.away_since: float | None = None
        """When the line was lost; None while there is one."""
        self.heard_at = 0.0
        """When something last came over the line that was lost."""
        self.ended_orderly = False
        """Whether the session at the other end said that it shuts down: then it has not looked at
        what it did not acknowledge."""
        self.lost_there = -1
        """How many notifications ended with the session at the other end; -1 if not known."""
        self.is_condemned = False
        """Whether this client is to be sent away when the event is done."""
        self.congested_since: float | None = None
        self.progress_at = self.round_trip = 0.0
        """When the other end last acknowledged something, and how long it took to answer the last
        ping, in seconds; zero if there was none."""
        self.holds: dict[str, None] = {}
        """Those whose credit is withheld because this one does not keep up."""
        self.holders: dict[str, None] = {}
        """Those because of whom the credit of this one is withheld."""
        self.claimed_again: set[tuple[str, str]] | None = None
        """Of a client that was lost by another broker or session: what it has asked for since."""
        self.homes: tuple[tuple[str, int], ...] = ()
        """Of a client that was handed over: the brokers and sessions at which it may take its
        stream to be."""
        self.order = 0
        """Of a client, where rows are recorded: what it has published and got, in its own order."""
        self.is_over = False
        """Whether its stream contradicts itself: the next connection begins a new one."""
        self.check_at = float("-inf")
        """When its stream is looked at again, and the other end is told how far it is."""
        self.broken_in = self.broken_out = -1
        """How many frames had come, or were acknowledged, when a connection last ended because
        what came over it, or what was sent, made no sense; -1: never."""
        self.given_up_seen = self.frames_in = self.frames_out = self.bytes_in = self.bytes_out = 0
        self.frames_in_at_silence = 0
        """How many had come when tables were last missed."""
        self.frames_seen = 0
        """Of those that came: how many when it was last looked whether there are any."""

    def __repr__(self) -> str:
        if self.is_client:
            return f"<client {self.name}>"
        return f"<broker {self.name}.{self.session}>"

    def forget_line(self, now: float) -> None:
        """Begin again with all that is about the line and about others."""
        self.away_since = self.heard_at = self.progress_at = now
        self.ended_orderly, self.lost_there = False, -1
        self.is_condemned = False
        self.congested_since = None
        self.holds, self.holders = {}, {}
        self.claimed_again = None
        self.broken_in = self.broken_out = -1
        self.given_up_seen = self.frames_in = self.frames_out = 0
        self.bytes_in = self.bytes_out = 0
        self.frames_seen = self.frames_in_at_silence = 0

    @property
    def is_untouched(self) -> bool:
        """Whether nothing has come over the stream, and nothing has arrived."""
        channel = self.channel
        return not self.is_over and channel.received == 0 and channel.acknowledged == 0

    @property
    def can_be_shown(self) -> bool:
        """Whether its stream can be told of in a hello: a fault may have left anything."""
        types = tuple(map(type, (self.name, self.session, self.secret)))
        is_named = types == (str, int, str) and 1 <= self.session <= COUNT_MAX
        return is_named and self.channel.is_sound


PEER_KINDS: Final[Kinds] = {
    "addresses": TEXTS,
    "away_since": TIME_OR_NOTHING,
    "broken_in": COUNT,
    "broken_out": COUNT,
    "bytes_in": COUNT,
    "bytes_out": COUNT,
    "channel": (Channel,),
    "check_at": TIME,
    "claimed_again": (set, NOTHING),
    "congested_since": TIME_OR_NOTHING,
    "ended_orderly": FLAG,
    "expects_us": FLAG,
    "features": TEXTS,
    "former": COUNT,
    "frames_in": COUNT,
    "frames_in_at_silence": COUNT,
    "frames_out": COUNT,
    "frames_seen": COUNT,
    "given_up_seen": COUNT,
    "has_moved": FLAG,
    "heard_at": TIME,
    "holders": (dict,),
    "holds": (dict,),
    "homes": Parts(tuple),
    "in_tree": FLAG,
    "is_client": FLAG,
    "is_condemned": FLAG,
    "is_over": FLAG,
    "journal": TEXT,
    "line": (Line, NOTHING),
    "lost_there": COUNT,
    "mark": (JournalMark, NOTHING),
    "name": TEXT,
    "order": COUNT,
    "progress_at": TIME,
    "refresh_seconds": TIME,
    "round_trip": TIME,
    "routing": TEXT,
    "secret": TEXT,
    "session": COUNT,
    "slow_policy": TEXT,
    "streams": COUNT,
}

STREAM_FIELDS: Final = frozenset({"channel", "features", "is_over", "name", "secret", "session"})
"""Without these nobody knows whose stream it is, or how it goes on: it begins anew."""
