"""Streams and lines look after themselves: what contradicts itself begins anew.

A transient fault may leave any value in memory. Every `Broker.refresh_seconds` each peer is looked
at, and a side that is sound says how far it is (`Check`), with an `Ack`. A stream whose counts
contradict each other, on one side or between the two, ends: both sides begin a new one, and those
concerned are told that anything may be missing. Where only a connection is wrong, it ends and the
stream goes on. What follows from other things is derived again.

Two more signs of a spoilt stream: two connections in a row end at the same place of it because
something made no sense; or something that cannot happen did (an exception), for which tests and
simulations want to hear of it instead, as long as nobody injects faults.

Where this side itself was spoilt, nobody knows what was lost by that, or over which link: everybody
is told that anything may be missing. A link may have been forgotten with it, and come back as one
that is new; so whenever the tree changes soon after, that is told again.

In a run without faults nothing here does anything but say `Check`: `counts` has no
``contradiction`` and no ``impossible`` then.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from typing import TYPE_CHECKING, Final

from sapwood.protocol.due import is_due
from sapwood.protocol.events import AnythingMissed, ClientDown, Examine
from sapwood.protocol.faults import FAULTS
from sapwood.protocol.link.agreeing import revive
from sapwood.protocol.link.consistency import (
    Finding,
    Remedy,
    line_findings,
    peer_findings,
    structure_findings,
)
from sapwood.protocol.link.handshake import (
    CHECKS,
    CONTRADICTION,
    NEVER,
    PROTOCOL,
    SILENCE_SECONDS_MAX,
    Check,
    Goodbye,
)
from sapwood.protocol.link.line import HANDSHAKE_SECONDS, Line
from sapwood.protocol.link.peer import Peer
from sapwood.protocol.link.screening import (
    drop_strays,
    has_strangers,
    number_of,
    refit_line,
    refit_peer,
)
from sapwood.protocol.link.states import LineState
from sapwood.protocol.ports import Abort, Restart
from sapwood.protocol.stabilize.timing import DELAY_SECONDS_MAX, DELAY_SECONDS_MIN, Timing

if TYPE_CHECKING:
    from sapwood.protocol.node import Node


RAISED_MAX: Final = 8
"""More faults in one period than that: what could not be mended is everywhere, or comes back."""


class Checking:
    """Looks for contradictions in one node."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self.check_at = float("-inf")
        """When lines, and what is kept beside peers, are looked at again."""
        self.forgive_at = float("-inf")
        """When the faults that were counted so far do not matter any more."""
        self.raised = 0
        """Faults since then."""
        self.owes_report = False
        """Whether everybody is to be told that anything may be missing."""
        self.suspect_until = float("-inf")
        """Until when a link that comes into the tree may be one that was forgotten."""

    def tick(self, now: float) -> None:
        """Look at whatever is due."""
        node, period = self._node, self._node.broker.refresh_seconds
        if node.is_stopping:
            return
        self._look_at_peers(period, now)
        if is_due(self.check_at, now, period):
            self.check_at = now + period
            node.bring(Examine(), now)
            node.derive()
            self.screen(now)
            node.dialing.derive(now)
            self._look_at_lines(now)
            if _found(structure_findings(node, now)) != set():
                node.counts[CONTRADICTION] += 1
                self._derive(now)
        if self.owes_report:
            self.owes_report = False
            node.bring(AnythingMissed(), now)

    def _look_at_peers(self, period: float, now: float) -> None:
        node = self._node
        for name, peer in list(node.peers.items()):
            try:
                if is_due(peer.check_at, now, period):
                    peer.check_at = now + period
                    if self._is_in_order(name, peer, now):
                        self._tell(peer, now)
            except FAULTS as fault:
                self.impossible_for(fault, name, now)

    def _tell(self, peer: Peer, now: float) -> None:
        """Tell the other end how far this side is, in both directions."""
        line, channel = peer.line, peer.channel
        if line is not None and channel.connected and CHECKS in peer.features:
            node = self._node
            channel.window = node.credit.window(is_client=peer.is_client)
            refresh = self._client_refresh if peer.is_client else NEVER
            node.write(line, channel.ack() + channel.check(refresh), now)

    @property
    def _client_refresh(self) -> float:
        """How often clients are to compare from now on, where that follows from delays."""
        settings = self._node.config.stabilization
        if settings.refresh == "off" or not settings.seconds or settings.delay_max:
            return NEVER
        return min(self._node.broker.refresh_seconds, SILENCE_SECONDS_MAX)

    def heard(self, line: Line, check: Check, now: float) -> None:
        """The other end says how far it is."""
        node, peer = self._node, line.peer
        if peer is None or node.is_stopping:
            return
        found = peer.channel.disagreement(check)
        if found is not None and found.ends_stream:
            self.contradicts(peer, found.what, now)
        elif found is not None or CHECKS not in peer.features:
            node.counts[CONTRADICTION] += 1
            what = "nobody was to check this" if found is None else found.what
            node.close(line, Goodbye(PROTOCOL, what), now)

    # What cannot even be compared

    def look_for_strangers(self, now: float) -> None:
        """Sort out names, before the broker is told of somebody under a wrong one."""
        if has_strangers(self._node):
            self.screen(now)

    def screen(self, now: float) -> None:
        """Sort out what is kept among peers and lines and is not what such things are."""
        node, found = self._node, 0
        for line in drop_strays(node):
            found += 1
            self._cut(line, now)
        for number, line in list(node.lines.items()):
            if refit_line(number, line, now):
                found += 1
                self._end_line(line, line.peer, now)
        for name, peer in list(node.peers.items()):
            was_wrong, is_over = refit_peer(node, name, peer)
            found += was_wrong
            if is_over:
                self._end_line(peer.line, peer, now)
        if found:
            node.counts[CONTRADICTION] += found
            self.suspect(now)

    def number_of(self, line: Line) -> int:
        """The connection of a line that is to end.

        Somebody else's must not be told that it ends: after some words nobody comes back.
        """
        return number_of(self._node, line)

    # What may be missing

    def suspect(self, now: float) -> None:
        """This side was spoilt: tell everybody, now and when the tree changes soon."""
        self.owes_report = True
        self.suspect_until = now + self._suspicion_seconds

    def tree_changed(self, now: float) -> None:
        """Other links are part of the tree: perhaps one that was forgotten."""
        if not is_due(self.suspect_until, now, self._suspicion_seconds):
            self.owes_report = True

    @property
    def _suspicion_seconds(self) -> float:
        """How long it takes to dial a link and to bring it into the tree, after the next look."""
        config = self._node.config
        timing = Timing(config.tree, config.stabilization.delay_max or self._delay)
        tree = timing.age_max(inf) + timing.hold_seconds(inf) + config.tree.seek_seconds
        return config.check_seconds + HANDSHAKE_SECONDS + tree

    @property
    def _delay(self) -> float:
        """The longest time over a link, as measured: twice the way, as far as that can be.

        Of the node's own knowledge: the broker may be what is spoilt.
        """
        trips = [one.round_trip for one in self._node.peers.values() if type(one) is Peer]
        possible = [
            one for one in trips if type(one) is float and 0.0 <= one <= 2 * DELAY_SECONDS_MAX
        ]
        return max((DELAY_SECONDS_MIN, *possible))

    # Looking

    def _is_in_order(self, name: str, peer: Peer, now: float) -> bool:
        """Whether a peer is; if not, whatever helps is done."""
        node = self._node
        found = _found(peer_findings(node, name, peer, now))
        if found is None:  # perhaps it is not about this peer
            self._derive(now)
            found = _found(peer_findings(node, name, peer, now)) or {Remedy.STREAM}
        if not found:
            return True
        node.counts[CONTRADICTION] += 1
        if Remedy.STREAM in found:
            self._end_stream(name, peer, now)
        elif Remedy.LINE in found:
            self._end_line(peer.line, peer, now)
        self._derive(now)
        return False

    def _look_at_lines(self, now: float) -> None:
        node = self._node
        for number, line in list(node.lines.items()):
            found = _found(line_findings(node, number, line, now))
            if found is None or Remedy.LINE in found:
                node.counts[CONTRADICTION] += 1
                line.number = number
                self._end_line(line, line.peer, now)

    # Helping

    def contradicts(self, peer: Peer, what: str, now: float) -> None:
        """The stream of a peer cannot go on: let the next connection begin a new one."""
        node, line = self._node, peer.line
        node.counts[CONTRADICTION] += 1
        node.membership.end_stream(peer, now)
        if line is not None:
            node.close(line, Goodbye(CONTRADICTION, what), now)

    def broke(self, peer: Peer, goodbye: Goodbye, now: float, *, was_told: bool) -> Goodbye:
        """A connection ends because something makes no sense; what to say of it.

        If that happens twice at the same place of the stream, it will for ever.
        """
        if was_told:
            before, peer.broken_out = peer.broken_out, peer.channel.acknowledged
            is_again = before == peer.broken_out
        else:
            before, peer.broken_in = peer.broken_in, peer.channel.received
            is_again = before == peer.broken_in
        if not is_again or peer.is_over:
            return goodbye
        self._node.counts[CONTRADICTION] += 1
        self._node.membership.end_stream(peer, now, is_spoilt=True)
        return Goodbye(CONTRADICTION, goodbye.reason)

    def _end_stream(self, name: str, peer: Peer, now: float) -> None:
        """End the stream of a peer that may be anything but sound itself."""
        node, broker = self._node, self._node.broker
        peer.name = name
        if type(peer.line) is not Line:
            peer.line = None
        line = peer.line
        if name in broker.clients or name in broker.neighbours:
            peer.is_client = name in broker.clients
            node.membership.end_stream(peer, now)
        else:
            node.peers.pop(name, None)
        if line is not None and line.peer is peer and line.is_open and line.is_sound(now):
            node.close(line, Goodbye(CONTRADICTION, "this side of the stream was spoilt"), now)
        else:
            self._end_line(line, peer, now)
        peer.forget_line(now)
        node.forget_peer(peer, now)

    def _end_line(self, line: Line | None, peer: Peer | None, now: float) -> None:
        """End a connection, whoever it seems to belong to."""
        node = self._node
        for one in (peer, None if line is None else line.peer):
            if one is not None and one.line is not None:
                node.membership.lose(one, now)
        if line is not None:
            self._cut(line, now)

    def _cut(self, line: Line, now: float) -> None:
        """End a connection that belongs to nobody."""
        line.peer, line.out = None, []
        line.state, line.ended_at = LineState.CLOSING, now
        self._node.admission.forget(line)
        self._node.do(Abort(line.number, "what is known of this connection makes no sense"))

    def _derive(self, now: float) -> None:
        """Derive again what is kept beside peers and lines."""
        node = self._node
        node.derive()
        self.screen(now)
        known = {*node.peers, *node.kept_clients}
        for name in [name for name in node.broker.clients if name not in known]:
            node.bring(ClientDown(name), now)
        for name, neighbour in list(node.broker.neighbours.items()):
            if name not in node.peers:
                revive(node, name, neighbour, now)
        node.flow.derive(now)
        node.membership.derive(now)
        node.keepalive.derive(now)
        node.admission.derive(now)
        node.dialing.derive(now)

    # What cannot happen

    def impossible(self, fault: Exception, line: Line | None, now: float) -> None:
        """Something raised that nothing should: whoever it was about begins anew.

        What came over the line may have been handled in part, so its stream ends in any case.
        """
        self._count(fault, now)
        peer = None if line is None or type(line.peer) is not Peer else line.peer
        try:
            self._node.derive()
            self._node.bring(Examine(), now)
            self.screen(now)
            self._look_at_all(now)
            if peer is not None and node_has(self._node, peer) and not peer.is_over:
                self._end_stream(peer.name, peer, now)
            elif line is not None and line.state is not LineState.CLOSING:
                self._end_line(line, peer, now)
            self._derive(now)
        except FAULTS:
            self._start_over(now)

    def impossible_for(self, fault: Exception, name: str, now: float) -> None:
        """The same while something was done for a peer."""
        self._count(fault, now)
        peer = self._node.peers.get(name)
        try:
            self._node.bring(Examine(), now)
            if peer is not None:
                self._end_stream(name, peer, now)
            self._derive(now)
        except FAULTS:
            self._start_over(now)

    def _count(self, fault: Exception, now: float) -> None:
        """Count a fault; if there are too many of them, nothing of this session is believed."""
        node, period = self._node, self._node.config.check_seconds
        if node.config.raises_faults:
            raise fault
        node.counts["impossible"] += 1
        self.suspect(now)
        if is_due(self.forgive_at, now, period):
            self.forgive_at, self.raised = now + period, 0
        self.raised += 1
        if self.raised > RAISED_MAX:
            node.do(Restart(f"{self.raised} faults in {period} s, {_text(fault)}"))

    def _look_at_all(self, now: float) -> None:
        """Look at everything at once."""
        self.check_at = now
        for peer in self._node.peers.values():
            peer.check_at = now
        self.tick(now)

    def _start_over(self, now: float) -> None:
        """Nothing helps: end all streams and lines, whatever they are."""
        node = self._node
        self._node.counts["started_over"] += 1
        node.derive()
        for number in node.lines:
            node.do(Abort(number, "something impossible has happened"))
        node.forget_everything()
        node.bring(Examine(), now)
        for name in list(node.broker.clients):
            node.bring(ClientDown(name), now)
        if node.durability is not None:
            node.durability.mailboxes.begin(now)
        self._derive(now)


def node_has(node: Node, peer: Peer) -> bool:
    """Whether a peer is the one that is known under its name."""
    return node.peers.get(peer.name) is peer


def _text(fault: Exception) -> str:
    return f"{type(fault).__name__}: {fault}"


def _found(findings: Iterator[Finding]) -> set[Remedy] | None:
    """What would help; None if there are values that cannot even be looked at."""
    try:
        return {finding.remedy for finding in findings}
    except FAULTS:
        return None
