"""What a broker keeps of a change of the tree, and how it reads frames meanwhile.

What comes over the new link waits at its two ends until the change is complete: then everything
that crossed the old link is here. Bytes are kept as they came, and the neighbour gets no credit, so
that no more wait than one window holds. Everything else is read as ever, and coloured afterwards
(``colouring``).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Final, Protocol

import msgspec

from sapwood.errors import SapwoodError
from sapwood.protocol.core import Core
from sapwood.protocol.drops import Drop
from sapwood.protocol.effects import Effect, Record, Send, Withhold
from sapwood.protocol.fences import Fence
from sapwood.protocol.gaps import Gaps
from sapwood.protocol.machine import Machine
from sapwood.protocol.messages import CODEC, ClientMoved, ClientsAt, Message
from sapwood.protocol.reconfigure import directions, ways
from sapwood.protocol.reconfigure.colouring import coloured, count_notifications, is_gray, pieces
from sapwood.protocol.reconfigure.messages import (
    COMPLETED,
    UNDONE,
    Ask,
    Done,
    Outcome,
    Paint,
    TablePart,
    Undo,
)
from sapwood.protocol.reconfigure.rooting import Rooting
from sapwood.protocol.reconfigure.state import Ring
from sapwood.protocol.restoration import Restoration
from sapwood.protocol.stabilize.tree import Tree
from sapwood.protocol.waves import Waves
from sapwood.wire.frames import HEADER_SIZE

FINISHED_MAX: Final = 64
"""Changes whose end is remembered."""

_AHEAD: Final = (Undo, Ask, Done)
"""Messages that are looked at ahead of what waits."""


class Ended(Protocol):
    """Whoever began a change wants to know how it ended."""

    def ended(self, change: str, outcome: Outcome, reason: str, now: float) -> list[Effect]:
        """A change that this broker began has ended here."""


class Hub(Protocol):
    """What a change asks of the broker."""

    def exchange_link(self, name: str, now: float) -> list[Effect]:
        """A candidate is part of the tree in the place of another link."""

    def stand_aside(self, name: str, now: float) -> list[Effect]:
        """A link is part of the tree no longer, and stays for what is under way over it."""

    def thaw(self, name: str, now: float) -> list[Effect]:
        """A neighbour is told again what it is owed."""

    def keep_link(self, name: str, now: float) -> list[Effect]:
        """A link of the tree has no connection for the time being."""

    def compare(self, name: str, now: float) -> list[Effect]:
        """Let the two ends of an edge compare what they told and hold."""

    def turn_ways(self, turned: Mapping[str, Fence]) -> None:
        """The publications of clients that moved come by another way from now on."""

    def tell_moves(self, name: str, clients: Collection[str]) -> list[Effect]:
        """Tell a neighbour where clients are of whose moves it could not hear."""

    def ask_to_tell(self, path: tuple[str, ...], now: float) -> list[Effect]:
        """Have all edges tell that a change on a path needs to."""

    def choose_reader(self) -> None:
        """Let frames be coloured from now on, or no longer."""

    def read_plainly(self, source: str, data: bytes, now: float) -> list[Effect]:
        """Take frames without regard to colours."""


class Holding(Machine):
    """The state of one broker's part in a change; nothing while there is none."""

    name = "turning"
    derived = ("initiator", "_hub", "_rooting")

    def __init__(
        self,
        core: Core,
        hub: Hub,
        waves: Waves,
        restoration: Restoration,
        gaps: Gaps,
        tree: Tree,
    ) -> None:
        super().__init__(core)
        self.ring: Ring | None = None
        self.finished: dict[str, Outcome] = {}
        """The last changes that ended here, and how."""
        self.joined: dict[str, str] = {}
        """By change: the neighbour whose link it brought into the tree here."""
        self.stayed: dict[str, str] = {}
        """By change that was undone: the neighbour beyond the old link, right of it."""
        self.deaf: dict[str, tuple[str, float]] = {}
        """Neighbours whose notifications are given up until the flush of a change comes; since
        when they could have sent it."""
        self.recent: dict[str, float] = {}
        """Neighbours with whom a change has ended here, and when: for them it may go on."""
        self.parts: dict[str, list[TablePart]] = {}
        """By neighbour: the tables of which not all is here yet."""
        self.initiator: Ended | None = None
        self._hub = hub
        self._waves = waves
        self._restoration = restoration
        self._gaps = gaps
        self._tree = tree
        self._rooting = Rooting(core, tree)

    @property
    def seconds(self) -> float:
        """How long a change may take until it is undone; longer where links are slow."""
        tree = self.core.config.tree
        return max(tree.change_seconds, 4 * tree.ring_max * self._tree.delay)

    # Notifications

    def read(self, source: str, data: bytes, now: float) -> list[Effect]:
        """Take whole frames while a change is under way; what follows from them, in order."""
        effects: list[Effect] = []
        for piece, is_control in pieces(data):
            effects += self._read_piece(source, piece, is_control, now)
        return effects

    def _read_piece(self, source: str, data: bytes, is_control: bool, now: float) -> list[Effect]:
        ring = self.ring
        if ring is not None and self.holds(source):
            return self._hold(ring, source, data, is_control, now)
        if source in self.deaf and not is_control:
            return self._give_up(source, count_notifications(data))
        if ring is None or is_control:
            return self._hub.read_plainly(source, data, now)
        gray = is_gray(ring, source)
        if gray and not ring.is_gray:
            raise AssertionError(f"gray from {source} before {self.core.id} has turned")
        effects = coloured(ring, gray, self._hub.read_plainly(source, data, now))
        ring.sent += sum(type(one) is Send and type(one.message) is Paint for one in effects)
        return effects

    def holds(self, source: str) -> bool:
        """Whether what comes from a neighbour has to wait."""
        return self.ring is not None and self.ring.is_closed and source == self.ring.new

    def trusts(self, name: str, now: float) -> bool:
        """Whether a change is or was under way with a neighbour: its place may seem wrong."""
        if self.ring is not None and name in self.ring.sides:
            return True
        return name in self.recent and 0 <= now - self.recent[name] < 3 * self.seconds

    def excludes(self, name: str, session: int) -> bool:
        """Whether a broker that was restarted is not let in before the change has ended here.

        It has forgotten the change. If it is below, it would carry to the old link what others
        send over the new one, and be taken for a broker of the old tree (F8). The decider is let
        in: without it nobody decides, and whoever is above it goes on as if it had.
        """
        ring, known = self.ring, self.core.neighbours.get(name)
        if ring is None or known is None or name != ring.down or name == ring.decider:
            return False
        return session != known.session

    def needs(self, name: str) -> bool:
        """Whether the link to a broker is the new one of the change under way."""
        return self.ring is not None and name == self.ring.new

    def hold_message(self, source: str, message: Message, now: float) -> list[Effect] | None:
        """Let a message wait that came by itself; None if it is looked at ahead."""
        ring = self.ring
        if ring is None or (isinstance(message, _AHEAD) and message.change == ring.change):
            return None
        ring.held.append(CODEC.encode(message))
        return []

    def _hold(
        self, ring: Ring, source: str, data: bytes, is_control: bool, now: float
    ) -> list[Effect]:
        """Keep what comes over the new link, but for what ends the change."""
        if is_control:
            try:
                message = CODEC.decode(data[HEADER_SIZE:])
            except SapwoodError:
                return self.core.drops.count(Drop.MALFORMED, source)
            if isinstance(message, _AHEAD) and message.change == ring.change:
                return self.from_neighbours()[type(message)](source, message, now)
        ring.held.append(data)
        return []

    def _give_up(self, source: str, count: int) -> list[Effect]:
        """Notifications of a neighbour are not taken any more: those concerned are told."""
        if not count:
            return []
        link = f"{source}-{self.core.id}"
        return self._gaps.pass_on(source, count, link, None)

    def _hear(self, source: str) -> None:
        """The flush that a neighbour's notifications were given up for has come, or never will."""
        self.deaf.pop(source, None)
        self._hub.choose_reader()

    def _hear_of(self, source: str, change: str) -> None:
        """A neighbour says that a change has ended for it."""
        if source in self.deaf and self.deaf[source][0] == change:
            self._hear(source)

    def _hear_in_time(self, now: float) -> None:
        """A neighbour that is connected has its flush within the time that a lock may last."""
        for name, (change, since) in list(self.deaf.items()):
            neighbour = self.core.neighbours.get(name)
            if neighbour is None:
                self._hear(name)
            elif not neighbour.is_connected or not since <= now:
                self.deaf[name] = (change, now)
            elif now - since >= 3 * self.seconds:
                self._hear(name)

    # What is for everybody, and clients that moved

    def is_stale(self, source: str, client: str) -> bool:
        """Whether what a source brings of a client is what the client's old broker had left."""
        assert self.ring is not None
        return ways.is_stale(self.core, self.ring, source, client)

    def reach(self, source: str, names: Iterable[str]) -> list[str]:
        """Of the neighbours in the tree those to whom goes on what comes from a source."""
        assert self.ring is not None
        return ways.reach(self.core, self.ring, source, names)

    def spread(self, source: str, message: Message, names: Iterable[str]) -> list[Effect]:
        """Send a message that comes from a source to some of those whom it can reach."""
        assert self.ring is not None
        return ways.spread(self.ring, source, message, names)

    def note_move(self, source: str, message: ClientMoved | ClientsAt) -> None:
        """A neighbour says where clients are that have moved."""
        if self.ring is not None:
            ways.note(self.ring, source, message)

    # What others ask

    def knows(self, change: str) -> bool:
        """Whether this broker takes or took part in a change."""
        return change in self.finished or (self.ring is not None and self.ring.change == change)

    def said_since(self, name: str) -> None:
        """A beacon of a neighbour came that was sent after the change had ended for it."""
        ring = self.ring
        if ring is not None and name in ring.heard:
            ring.newer[name] = None

    def freeze(self) -> None:
        """Let those be frozen, and nobody else, with whom a change is under way."""
        sides = () if self.ring is None else self.ring.sides
        for name, neighbour in self.core.neighbours.items():
            neighbour.is_frozen = name in sides

    def go_on(self) -> None:
        """Go on with what an audit has built anew around this machine."""
        ring = self.ring
        if ring is None:
            return
        self._rooting.lock_again(ring)
        self._hub.choose_reader()

    @property
    def joining(self) -> str:
        """The neighbour over the new link, while it gets notifications outside the tree."""
        return self.ring.new if self.ring is not None and self.ring.is_gray else ""

    def gets_everything(self, neighbour: str) -> bool:
        """Whether a neighbour gets everything because of the change under way."""
        ring = self.ring
        if ring is None or neighbour not in ring.sides:
            return False
        return directions.gets_everything(self.core, ring, neighbour)

    def _say(self, neighbour: str, message: Message) -> Send:
        if self.ring is not None:
            self.ring.sent += 1
        return Send(neighbour, message)

    def _is_possible(self, ring: Ring) -> bool:
        """Whether this broker can be where the ring says, among neighbours it has."""
        n = len(ring.path)
        return (
            0 < ring.k < n
            and 0 <= ring.place < n
            and ring.path[ring.place] == self.core.id
            and any(name in self.core.neighbours for name in ring.sides)
        )

    # The end

    def _leave(self, ring: Ring, outcome: Outcome, reason: str, now: float) -> list[Effect]:
        """The change is over here; its edges are frozen until `_thaw`."""
        self.ring = None
        self.parts.clear()
        self.core.forwarding.forget_publishers()
        self._finish(ring.change, outcome)
        self._rooting.unlock()
        self._hub.choose_reader()
        self._waves.spoil()
        recent = [one for one, at in self.recent.items() if 0 <= now - at < 3 * self.seconds]
        self.recent = {one: self.recent[one] for one in recent} | dict.fromkeys(ring.sides, now)
        effects: list[Effect] = []
        if ring.is_closed and ring.new in self.core.neighbours:
            effects.append(Withhold(ring.new, is_withheld=False))
        if not (self.core.config.recording or self.core.config.noting):
            return effects
        fields = {
            "change": ring.change,
            "outcome": outcome,
            "ring": " ".join(ring.path),
            "old": f"{ring.path[ring.k - 1]}-{ring.path[ring.k]}",
            "new": f"{ring.path[0]}-{ring.path[-1]}",
            "messages": ring.sent,
            "seconds": now - ring.since,
        }
        row = Record("reconfigured", {"message": msgspec.json.encode(fields).decode()})
        return [*effects, row]

    def _finish(self, change: str, outcome: Outcome) -> None:
        if change not in self.finished:
            self.finished[change] = outcome
        for kept in (self.finished, self.joined, self.stayed):
            while len(kept) > FINISHED_MAX:
                del kept[next(iter(kept))]

    def _thaw(self, ring: Ring, now: float) -> list[Effect]:
        """Tell the neighbours on the ring what has changed meanwhile."""
        effects: list[Effect] = []
        for name in ring.sides:
            neighbour = self.core.neighbours.get(name)
            if neighbour is not None:
                neighbour.is_frozen = False
        for name in ring.sides:
            if self.core.neighbours.is_in_tree(name):
                effects += self._hub.thaw(name, now)
        return effects

    def _tell_initiator(
        self, ring: Ring, outcome: Outcome, reason: str, now: float
    ) -> list[Effect]:
        if not ring.is_initiator or self.initiator is None:
            return []
        return self.initiator.ended(ring.change, outcome, reason, now)

    # Looking

    def report(self) -> dict[str, Any]:
        """The change under way, and how the last ones ended."""
        ring = self.ring
        outcomes = list(self.finished.values())
        return {
            "change": "" if ring is None else ring.change,
            "ring": [] if ring is None else list(ring.path),
            "gray": ring is not None and ring.is_gray,
            "held_bytes": 0 if ring is None else sum(map(len, ring.held)),
            "completed": outcomes.count(COMPLETED),
            "undone": outcomes.count(UNDONE),
            "finished": dict(self.finished),
        }

    def state(self) -> Any:
        """The ring, and how changes ended."""
        return {
            "ring": None if self.ring is None else _plain(self.ring),
            "finished": dict(sorted(self.finished.items())),
            "joined": dict(sorted(self.joined.items())),
            "stayed": dict(sorted(self.stayed.items())),
            "parts": {
                name: [msgspec.to_builtins(one) for one in kept]
                for name, kept in sorted(self.parts.items())
            },
            "deaf": {name: list(one) for name, one in sorted(self.deaf.items())},
        }

    def problems(self) -> Iterator[str]:
        """What must hold of a change, and without one."""
        yield from self._freeze_problems()
        core, ring = self.core, self.ring
        if ring is None:
            return
        if ring.change in self.finished:
            yield f"{ring.change} is under way, and has ended"
        if not self._is_possible(ring):
            yield f"{ring.change} makes no sense here: {ring.path}, {ring.place}"
        if ring.held and not ring.is_closed:
            yield "something waits though the new link is not closed"
        for name in ring.intruders:
            yield f"{name} told differences between its table and the end of {ring.change}"
        if ring.is_gray and not ring.tabled:
            yield f"{ring.change} has turned here without a table"
        for name, draft in ring.drafts.items():
            for table, own in (
                (core.advertisements, draft.advertisements),
                (core.subscriptions, draft.subscriptions),
            ):
                for entry_id in own.pending:
                    if table.get(name, entry_id) is None:
                        yield f"{entry_id} of {name} is to go, and is not in the table"

    def _freeze_problems(self) -> Iterator[str]:
        """Those are frozen with whom a change is under way, and the reader knows of it."""
        core, ring = self.core, self.ring
        frozen = [name for name, one in core.neighbours.items() if one.is_frozen]
        sides = [] if ring is None else [name for name in ring.sides if name in core.neighbours]
        if sorted(frozen) != sorted(sides):
            yield f"frozen are {sorted(frozen)}, those on a ring are {sorted(sides)}"
        if self._tree.change != ("" if ring is None else ring.change):
            yield f"the tree takes {self._tree.change!r} for the change under way"


def _plain(ring: Ring) -> dict[str, Any]:
    """A ring as plain data."""
    return {
        "change": ring.change,
        "path": list(ring.path),
        "k": ring.k,
        "place": ring.place,
        "flags": [
            ring.is_root_left,
            ring.is_gray,
            ring.is_collected,
            ring.offer is not None,
            ring.is_flushed,
            ring.is_closed,
            ring.is_stream_gray,
            ring.is_painted_gray,
            ring.has_asked,
        ],
        "since": ring.since,
        "heard": sorted(ring.heard),
        "newer": sorted(ring.newer),
        "tabled": sorted(ring.tabled),
        "intruders": sorted(ring.intruders),
        "crossed": sorted(ring.crossed),
        "arrived": sorted(ring.arrived),
        "heard_of": sorted(ring.heard_of),
        "amid": sorted(ring.amid),
        "held": [data.hex() for data in ring.held],
        "offer": None if ring.offer is None else msgspec.to_builtins(ring.offer),
        "way": None if ring.way is None else msgspec.to_builtins(ring.way),
        "drafts": {
            name: [
                [
                    sorted(own.pending),
                    sorted(own.added),
                    sorted(own.replaced.items()),
                    None
                    if own.told is None
                    else sorted((one, str(filter)) for one, filter in own.told.items()),
                ]
                for own in (draft.advertisements, draft.subscriptions)
            ]
            for name, draft in sorted(ring.drafts.items())
        },
    }
