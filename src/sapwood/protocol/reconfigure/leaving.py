"""A broker at the edge of the tree leaves, and its neighbour takes over its clients.

The broker that leaves says so (`Leaving`). Its neighbour stops the stream to it: what would go
there from now on is kept back, and `Flushed` is the last that comes. So when the leaving broker has
that, it has everything that was ever for its clients. It reads its clients no longer, and sends the
neighbour, behind all that they published, each of them with its subscriptions, the counts of its
stream and what it has not acknowledged (`Adopt`); then `Left`. In that one event the neighbour puts
the clients in the place of the broker: their entries for its entries, so that nobody upstream is
told of anything; and what was kept back is matched for them, behind what they had. What a client
gets is one stream: first what its old broker had for it, then what was kept back, then the rest. On
a tree with links that keep their order that is causal order, too: nothing that the old broker
passed on can depend on what was kept back.

The neighbour's part is here, and what both say. The stream of the leaving broker's clients is in
``link.handing``. Nothing is locked for long: a neighbour that hears nothing for some seconds lets
the stream go on, and the broker that leaves ends as it would without handing over.

Design: RECONFIGURATION, section 7.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple, Protocol

import msgspec

from sapwood.errors import SapwoodError
from sapwood.protocol.clients import ADVERTISED, SUBSCRIBED
from sapwood.protocol.core import Core
from sapwood.protocol.drops import Drop
from sapwood.protocol.due import is_due, past
from sapwood.protocol.effects import (
    Adopted,
    Adoptee,
    Bar,
    Effect,
    Forward,
    HandOver,
    Record,
    Send,
    StayHere,
)
from sapwood.protocol.events import LeaveBegun, LeaveEnded
from sapwood.protocol.fences import ANYWHERE, NOWHERE
from sapwood.protocol.gaps import Gaps
from sapwood.protocol.machine import EventHandler, Machine, MessageHandler
from sapwood.protocol.messages import (
    CODEC,
    Adopt,
    AdoptedStream,
    Flushed,
    Leaving,
    Left,
    Missed,
    NotAdopting,
    SpooledRun,
)
from sapwood.protocol.neighbours import MOVES
from sapwood.protocol.restoration import Restoration
from sapwood.protocol.waves import Waves
from sapwood.routing.strategy import Entry
from sapwood.wire.frames import (
    CONTROL,
    EXPIRES,
    NOTIFICATION_TYPES,
    decode_head,
    expiry_of,
    frame,
    split,
)

SILENCE_SECONDS: Final = 4.0
"""How long a broker that leaves may say nothing before its stream goes on. Shorter than
`link.slow_seconds`: nothing that is kept back is given up for that."""

ADOPTION_SECONDS: Final = 60.0
"""How long it may take in all."""

CLIENT_BYTES_MAX: Final = 64 * 2**20
"""What one client may bring along; more than any broker keeps for it."""

KINDS: Final = {"s": SUBSCRIBED, "a": ADVERTISED}
"""What an entry of a table is in the terms of clients."""


class Adopting(msgspec.Struct):
    """A client that is being handed over, as far as it has come."""

    stream: AdoptedStream
    claims: list[tuple[str, str, str]] = []
    """Table, id and text."""
    runs: list[SpooledRun] = []
    size: int = 0
    is_complete: bool = False


class Adoption(msgspec.Struct):
    """A neighbour hands its clients over."""

    change: str
    since: float
    heard_at: float
    clients: dict[str, Adopting] = {}


class Departed(NamedTuple):
    """A session of a broker that has left."""

    session: int
    until: float
    """How long it is remembered: it may not have heard yet that its clients are here."""


class Links(Protocol):
    """What the broker does about links for this machine."""

    def drop_link(self, name: str, now: float) -> list[Effect]:
        """A neighbour is gone for good, and all it wanted."""

    def welcome_client(self, name: str, now: float) -> list[Effect]:
        """A client's session goes on here."""


class Leaves(Machine):
    """Takes over the clients of neighbours that leave, and hears from the one they go to."""

    name = "leaving"
    derived = ("_links",)

    def __init__(
        self, core: Core, links: Links, restoration: Restoration, waves: Waves, gaps: Gaps
    ) -> None:
        super().__init__(core)
        self.adopting: dict[str, Adoption] = {}
        """By neighbour that leaves."""
        self.left: dict[str, Departed] = {}
        """Brokers whose clients are here now; for some time."""
        self.departs_until = float("-inf")
        """Until when this broker itself is leaving, and takes nobody over."""
        self._links = links
        self._restoration = restoration
        self._waves = waves
        self._gaps = gaps

    def events(self) -> Mapping[type, EventHandler]:
        """This broker begins to leave, or is about to end."""
        return {LeaveBegun: self._begun, LeaveEnded: self._ended}

    def from_neighbours(self) -> Mapping[type, MessageHandler]:
        """What both ends say."""
        return {
            Leaving: self._leaving,
            Flushed: self._flushed,
            NotAdopting: self._not_adopted,
            Adopt: self._adopt,
            Left: self._left,
        }

    # The broker that leaves

    def _begun(self, event: LeaveBegun, now: float) -> list[Effect]:
        effects = self._give_up_all("this broker is leaving, too")
        self.departs_until = now + ADOPTION_SECONDS
        return [*effects, Send(event.neighbour, Leaving(event.change, event.clients))]

    def _ended(self, event: LeaveEnded, now: float) -> list[Effect]:
        return self._give_up_all(event.reason)

    def _flushed(self, source: str, message: Flushed, now: float) -> list[Effect]:
        return [HandOver(source, message.change)]

    def _not_adopted(self, source: str, message: NotAdopting, now: float) -> list[Effect]:
        return [StayHere(source, message.change, message.reason)]

    # Its neighbour

    def _leaving(self, source: str, message: Leaving, now: float) -> list[Effect]:
        reason = self._objection(source, message, now)
        if reason:
            return [Send(source, NotAdopting(message.change, reason))]
        self.adopting[source] = Adoption(message.change, now, now)
        return [Send(source, Flushed(message.change)), Bar(source, is_barred=True)]

    def _objection(self, source: str, message: Leaving, now: float) -> str:
        """Why the clients of a neighbour cannot be taken over now."""
        if not is_due(self.departs_until, now, ADOPTION_SECONDS):
            return f"broker {self.core.id} is leaving, too"
        if self._restoration.is_active:
            return f"broker {self.core.id} was restarted and restores its tables"
        if source in self.adopting:
            return "the clients are being handed over already"
        if self.core.is_held(source):
            return "the link does not carry"
        room = self.core.config.clients_max - len(self.core.clients)
        if message.clients > room:
            return f"there is room for {max(0, room)} clients, not for {message.clients}"
        return ""

    def _adopt(self, source: str, message: Adopt, now: float) -> list[Effect]:
        adoption = self._adoption(source, message.change)
        if adoption is None:
            return self.core.drops.count(Drop.STRAY, source)
        adoption.heard_at = now
        clients = adoption.clients
        one = clients.get(message.client)
        if one is None and message.stream is not None:
            if len(clients) >= self.core.config.clients_max:
                return self._give_up(source, "too many clients")
            one = clients[message.client] = Adopting(message.stream)
        if one is None or one.is_complete:
            return self._give_up(source, f"parts of {message.client} are missing")
        one.claims += message.claims
        one.runs += message.runs
        one.size += sum(len(run.data or b"") for run in message.runs)
        one.size += sum(len(entry_id) + len(text) for _, entry_id, text in message.claims)
        one.is_complete = message.is_last
        if one.size > CLIENT_BYTES_MAX:
            return self._give_up(source, f"{message.client} brings along too much")
        return []

    def _adoption(self, source: str, change: str) -> Adoption | None:
        adoption = self.adopting.get(source)
        return adoption if adoption is not None and adoption.change == change else None

    def _left(self, source: str, message: Left, now: float) -> list[Effect]:
        """Let the clients take the place of the broker that has left, all at once."""
        adoption = self._adoption(source, message.change)
        if adoption is None:
            return self.core.drops.count(Drop.STRAY, source)
        del self.adopting[source]
        adoptees: list[Adoptee] = []
        following: list[Effect] = []
        for client, one in adoption.clients.items():
            if one.is_complete and self._may_adopt(source, client):
                following += self._enter(client, one, now)
                adoptees.append(Adoptee(client, one.stream, tuple(one.runs)))
        following += self._links.drop_link(source, now)
        for adoptee in adoptees:
            for user, number, kind, entry_id in adoptee.stream.requests:
                following += self._waves.take_over(
                    user, adoptee.client, number, now, kind, entry_id
                )
        return [
            Adopted(source, tuple(adoptees)),
            *following,
            *self._recorded(source, adoption, len(adoptees), now),
        ]

    def _may_adopt(self, source: str, client: str) -> bool:
        """Whether a client is not elsewhere by now, here among others."""
        core = self.core
        fence = core.fences.homes.get(client)
        is_elsewhere = fence is not None and fence.source not in (NOWHERE, ANYWHERE, source)
        return not is_elsewhere and client not in core.clients and client not in core.neighbours

    def _enter(self, client: str, one: Adopting, now: float) -> list[Effect]:
        """A client is here, with what it claims; nobody is told before all are.

        Its publications came from the broker that leaves: if there is a fence, they come from the
        client itself now.
        """
        core = self.core
        core.clients.add(client, one.stream.features)
        core.clients.away[client] = None
        for table, entry_id, text in one.claims:
            try:
                filter = core.parse(text)
            except SapwoodError:
                core.drops.count(Drop.MALFORMED, client)
                continue
            own = core.subscriptions if table == "s" else core.advertisements
            core.add(own, Entry(client, entry_id, filter), text)
            core.clients.claim(client, KINDS[table], entry_id, filter)
        fence = core.fences.homes.get(client)
        if fence is not None:
            core.fences.homes[client] = fence._replace(source=client)
        return self._links.welcome_client(client, now)

    def _recorded(self, source: str, adoption: Adoption, clients: int, now: float) -> list[Effect]:
        if not (self.core.config.recording or self.core.config.noting):
            return []
        seconds = now - past(adoption.since, now)
        what = f"{adoption.change} removed {source}: {clients} clients in {seconds:.3f} s"
        return [Record("reconfigured", {"source": source, "message": what})]

    def note_left(self, broker: str, session: int, now: float) -> None:
        """A session of a broker has left for good; its next one may come in."""
        self.left[broker] = Departed(session, now + ADOPTION_SECONDS)

    def has_left(self, broker: str, session: int) -> bool:
        """Whether a session of a broker has left a short time ago."""
        departed = self.left.get(broker)
        return departed is not None and departed.session == session

    # What was kept back

    def replay(
        self,
        neighbour: str,
        runs: Iterable[tuple[bytes | None, int]],
        clients: Collection[str],
        now: float,
    ) -> Iterator[Effect]:
        """What was kept back for a broker that has left, for its clients; in order.

        Of a run that had to be given up they are told how much it was.
        """
        for data, count in runs:
            if data is None:
                missed = Missed(count, f"{self.core.id}-{neighbour}")
                yield from self._missed(missed, clients)
                continue
            for kind, head, body in split(data):
                if kind == CONTROL:
                    message = CODEC.decode(body)
                    if isinstance(message, Missed):
                        yield from self._missed(message, clients)
                elif kind in NOTIFICATION_TYPES:
                    yield from self._again(neighbour, kind, head, body, clients, now)

    def _missed(self, message: Missed, clients: Collection[str]) -> Iterator[Effect]:
        for client in self._gaps.concerned(message, clients):
            yield Send(client, message)

    def _again(
        self,
        neighbour: str,
        kind: int,
        head: bytes,
        body: bytes,
        clients: Collection[str],
        now: float,
    ) -> Iterator[Effect]:
        _, attributes = decode_head(head)
        wanting = self.core.forwarding.wanting(head, attributes)
        wanted = tuple(name for name in wanting if name in clients)
        if not wanted:
            return
        if kind & EXPIRES and not expiry_of(body, 0) > now + self.core.skew:
            yield from self.core.drops.count(Drop.EXPIRED, neighbour)
            return
        yield Forward(wanted, frame(kind, head, body), 1)

    # When it comes to nothing

    def _give_up(self, source: str, reason: str) -> list[Effect]:
        """Do not take over the clients of a neighbour; what was kept back goes to it."""
        adoption = self.adopting.pop(source, None)
        if adoption is None:
            return []
        refusal = NotAdopting(adoption.change, reason)
        return [Bar(source, is_barred=False), Send(source, refusal)]

    def _give_up_all(self, reason: str) -> list[Effect]:
        return [
            effect for source in list(self.adopting) for effect in self._give_up(source, reason)
        ]

    def link_down(self, neighbour: str, now: float) -> list[Effect]:
        """A neighbour is gone before its clients were here."""
        self.adopting.pop(neighbour, None)
        return []

    @property
    def next_at(self) -> float | None:
        """When somebody has said nothing for too long."""
        return min(map(_until, self.adopting.values()), default=None)

    def tick(self, now: float) -> list[Effect]:
        """Wait no longer for those who say nothing, and forget those who left long ago."""
        self.left = {
            broker: one
            for broker, one in self.left.items()
            if not is_due(one.until, now, ADOPTION_SECONDS)
        }
        late = [
            source
            for source, one in self.adopting.items()
            if is_due(one.heard_at + SILENCE_SECONDS, now, SILENCE_SECONDS)
            or is_due(one.since + ADOPTION_SECONDS, now, ADOPTION_SECONDS)
        ]
        effects: list[Effect] = []
        for source in late:
            effects += self._give_up(source, "it took too long")
        return effects

    # Looking

    def can_adopt(self, neighbour: str) -> bool:
        """Whether a neighbour can take over clients, as far as is known here."""
        one = self.core.neighbours.get(neighbour)
        return (
            one is not None
            and one.in_tree
            and not one.is_away
            and MOVES in one.features
            and not self.core.is_held(neighbour)
        )

    def report(self) -> dict[str, Any]:
        """From how many neighbours clients are being taken over."""
        return {"adopting": len(self.adopting)}

    def state(self) -> Any:
        """What has come so far."""
        return {
            "adopting": {
                source: msgspec.to_builtins(one) for source, one in sorted(self.adopting.items())
            },
            "left": {broker: list(one) for broker, one in sorted(self.left.items())},
            "departs_until": self.departs_until,
        }

    def problems(self) -> Iterator[str]:
        """Clients come from neighbours in the tree."""
        for source in self.adopting:
            if not self.core.neighbours.is_in_tree(source):
                yield f"clients are taken over from {source}, who is no neighbour"


def _until(adoption: Adoption) -> float:
    return min(adoption.heard_at + SILENCE_SECONDS, adoption.since + ADOPTION_SECONDS)
