"""Mistakes in the logic of links and sessions: the faithful swarm, or a test of faults, sees each.

Each acts at a seam: a method is replaced or wrapped. A mutant that survives means that the swarm
does not look there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import msgspec
import pytest

from protocol.link import test_admission as admission
from sapwood.protocol.client.deliveries import Deliveries
from sapwood.protocol.client.publishing import Publishing
from sapwood.protocol.client.streams import Streams
from sapwood.protocol.fences import Fences
from sapwood.protocol.gaps import Gaps
from sapwood.protocol.link import keepalive
from sapwood.protocol.link.admission import Admission
from sapwood.protocol.link.channel import Channel
from sapwood.protocol.link.dialing import Dialing
from sapwood.protocol.link.flow import Flow
from sapwood.protocol.link.handshake import LINK_CODEC, Ack, Resume
from sapwood.protocol.link.keepalive import Keepalive
from sapwood.protocol.link.membership import Membership
from sapwood.protocol.link.spool import FrameRun, MemorySpool
from sapwood.protocol.restoration import Restoration
from sapwood.sim.faithful import swarm
from sim.faithful import test_crossing as crossing
from sim.faithful import test_link_faults as faults
from sim.faithful import test_moves as moves
from sim.faithful.test_restarts import (
    test_an_orderly_restart_in_the_middle_loses_nothing as restart,
)


def swarm_of(*seeds: int) -> Callable[[], Iterable[str]]:
    """The problems of some seeds, one after the other."""
    return lambda: (problem for seed in seeds for problem in swarm.problems_of(seed))


def scene_of(test: Callable[[], None]) -> Callable[[], Iterable[str]]:
    """What a test says that has no part in the swarm."""

    def check() -> Iterable[str]:
        try:
            test()
        except AssertionError as failed:
            yield f"{test.__name__}: {failed!r}"

    return check


def crossed_at_first() -> None:
    """Without beacons frames of the stream come at once; with them, only after it has its place."""
    crossing.cross_at_first(range(30, 90), (0.0, 0.3), crossing.NO_BEACONS)


def orderly_restart() -> None:
    restart(0, 1.0)


def orderly_restart_after_a_while() -> None:
    restart(0, 5.0)


@dataclass(frozen=True)
class Mutant:
    """One mistake: what is replaced, by what, and what sees it."""

    target: Any
    attribute: str
    make: Callable[[Any], Any]
    """From the original to what stands in its place."""
    check: Callable[[], Iterable[str]] = field(default=swarm_of(*range(40)))


def nothing(original: Any) -> Any:
    """Leave it out."""
    return lambda *arguments, **named: None


def resumed_one_early(original: Any) -> Any:
    def connect(self: Channel, received: int, *more: Any) -> list[FrameRun]:
        early = max(self.acknowledged, received - 1)
        done: list[FrameRun] = original(self, early, *more)
        return done

    return connect


def acknowledged_before_it_came(original: Any) -> Any:
    def ack(self: Channel) -> bytes:
        said = LINK_CODEC.decode(original(self)[7:])
        assert isinstance(said, Ack)
        return LINK_CODEC.encode(Ack(said.received + 1, said.credit))

    return ack


def backlog_dropped(original: Any) -> Any:
    def inherit(self: Channel, before: Channel, *arguments: Any, **named: Any) -> list[FrameRun]:
        before.spool.clear()
        return []

    return inherit


def partly_rewound(original: Any) -> Any:
    """What was sent over the connection that broke is taken for arrived."""

    def rewind(self: MemorySpool) -> None:
        self._sent.clear()
        self._partly = 0

    return rewind


def attempts_end(original: Any) -> Any:
    """One attempt is enough: a time that is too far ahead would be found, so nobody is left."""

    def fail(self: Dialing, target: Any, *arguments: Any) -> None:
        original(self, target, *arguments)
        self.targets = [one for one in self.targets if one is not target]

    return fail


def repeated_to_the_next_broker(original: Any) -> Any:
    """What the old broker may have accepted is published once more."""

    def begin_anew(self: Publishing, channel: Channel, kept: int | None) -> Any:
        self._handed = 0
        return original(self, channel, kept)

    return begin_anew


def last_welcome_wins(original: Any) -> Any:
    return lambda self, known: not known.is_untouched


def crossing_kept(original: Any) -> Any:
    """Each side takes the connection that it has dialled itself."""

    def cross(self: Dialing, line: Any, welcome: Any, known: Any, now: float) -> None:
        self._node.membership.come_back(known, line, 0, welcome.credit, now)

    return cross


def challenged_whoever_it_is(original: Any) -> Any:
    def unanswered(self: Admission, applicant: Any, now: float) -> None:
        holder = self._node.peers.get(applicant.hello.id)
        if holder is not None and holder.line is not None:
            applicant.challenged = holder.line.number
        original(self, applicant, now)

    return unanswered


def sessions_are_counted(original: Any) -> Any:
    """Whether a session was left out is read off its number, which is a time."""

    def report_lost(self: Membership, before: Any, peer: Any, now: float) -> None:
        peer.former = peer.session - 1
        original(self, before, peer, now)

    return report_lost


def expected_by_everybody(original: Any) -> Any:
    def report_lost(self: Membership, before: Any, peer: Any, now: float) -> None:
        peer.expects_us, peer.former = True, before.session
        original(self, before, peer, now)

    return report_lost


def astray_until_the_next_welcome(original: Any) -> Any:
    def begin(self: Streams, welcome: Any) -> None:
        original(self, welcome)
        self.is_astray = False

    return begin


def restored_at_once(original: Any) -> Any:
    return property(lambda self: False)


def old_session_accepted(original: Any) -> Any:
    """A broker of the same name is taken for the one that was there."""

    def resumed(self: Admission, hello: Any) -> Any:
        resume = self._asks_for(hello)
        peer = self._node.peers.get(hello.id)
        if resume is not None or peer is None:
            return original(self, hello)
        shown = Resume(self._node.config.id, self._node.config.session, peer.channel.acknowledged)
        return msgspec.structs.replace(shown, secret=peer.secret)

    return resumed


MUTANTS = {
    "resumed one early": Mutant(Channel, "connect", resumed_one_early),
    "acknowledged before it came": Mutant(Channel, "ack", acknowledged_before_it_came),
    "backlog dropped on restart": Mutant(
        Channel, "inherit", backlog_dropped, scene_of(orderly_restart)
    ),
    "sent is taken for arrived": Mutant(MemorySpool, "rewind", partly_rewound),
    "given up is not counted": Mutant(Channel, "miss", nothing),
    "losses are not reported": Mutant(Gaps, "_missed_here", lambda _: lambda *_: []),
    "one attempt is enough": Mutant(Dialing, "_fail", attempts_end, swarm_of(2)),
    "in flight is repeated": Mutant(
        Publishing,
        "begin_anew",
        repeated_to_the_next_broker,
        scene_of(moves.test_what_the_old_broker_may_have_taken_is_not_published_again),
    ),
    "restored at once": Mutant(
        Restoration, "is_active", restored_at_once, swarm_of(103, 105, 240, 253)
    ),
    "old session accepted": Mutant(Admission, "_resumed", old_session_accepted),
    "stale streams deliver": Mutant(
        Fences,
        "is_stale",
        lambda _: lambda *_: False,
        scene_of(moves.test_nothing_of_the_past_comes_after_what_is_published_elsewhere),
    ),
    "repeats are delivered": Mutant(
        Deliveries, "_is_repeated", lambda _: lambda *_: False, swarm_of(174, 308, 423)
    ),
    "of crossing dials both are kept": Mutant(
        Dialing, "_cross", crossing_kept, scene_of(crossed_at_first)
    ),
    "of crossing dials the last one wins": Mutant(
        Dialing, "_is_forgotten", last_welcome_wins, scene_of(crossed_at_first)
    ),
    "whoever has the name is sent away": Mutant(
        Admission,
        "_unanswered",
        challenged_whoever_it_is,
        scene_of(
            admission.test_a_broker_that_came_back_while_its_dead_line_was_challenged_keeps_its_name
        ),
    ),
    "neighbours are not looked back at": Mutant(
        Membership, "_look_back", nothing, swarm_of(502, 414, 509)
    ),
    "late neighbours are not told": Mutant(
        Restoration, "_told_late", lambda _: lambda *_: [], swarm_of(339, 595, 13404)
    ),
    "sessions are counted": Mutant(
        Membership, "_report_lost", sessions_are_counted, scene_of(orderly_restart_after_a_while)
    ),
    "every session is the next one": Mutant(
        Membership, "_report_lost", expected_by_everybody, swarm_of(19526)
    ),
    "what went astray is forgotten": Mutant(
        Streams,
        "begin",
        astray_until_the_next_welcome,
        scene_of(moves.test_a_hello_that_went_astray_is_told_of_at_every_later_broker),
    ),
    "credit is never withheld": Mutant(
        Flow,
        "pushed",
        nothing,
        scene_of(faults.test_a_slow_link_slows_its_publishers_and_loses_nothing),
    ),
    "keep-alive is deaf": Mutant(
        keepalive,
        "is_dead",
        lambda _: lambda *_: False,
        scene_of(faults.test_a_connection_that_is_half_open_is_noticed_in_the_stated_time),
    ),
    "nobody says anything while idle": Mutant(
        Keepalive, "_look_after", nothing, scene_of(faults.test_an_idle_connection_is_kept_alive)
    ),
}


def first_problem(check: Callable[[], Iterable[str]]) -> str | None:
    """What is seen first; a crash is seen, too."""
    try:
        return next(iter(check()), None)
    except (ArithmeticError, AssertionError, AttributeError, LookupError) as crash:
        return f"crash: {crash!r}"


@pytest.mark.slow
@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_is_killed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    mutant = MUTANTS[name]
    original = vars(mutant.target)[mutant.attribute]
    monkeypatch.setattr(mutant.target, mutant.attribute, mutant.make(original))
    assert first_problem(mutant.check) is not None, f"{name} survives"
