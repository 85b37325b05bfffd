"""The side that dials: links to the brokers that were to be joined, and finding them again.

The time between two attempts doubles up to a limit and is drawn at random, so that forty sites that
lost the same broker do not come back all at once. A broker that is a neighbour already is looked
for every two seconds at least: others wait for it.

Only one new way into the tree is looked for at a time, so that the broker on the other side sees
the one before it. Neighbours are no new way, nor are those that a restarted broker had and waits
for: one that does not answer must not keep it from the others.

Each target goes through the states of ``states.TARGET``.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import TYPE_CHECKING, Final

from sapwood.protocol.due import is_due
from sapwood.protocol.fitting import COUNT, FLAG, NOTHING, TEXT, TIME, Kinds, misfits
from sapwood.protocol.link.handing import HandingOver
from sapwood.protocol.link.handshake import (
    ALREADY_LINKED,
    AMID_CHANGE,
    BROKER,
    BUSY,
    COUNT_MAX,
    FINAL_CODES,
    PROTOCOL,
    REPLACED,
    VERSIONS,
    Goodbye,
    Hello,
    Welcome,
    algorithm_of,
    common_features,
)
from sapwood.protocol.link.line import HANDSHAKE_SECONDS, Line
from sapwood.protocol.link.peer import Introduction, Peer
from sapwood.protocol.link.states import TARGET, LineState, TargetState, following
from sapwood.protocol.ports import Connected, Dial, DialFailed, Joined, JoinFailed
from sapwood.routing.algorithms import ALGORITHMS

if TYPE_CHECKING:
    from sapwood.protocol.node import Node

NEIGHBOUR_RETRY_SECONDS_MAX: Final = 2.0
"""Longest time between two attempts to reach a broker that is a neighbour already."""

_ON_THE_WAY: Final = (TargetState.DIALING, TargetState.CALLING)
_IDLE: Final = (TargetState.LINKED, TargetState.GIVEN_UP, TargetState.QUEUED)


class Target:
    """An address that is to be joined. Plain data."""

    __slots__ = (
        "address",
        "at",
        "delay",
        "dial",
        "has_joined",
        "has_linked",
        "hello",
        "is_sought",
        "line",
        "peer",
        "problem",
        "state",
    )

    def __init__(self, address: str, delay: float, *, is_sought: bool = False) -> None:
        self.address = address
        self.is_sought = is_sought
        """Whether nobody asked to join it: then only a link that there is is looked for again."""
        self.state = TargetState.WAITING
        self.at = float("-inf")
        """When the next attempt is due, or when the present one has taken too long."""
        self.delay = delay
        """Until the attempt after the next one, in seconds."""
        self.dial = 0
        """The number of the present attempt."""
        self.line = 0
        """The number of its line."""
        self.hello: Hello | None = None
        """What was said on that line."""
        self.peer = ""
        """The broker that was found there."""
        self.has_linked = False
        self.has_joined = False
        """Whether the link there was part of the tree, or stood by: then the driver knows of it."""
        self.problem = ""
        """Why the last attempt failed; empty if it did not."""

    def __repr__(self) -> str:
        return f"<target {self.address} {self.state}>"

    def advance(self, what: str) -> bool:
        """Go to the next state; whether that was possible."""
        state = following(TARGET, self.state, what)
        if state is not None:
            self.state = state
        return state is not None


TARGET_KINDS: Final[Kinds] = {
    "address": TEXT,
    "at": TIME,
    "delay": TIME,
    "dial": COUNT,
    "has_joined": FLAG,
    "has_linked": FLAG,
    "hello": (Hello, NOTHING),
    "is_sought": FLAG,
    "line": COUNT,
    "peer": TEXT,
    "problem": TEXT,
    "state": (TargetState,),
}


class Dialing:
    """All targets of a node."""

    def __init__(self, node: Node, random: Random) -> None:
        self._node = node
        self._random = random
        self._dials = 0
        self.targets = self._new_targets()

    @property
    def next_at(self) -> float | None:
        """When something is due: an attempt, or the end of its time."""
        if self._node.is_stopping:
            return None
        times = [one.at for one in self._wanted if one.state not in _IDLE]
        return min(times) if times else None

    @property
    def _wanted(self) -> list[Target]:
        """The targets that matter: to a broker that leaves, only the one that takes over."""
        handing = self._node.handing
        if type(handing) is not HandingOver:
            return self.targets
        return [one for one in self.targets if handing.dials(one.peer)]

    def tick(self, now: float) -> None:
        """Time has passed, or an attempt has ended: dial whoever is to be dialled."""
        if self._node.is_stopping:
            return
        for target in self._wanted:
            if type(target.state) is not TargetState or type(target.at) is not float:
                target.state, target.at = TargetState.WAITING, now
            if target.state in _ON_THE_WAY and is_due(target.at, now, HANDSHAKE_SECONDS):
                self._late(target, now)
            elif target.state is TargetState.LINKED and not self._is_linked(target):
                self._lost(target, now)
            if target.state is TargetState.WAITING and is_due(target.at, now, self._pause_max):
                target.advance("due")
            if target.state is TargetState.QUEUED:
                self._start(target, now)

            if target.state is TargetState.LINKED and not target.has_joined:
                self._look_whether_joined(target)
        if any(map(self._is_done, self.targets)):
            self.targets = [target for target in self.targets if not self._is_done(target)]

    def seek(self, broker: str, addresses: tuple[str, ...], now: float) -> None:
        """Dial a broker that may know a way to others."""
        known = {target.address for target in self.targets}
        first = self._node.config.link.retry_first_seconds
        for address in addresses:
            if address not in known:
                self.targets.append(Target(address, first, is_sought=True))
                self.targets[-1].peer = broker
        self.tick(now)

    def _is_done(self, target: Target) -> bool:
        """Whether an address that was sought need not be dialled again."""
        has_tried = target.has_linked or target.problem != ""
        is_waiting = target.state is TargetState.WAITING and has_tried
        return target.is_sought and is_waiting and not self._is_known(target)

    @property
    def _pause_max(self) -> float:
        """Longest time that is ever waited."""
        link = self._node.config.link
        return max(link.retry_first_seconds, link.retry_max_seconds, NEIGHBOUR_RETRY_SECONDS_MAX)

    def problems(self) -> Iterator[str]:
        """What is wrong with the targets: whom to join is set from outside."""
        config = self._node.config
        if not self._joins_all():
            addresses = tuple(target.address for target in self.targets)
            yield f"targets are {addresses}, to be joined are {config.joins}"
        for target in self.targets:
            if target.state is TargetState.GIVEN_UP and self._may_not_give_up(target):
                yield f"{target} though it is to be joined"
            if not 0 < target.delay <= self._pause_max:
                yield f"{target} waits for {target.delay} s"

    def _joins_all(self) -> bool:
        """Whether those to be joined are the first targets, and all others were sought."""
        joins = self._node.config.joins
        if type(self.targets) is not list or not all(map(_is_target, self.targets)):
            return False
        own, others = self.targets[: len(joins)], self.targets[len(joins) :]
        if tuple(target.address for target in own) != joins:
            return False
        return not any(target.is_sought for target in own) and all(
            target.is_sought for target in others
        )

    def derive(self, now: float) -> None:
        """Begin anew with targets that cannot be as they are."""
        self._believe_dials()
        if not self._joins_all():
            self.targets = self._new_targets()
            self.tick(now)
        for target in self.targets:
            if target.state is TargetState.GIVEN_UP and self._may_not_give_up(target):
                target.state = TargetState.WAITING
            if not 0 < target.delay <= self._pause_max:
                target.delay = self._node.config.link.retry_first_seconds

    def forget_everything(self) -> None:
        """Begin anew: nobody is linked."""
        self.targets = self._new_targets()

    def _may_not_give_up(self, target: Target) -> bool:
        return self._node.config.joins_for_ever or target.has_linked

    def _new_targets(self) -> list[Target]:
        config = self._node.config
        return [Target(address, config.link.retry_first_seconds) for address in config.joins]

    def _start(self, target: Target, now: float) -> None:
        if self._is_linked(target):
            self._linked(target, "found")
        elif self._is_known(target) or not self._is_entering():
            self._believe_dials()
            self._dials += 1
            target.advance("turn")
            target.dial = self._dials
            target.at = now + HANDSHAKE_SECONDS
            self._node.do(Dial(target.dial, target.address))

    def _believe_dials(self) -> None:
        """Attempts have numbers above zero: others are taken for those of somebody who dialled."""
        if type(self._dials) is not int or self._dials < 0:
            self._dials = 0

    def _is_known(self, target: Target) -> bool:
        """Whether the broker there is a neighbour, so that this is no new way into the tree."""
        return target.peer in self._node.peers or self._is_awaited(target)

    def _is_awaited(self, target: Target) -> bool:
        """Whether a neighbour from before the restart was reached there, and is not back."""
        awaited = self._node.broker.restoration.expected()
        return bool(awaited) and any(
            target.address in hint.addresses and hint.broker in awaited
            for hint in self._node.config.book
        )

    def _is_linked(self, target: Target) -> bool:
        """Whether there is a connection to the broker there, over whichever line."""
        peer = self._node.peers.get(target.peer)
        return peer is not None and peer.line is not None

    def _is_entering(self) -> bool:
        return any(one.state in _ON_THE_WAY and not self._is_known(one) for one in self.targets)

    # Attempts

    def connected(self, event: Connected, now: float) -> Line | None:
        """An attempt led to a connection: introduce this broker; None if nobody waits for it."""
        target = self._find(dial=event.dial)
        if target is None or not target.advance("connected"):
            return None
        line = Line(event.connection, LineState.CALLING, now, address=target.address)
        target.line = line.number
        target.hello = self._hello()
        line.has_no_credit = not target.hello.credit
        self._node.say(line, target.hello, now)
        return line

    def _hello(self) -> Hello:
        node, config = self._node, self._node.config
        return Hello(
            role=BROKER,
            network=config.network,
            id=config.id,
            session=config.session,
            features=config.features(is_client=False),
            refresh=config.refresh_seconds(is_client=False),
            addresses=config.addresses,
            credentials=config.credentials,
            routing=config.routing_said,
            resume=node.membership.resumes(),
            tree=node.broker.tree.places(),
            is_open=node.broker.tree.is_open,
            expected=config.expected,
            former=config.former,
            credit=node.credit.initial(is_client=False),
            silence=config.link.silence_seconds,
            journal="" if node.durability is None else node.durability.epoch,
            kept=() if node.durability is None else node.durability.marks(),
        )

    def failed(self, event: DialFailed, now: float) -> None:
        """An attempt did not lead to a connection."""
        target = self._find(dial=event.dial)
        if target is not None and target.state is TargetState.DIALING:
            self._fail(target, event.reason, "", event.is_final, now)

    def refused(self, line: Line, goodbye: Goodbye, now: float) -> None:
        """The broker there does not want this one, or has connected by itself."""
        target = self._find(line=line.number)
        if target is None:
            return
        if goodbye.code == ALREADY_LINKED:
            target.peer = goodbye.broker
            if self._is_linked(target):
                self._linked(target, "found")
                return
        is_final = goodbye.code in FINAL_CODES
        self._fail(target, goodbye.reason or goodbye.code, goodbye.code, is_final, now)

    def lost(self, line: Line, reason: str, now: float) -> None:
        """A line is gone before it was answered."""
        target = self._find(line=line.number)
        if target is not None and target.state is TargetState.CALLING:
            self._fail(target, f"connection lost: {reason}", "", False, now)

    def _late(self, target: Target, now: float) -> None:
        line = self._node.lines.get(target.line)
        reason = f"{target.address} does not answer within {HANDSHAKE_SECONDS} s"
        is_calling = target.state is TargetState.CALLING
        self._fail(target, reason, "", False, now)
        if is_calling and line is not None:
            self._node.abort(line, reason, now)

    def _fail(self, target: Target, reason: str, code: str, is_final: bool, now: float) -> None:
        config = self._node.config
        is_final = is_final and not config.joins_for_ever and not target.has_linked
        target.advance("refused for good" if is_final else "failed")
        target.dial = target.line = 0
        if not target.is_sought and (is_final or reason != target.problem):
            self._node.do(JoinFailed(target.address, reason, code, is_final))
        target.problem = reason
        longest = config.link.retry_max_seconds
        if target.has_linked or self._is_known(target) or config.expected:
            longest = min(longest, NEIGHBOUR_RETRY_SECONDS_MAX)
        target.at = now + min(target.delay, longest) * self._random.uniform(0.5, 1.0)
        target.delay = min(target.delay * 2, longest)
        self._node.changed = True

    def _lost(self, target: Target, now: float) -> None:
        first = self._node.config.link.retry_first_seconds
        target.advance("lost")
        target.at = now + first * self._random.uniform(0.5, 1.0)
        target.delay = first
        target.dial = target.line = 0

    def _linked(self, target: Target, how: str) -> None:
        target.advance(how)
        target.delay = self._node.config.link.retry_first_seconds
        target.problem = ""
        if not target.has_linked:
            target.has_linked = True
        self._look_whether_joined(target)

    def _look_whether_joined(self, target: Target) -> None:
        """Tell the driver when this broker takes part by a link, or could."""
        if not target.has_joined and self._node.membership.is_joined(target.peer):
            target.has_joined = True
            if not target.is_sought:
                self._node.do(Joined(target.address))

    def _find(self, *, dial: int = 0, line: int = 0) -> Target | None:
        for target in self.targets:
            if (dial and target.dial == dial) or (line and target.line == line):
                return target
        return None

    # Welcome

    def welcome(self, line: Line, welcome: Welcome, now: float) -> None:
        """The broker there agrees; meanwhile it may have connected from its side."""
        node, target = self._node, self._find(line=line.number)
        oldest, newest = VERSIONS
        if target is None or target.hello is None:
            node.close(line, Goodbye(REPLACED, "nobody waits for this connection"), now)
            return
        reason = ""
        if not oldest <= welcome.version <= newest:
            reason = f"version {welcome.version} was never offered; {oldest}-{newest} was"
        elif welcome.routing and algorithm_of(welcome.routing) not in ALGORITHMS:
            reason = f"there is no routing {welcome.routing!r} here"
        elif self._has_more_by_now(target.hello, welcome):
            reason = "more has come meanwhile than the hello said"
        code = PROTOCOL
        if not reason and node.broker.turning.excludes(welcome.id, welcome.session):
            reason, code = AMID_CHANGE, BUSY
        if reason:
            node.close(line, Goodbye(code, reason), now)
            self._fail(target, reason, code, False, now)
            return
        line.silence = welcome.silence
        known = node.peers.get(welcome.id)
        if known is not None and (known.is_client or known.session != welcome.session):
            known = None
        offered = _offered(target.hello, welcome)
        target.peer = welcome.id
        if welcome.resumed is not None:
            self._go_on(line, welcome, known, target.hello, now)
        elif known is None or offered or known.is_over or self._is_forgotten(known):
            self._begin(line, welcome, now)
        else:
            self._cross(line, welcome, known, now)
        if self._is_linked(target):
            self._linked(target, "welcome")
        else:
            self._fail(target, "the streams do not fit together", "", False, now)

    def _has_more_by_now(self, hello: Hello, welcome: Welcome) -> bool:
        """Whether the journal of a broker has come further than the hello said.

        A stream may have begun and ended since; what is sent by the hello would come twice.
        """
        durability = self._node.durability
        if durability is None or welcome.resumed is not None or welcome.id in self._node.peers:
            return False
        said = next((one for one in hello.kept if one.broker == welcome.id), None)
        return said != durability.mark(welcome.id)

    def _go_on(
        self,
        line: Line,
        welcome: Welcome,
        known: Peer | None,
        hello: Hello,
        now: float,
    ) -> None:
        """The stream goes on, if it and its link are still where the hello said they were."""
        node = self._node
        assert welcome.resumed is not None
        if known is None or _offered(hello, welcome) != [known.channel.received]:
            node.close(line, Goodbye(REPLACED, "the stream has gone on meanwhile"), now)
        elif self._has_left_place(known, hello, welcome):
            node.close(line, Goodbye(REPLACED, "the tree has changed meanwhile"), now)
        elif not known.channel.can_connect(welcome.resumed):
            node.close(line, Goodbye(REPLACED, "the streams do not fit together"), now)
            if not _has_gone_on(known, line):
                node.membership.end_stream(known, now)
        else:
            known.features = self._agreed(welcome)
            node.membership.come_back(
                known,
                line,
                welcome.resumed,
                welcome.credit,
                now,
                in_place=self._is_in_place(known, welcome),
            )

    def _has_left_place(self, known: Peer, hello: Hello, welcome: Welcome) -> bool:
        """Whether a link was in its place when this broker said hello, and is not any more.

        The other side lets it carry because of that, and has begun to send: what comes would not
        be taken here. If the connection ends before it is counted, the other side keeps it, and
        the next hello says that the link is to be held.
        """
        said = bool(hello.tree.get(known.name, ""))
        return said and not welcome.is_held and not self._node.placing.is_in_place(known)

    def _is_in_place(self, known: Peer, welcome: Welcome) -> bool:
        """Whether both sides say that a link is where it was in the tree."""
        return not welcome.is_held and self._node.placing.is_in_place(known)

    def _agreed(self, welcome: Welcome) -> tuple[str, ...]:
        """What both sides can do beyond the first release."""
        return common_features(welcome.features, self._node.config.features(is_client=False))

    def _begin(self, line: Line, welcome: Welcome, now: float) -> None:
        membership = self._node.membership
        place = self._node.placing.welcomed(welcome)
        said = Introduction(
            name=welcome.id,
            session=welcome.session,
            in_tree=place.in_tree,
            secret=welcome.secret,
            addresses=welcome.addresses,
            features=self._agreed(welcome),
            refresh_seconds=welcome.refresh,
            routing=algorithm_of(welcome.routing),
            expects_us=welcome.is_expected,
            former=welcome.former,
            journal=welcome.journal,
            mark=welcome.kept,
        )
        peer = membership.new_peer(said)
        membership.enter(peer, line, welcome.credit, now, place=place)

    def _is_forgotten(self, known: Peer) -> bool:
        """Whether a broker that begins a stream must have forgotten the one there is.

        Else both sides have dialled. Then the one with the smaller id knows it first, before
        anything has come over the connection that is not its own.
        """
        is_smaller = self._node.config.id < known.name
        return not known.is_untouched and (known.line is None or is_smaller)

    def _cross(self, line: Line, welcome: Welcome, known: Peer, now: float) -> None:
        """Both sides have dialled at the same time, and both have been let in.

        The connection stays that the broker with the smaller id has dialled.
        """
        node = self._node
        if known.line is None or node.config.id < welcome.id:
            known.secret = welcome.secret
            in_place = self._is_in_place(known, welcome)
            node.membership.come_back(known, line, 0, welcome.credit, now, in_place=in_place)
        else:
            node.close(line, Goodbye(REPLACED, "there is a connection already"), now)


def _is_target(one: object) -> bool:
    return type(one) is Target and not misfits(one, TARGET_KINDS)


def _offered(hello: Hello, welcome: Welcome) -> list[int]:
    """How far the stream with a broker was for this side, if it was to go on."""
    return [
        one.received
        for one in hello.resume
        if (one.broker, one.session) == (welcome.id, welcome.session) and one.received != COUNT_MAX
    ]


def _has_gone_on(known: Peer, line: Line) -> bool:
    """Whether a stream had another line since this one was dialled: then the answer is older."""
    if known.line is not None:
        return True
    return known.away_since is not None and known.away_since > line.since
