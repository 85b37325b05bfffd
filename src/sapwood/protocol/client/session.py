"""A client's session: one connection at a time, found again when it is lost.

A machine without input, output or clock (`sapwood.protocol.ports`). Its stream outlives connections
as a link's does (`sapwood.protocol.link.channel`): after a broken connection to the same broker
nothing is lost and nothing repeated. With another broker, or one that was started anew, a new
stream begins: requests are sent again, every subscription gets a `Gap`, and publications that the
old broker had not acknowledged are unconfirmed.

The calls of the application (``outbound``) change the state and say by `wants_flush` that something
waits; `flush` gives the effects of all calls since the last one, so that what is published in one
turn leaves in one write.

A stream that contradicts itself ends in the same way as one whose broker was lost. Both sides look
for that now and then, and compare (`sapwood.protocol.link.checking` does it for brokers).
"""

from __future__ import annotations

from collections import Counter
from math import inf
from random import Random
from typing import Final

from sapwood.errors import FrameError
from sapwood.protocol.client.config import SessionConfig
from sapwood.protocol.client.deliveries import Gap
from sapwood.protocol.client.inbound import Inbound
from sapwood.protocol.client.outbound import ACK_SECONDS, Outbound
from sapwood.protocol.client.outputs import (
    Accepted,
    Closed,
    Failed,
    Offline,
    Online,
    Ponged,
    Readable,
    Unconfirmed,
)
from sapwood.protocol.client.search import RETRY_SECONDS_MAX, Search
from sapwood.protocol.client.streams import Streams
from sapwood.protocol.due import is_due
from sapwood.protocol.events import Tick
from sapwood.protocol.faults import FAULTS
from sapwood.protocol.link.channel import Channel
from sapwood.protocol.link.handshake import (
    BAD_CREDENTIALS,
    CHECKS,
    CONTRADICTION,
    FINAL_CODES,
    LEAVING,
    MOVED,
    PROTOCOL,
    REPLACED,
    SHUTDOWN,
    SLOW_CONSUMER,
    VERSIONS,
    Ack,
    Check,
    GivenUp,
    Goodbye,
    LinkMessage,
    Ping,
    Pong,
    Welcome,
)
from sapwood.protocol.link.keepalive import (
    LOOK_SECONDS_MAX,
    excuse_standstill,
    is_dead,
    look_seconds,
    wants_ping,
)
from sapwood.protocol.link.line import ENDLESS, HANDSHAKE_SECONDS, Frames, Line
from sapwood.protocol.link.states import SESSION, LineState, SessionState, following
from sapwood.protocol.messages import CODEC
from sapwood.protocol.ports import (
    Abort,
    Close,
    Connected,
    Data,
    Dial,
    DialFailed,
    Disconnected,
    DriverEvent,
    Stop,
)

LOST: Final = "the broker was lost"
CONTRADICTED: Final = "the stream contradicted itself"
NO_CONNECTION: Final = "what is known of this connection makes no sense"

ERRORS_MAX: Final = 2
"""After so many connections that ended because what was sent made no sense, and a new stream, the
session gives up."""

_TRYING: Final = (SessionState.DIALING, SessionState.CALLING)

_ENDINGS: Final = frozenset({SLOW_CONSUMER, REPLACED})
"""Reasons of a broker to end a connection after which trying again would be no better."""


class ClientSession(Outbound):
    """The session of one client, across connections and brokers."""

    def __init__(self, config: SessionConfig, random: Random) -> None:
        super().__init__(config)
        self.deadline = inf
        self.counts: Counter[str] = Counter()  # of faults that were found
        self.advertisements_required = False
        self._inbound = Inbound(self.publishing, self.requests, self.deliveries, self.refreshing)
        self._search = Search(config.servers, random)
        self._problem = Failed("no server was dialled")
        """Why the last attempt did not succeed."""
        self._streams = Streams()
        self._has_checks = False
        """Whether the broker compares how far both sides are."""
        self._errors = 0
        """Connections in a row that the broker ended because what came made no sense."""
        self._gap_reason = LOST
        """Why the stream before the next one ended."""
        self._confirming = 0
        """The number of the ping whose answer confirms what a resumed stream had brought."""
        self._call_until = self._retry_at = self._look_at = inf

    def __repr__(self) -> str:
        return f"<session {self.name} {self.state} {self.broker}>"

    # What is known

    @property
    def is_connected(self) -> bool:
        """Whether there is a connection at the moment."""
        return self.state is SessionState.CONNECTED

    @property
    def address(self) -> str:
        """The server that was dialled last."""
        return self._search.address

    # Calls of the application

    def open(self, now: float) -> None:
        """Begin to look for a broker."""
        if self._advance("open"):
            self._search.give_up_at = now + self.config.connect_seconds
            self._begin_round(now)
            self.wants_flush = True

    def close(self, now: float) -> None:
        """Leave; what was not sent stays behind."""
        line, state = self._line, self.state
        if not self._advance("close"):
            return
        if state is SessionState.CONNECTED and line is not None:
            self._acknowledge()
            line.say(Goodbye(LEAVING))
            self._write(line, now)
            self._effects.append(Close(line.number, "left"))
        elif line is not None:
            self._effects.append(Abort(line.number, "left"))
        self._call_until = self._retry_at = self._look_at = self._acknowledge_at = inf
        self.refreshing.lost()
        self.wants_flush = True
        if self.state is SessionState.CLOSED:
            self._line = None
            self._effects.append(Closed())

    def flush(self, now: float) -> list[object]:
        """Send what may be sent; the effects of all calls since the last time."""
        self.wants_flush = False
        try:
            self._flush()
        except FAULTS as fault:
            self._impossible(fault, now)
        return self._take_effects(now)

    # The driver

    def handle(self, event: DriverEvent, now: float) -> list[object]:
        """Take an event; what the driver has to do because of it, in order."""
        if type(event) is Data:
            return self.receive(event.connection, event.data, now)
        try:
            if isinstance(event, Tick):
                self._tick(now)
            elif isinstance(event, Connected):
                self._connected(event, now)
            elif isinstance(event, DialFailed):
                self._dial_failed(event, now)
            elif isinstance(event, Disconnected):
                self._disconnected(event, now)
            elif isinstance(event, Stop):
                self.close(now)
        except FAULTS as fault:
            self._impossible(fault, now)
        return self._take_effects(now)

    def receive(self, connection: int, data: bytes, now: float) -> list[object]:
        """Take what came over a connection; what the driver has to do because of it."""
        line = self._line
        try:
            if line is not None and line.number == connection:
                self._read(line, data, now)
        except FAULTS as fault:
            self._impossible(fault, now)
        return self._take_effects(now)

    def _take_effects(self, now: float) -> list[object]:
        line = self._line
        if line is not None and line.out:
            try:
                self._write(line, now)
            except FAULTS as fault:
                self._impossible(fault, now)
        woken = self.deliveries.woken
        if woken:
            self._effects += [Readable(inbox.name) for inbox in woken]
            woken.clear()
        effects = self._effects
        self._effects = []
        times = [self._call_until, self._retry_at, self._look_at, self._acknowledge_at]
        times.append(self.refreshing.at)
        self.deadline = min(times) if all(type(at) is float for at in times) else now
        return effects

    def _advance(self, what: str) -> bool:
        """Go to the next state; whether that was possible."""
        state = following(SESSION, self.state, what)
        self.state = self.state if state is None else state
        return state is not None

    def _tick(self, now: float) -> None:
        """Do what is due. A time that makes no sense is due (`sapwood.protocol.due`)."""
        if is_due(self._acknowledge_at, now, ACK_SECONDS):
            self._acknowledge()
        self._stand_by_state(now)
        self._effects += self.requests.overdue(now, self.config.answer_seconds)
        state = self.state
        if state is SessionState.WAITING and is_due(self._retry_at, now, RETRY_SECONDS_MAX):
            self._retry_at = inf
            self._advance("due")
            self._begin_round(now)
        elif state in _TRYING and is_due(self._call_until, now, 2 * HANDSHAKE_SECONDS):
            reason = f"{self.address} does not answer within {HANDSHAKE_SECONDS} s"
            self._attempt_failed(Failed(reason), now)
        elif state is SessionState.CONNECTED and self._line is not None:
            if is_due(self._check_at, now, self._check_seconds):
                self._check(self._line, now)
            elif is_due(self._look_at, now, LOOK_SECONDS_MAX):
                self._look_after(self._line, now)
            self._refresh(now)

    # Contradictions

    def _stand_by_state(self, now: float) -> None:
        """What is kept beside the state follows from it."""
        line = self._line
        self.publishing.derive()
        self._streams.derive()
        self.channel.is_held = False
        if self.state is not SessionState.WAITING:
            self._retry_at = inf
        if self.state not in _TRYING:
            self._call_until = inf
        if self.state is not SessionState.CONNECTED:
            self._look_at = inf
            self.refreshing.lost()
        if self.state is SessionState.CONNECTED:
            if line is None or not line.is_open or not self.channel.connected:
                self.counts[CONTRADICTION] += 1
                self._end_line(NO_CONNECTION)
                self._lost(NO_CONNECTION, now)
        elif self.state is SessionState.CLOSING:
            if line is None and self._advance("gone"):
                self._effects.append(Closed())
        elif self.state is not SessionState.CALLING:
            self._end_line(NO_CONNECTION)

    def _end_line(self, reason: str) -> None:
        if self._line is not None:
            self._effects.append(Abort(self._line.number, reason))
            self._line = None

    def _check(self, line: Line, now: float) -> None:
        """Look for contradictions; if there are none, tell the broker how far this side is."""
        self._check_at = now + self._check_seconds
        channel = self.channel
        if not channel.is_sound:
            self._contradicts("this side of the stream was spoilt", now)
        elif not channel.is_connection_sound or not line.is_sound(now):
            self.counts[CONTRADICTION] += 1
            self._drop(line, NO_CONNECTION, now)
        elif self._has_checks:
            channel.window = channel.limits.window_bytes
            line.out += (channel.ack(), channel.check())

    def _heard_check(self, line: Line, check: Check, now: float) -> None:
        found = self.channel.disagreement(check)
        if found is not None and found.ends_stream:
            self._contradicts(found.what, now)
        elif found is not None:
            self.counts[CONTRADICTION] += 1
            self._drop(line, found.what, now, Goodbye(PROTOCOL, found.what))
        else:
            self.refreshing.told(check.refresh, now)

    def _contradicts(self, reason: str, now: float) -> None:
        """The stream cannot go on: the next connection begins a new one."""
        self.counts[CONTRADICTION] += 1
        self._end_stream()
        if self._line is not None:
            self._drop(self._line, reason, now, Goodbye(CONTRADICTION, reason))

    def _end_stream(self) -> None:
        """Nothing is believed of the stream; what was never handed over goes into the next one."""
        self._gap_reason = CONTRADICTED
        self._streams.end()
        self.channel = Channel(self.config.limits)
        lost = self.publishing.begin_anew(self.channel)
        self._effects += [Unconfirmed(first, last) for first, last in lost]

    def _impossible(self, fault: Exception, now: float) -> None:
        """Something raised that nothing should: the stream begins anew."""
        if self.config.raises_faults:
            raise fault
        self.counts["impossible"] += 1
        self._call_until = self._retry_at = self._look_at = self._acknowledge_at = inf
        self._errors = self._confirming = self._last_ping = 0
        was_trying = self.state in _TRYING
        self._end_line(NO_CONNECTION)
        self._stand_by_state(now)
        self._end_stream()
        if was_trying:
            self._attempt_failed(Failed(NO_CONNECTION), now)

    def _look_after(self, line: Line, now: float) -> None:
        """Keep a connection alive, or notice that it is dead."""
        excuse_standstill(line, self._look_at, now)
        patience = self.config.silence_seconds
        self._look_at = now + look_seconds(line, patience)
        if is_dead(line, patience, now):
            self._drop(line, f"the broker was silent for {patience} s", now)
        elif line.has_endless_frame(patience, now):
            self._drop(line, ENDLESS, now, Goodbye(PROTOCOL, ENDLESS))
        elif wants_ping(line, patience, now):
            line.say(Ping())

    # Finding a broker

    def _begin_round(self, now: float) -> None:
        self._search.begin_round()
        self._dial(self._search.next(), now)

    def _dial(self, dial: Dial | None, now: float) -> None:
        if dial is not None:
            self._call_until = now + 2 * HANDSHAKE_SECONDS  # the driver gives up sooner
            self._effects.append(dial)

    def _attempt_failed(self, problem: Failed, now: float) -> None:
        """Try the next server; if none is left, wait, or give up if it is too late."""
        self._problem = problem
        self._call_until = inf
        self._end_line(problem.reason)
        is_final = problem.code in FINAL_CODES and not self._search.is_at_successor
        dial = self._search.next()
        if is_final:
            self._advance("refused for good")
            self._effects.append(problem)
        elif dial is not None:
            self._advance("failed")
            self._dial(dial, now)
        elif self._advance("all failed"):
            self._wait(now)

    def _wait(self, now: float) -> None:
        """Wait before the next round of attempts, if it is not too late."""
        may_resume = self._streams.current is not None
        at = self._search.pause(now, may_resume=may_resume, may_give_up=not self.broker)
        if at is None:
            self._advance("too late")
            self._effects.append(self._problem)
        else:
            self._retry_at = at

    def _connected(self, event: Connected, now: float) -> None:
        if event.dial != self._search.dial or not self._advance("connected"):
            self._effects.append(Abort(event.connection, "nobody waits for this any more"))
            return
        self._call_until = now + HANDSHAKE_SECONDS
        if not self.channel.is_sound:
            self._contradicts(NO_CONNECTION, now)
        line = Line(event.connection, LineState.CALLING, now, address=event.address)
        self._line = line
        line.say(self._streams.hello(self.config, self.channel, self.order))

    def _dial_failed(self, event: DialFailed, now: float) -> None:
        if event.dial == self._search.dial and self.state is SessionState.DIALING:
            code = BAD_CREDENTIALS if event.is_final else ""
            self._attempt_failed(Failed(event.reason, event.is_final, code), now)

    def _disconnected(self, event: Disconnected, now: float) -> None:
        line = self._line
        if line is None or line.number != event.connection:
            return
        self._line = None
        if self.state is SessionState.CALLING:
            reason = f"{self.address}: connection lost: {event.reason}"
            self._attempt_failed(Failed(reason), now)
        elif self.state is SessionState.CONNECTED:
            self._lost(event.reason, now)
        elif self._advance("gone"):
            self._effects.append(Closed())

    def _drop(self, line: Line, reason: str, now: float, goodbye: Goodbye | None = None) -> None:
        """End a connection and look for another one."""
        if goodbye is not None:
            line.say(goodbye)
            self._write(line, now)
            self._effects.append(Close(line.number, reason))
        else:
            self._effects.append(Abort(line.number, reason))
        self._line = None
        if self.state is SessionState.CALLING:
            self._attempt_failed(Failed(f"{self.address}: connection lost: {reason}"), now)
        else:
            self._lost(reason, now)

    def _lost(self, reason: str, now: float) -> None:
        self._rest()
        if self._advance("lost"):
            self._effects.append(Offline(reason))
            self._begin_round(now)

    def _rest(self) -> None:
        """There is no connection any more: nothing is due."""
        self.channel.disconnect()
        self.refreshing.lost()
        self._confirming = 0
        self._look_at = self._acknowledge_at = inf

    # What comes

    def _read(self, line: Line, data: bytes, now: float) -> None:
        line.heard_at = now
        try:
            for piece in line.read(data):
                if self._line is not line or self.state is SessionState.CLOSING:
                    return
                if isinstance(piece, Frames):
                    self._take_frames(line, piece, now)
                elif self.state is SessionState.CALLING:
                    self._answered_call(line, piece, now)
                else:
                    self._hear(line, piece, now)
        except FrameError as problem:
            line.problem = str(problem)
        if line.problem and self._line is line:
            self._drop(line, line.problem, now, Goodbye(PROTOCOL, line.problem))

    def _take_frames(self, line: Line, run: Frames, now: float) -> None:
        """Notifications and answers came."""
        if not line.is_open:
            raise FrameError("a frame before the handshake is done; begin with Welcome")
        is_due = self.channel.count(run.frames, run.size)
        self._inbound.take(run.data, self._effects)
        if self.refreshing.is_asked:
            self._refresh(now)
        if is_due:
            self._acknowledge()
        else:
            self._acknowledge_at = min(self._acknowledge_at, now + ACK_SECONDS)

    def _hear(self, line: Line, message: LinkMessage, now: float) -> None:
        """The broker says something about the connection."""
        if isinstance(message, Ack):
            before = self.channel.acknowledged
            self.channel.acknowledge(message)
            if self.channel.acknowledged != before:
                self._errors = 0
            elif message.received != before:
                self._contradicts(f"{message.received} frames acknowledged after {before}", now)
                return
            self._accepted()
            self._flush()
        elif isinstance(message, GivenUp):
            if not self.channel.can_miss(message.count):
                raise FrameError(f"{message.count} frames given up, more than there can be")
            self.channel.miss(message.count)
            self._acknowledge_at = min(self._acknowledge_at, now + ACK_SECONDS)
            self.deliveries.report(Gap(message.count, "this client did not keep up"))
        elif isinstance(message, Check):
            self._heard_check(line, message, now)
        elif isinstance(message, Ping):
            line.say(Pong(message.number))
        elif isinstance(message, Pong):
            if message.number and message.number == self._confirming:
                self._accepted()
            self._effects.append(Ponged(message.number))
        elif isinstance(message, Goodbye):
            self._told_goodbye(line, message, now)
        else:
            raise FrameError(f"{type(message).__name__} after the handshake")

    def _accepted(self) -> None:
        if self.publishing.acknowledge(self.channel.acknowledged):
            self._effects.append(Accepted(self.publishing.accepted))

    def _told_goodbye(self, line: Line, goodbye: Goodbye, now: float) -> None:
        reason = goodbye.reason or goodbye.code
        before = self._errors if self._errors in range(ERRORS_MAX + 1) else 0
        self._errors = before + (goodbye.code == PROTOCOL)
        if (goodbye.code in _ENDINGS or self._errors > ERRORS_MAX) and self._advance("sent away"):
            self._end_line(reason)
            self._rest()
            self._effects.append(Failed(f"broker {self.broker}: {reason}", True, goodbye.code))
            return
        if goodbye.code in (SHUTDOWN, MOVED):
            self.publishing.call_back(self.channel.acknowledged)
            self._streams.follow(goodbye, self._search)
        elif goodbye.code == CONTRADICTION or self._errors == ERRORS_MAX:
            self._end_stream()
        self._drop(line, reason, now)

    # A new connection

    def _answered_call(self, line: Line, message: LinkMessage, now: float) -> None:
        """The broker answers the hello."""
        if isinstance(message, Goodbye):
            self._streams.answered()
            self._streams.follow(message, self._search)
            reason = message.reason or message.code
            self._attempt_failed(Failed(reason, True, message.code, message.broker), now)
        elif not isinstance(message, Welcome):
            raise FrameError("a Hello is answered by Welcome or Goodbye")
        elif not VERSIONS[0] <= message.version <= VERSIONS[1]:
            offered = "-".join(map(str, VERSIONS))
            raise FrameError(f"version {message.version} was never offered; {offered} was")
        else:
            self._welcomed(line, message, now)

    def _welcomed(self, line: Line, welcome: Welcome, now: float) -> None:
        resumed, is_current = welcome.resumed, self._streams.is_current(welcome)
        if resumed is not None and not (is_current and self.channel.can_connect(resumed)):
            self._refuse_stream(line, now)
            return
        line.advance("Welcome")
        line.silence = welcome.silence
        self._advance("welcome")
        self._call_until = inf
        self._search.found()
        self._has_checks = CHECKS in welcome.features
        self._look_at = now + look_seconds(line, self.config.silence_seconds)
        if resumed is None:
            self._begin_anew(welcome)
        else:
            self._resume(line, welcome, resumed)
        self.broker, self.has_journal = welcome.id, welcome.published is not None
        self.advertisements_required = welcome.advertisements_required
        self.refreshing.welcomed(welcome, now)
        self._check_at = now + self._check_seconds
        self._refresh(now)

    def _refuse_stream(self, line: Line, now: float) -> None:
        """The broker wants to go on with a stream that is not the one known here."""
        if self._streams.current is not None:
            self._streams.end()
            self._search.try_again()
        reason = "this is another stream; beginning anew"
        self._drop(line, reason, now, Goodbye(PROTOCOL, reason))

    def _resume(self, line: Line, welcome: Welcome, resumed: int) -> None:
        """Go on with the stream.

        What the broker has received is accepted unless it was refused. A refusal that was under
        way when the connection broke comes behind the welcome, but before the answer to a ping.
        """
        self._streams.renew(welcome)
        self.channel.connect(resumed, welcome.credit)
        self._last_ping += 1
        self._confirming = self._last_ping
        line.say(Ping(self._confirming))
        self._effects.append(Online(welcome.id, is_resumed=True))

    def _begin_anew(self, welcome: Welcome) -> None:
        """Begin a stream with a broker that knows nothing of this session."""
        is_first = not self.broker
        self._search.settle()
        self._streams.begin(welcome)
        self.channel = Channel(self.config.limits)
        self.channel.connect(0, welcome.credit)
        messages, answers = self.requests.begin_anew()
        for message in messages:
            self.channel.push_control(CODEC.encode(message))
        self._effects.append(Online(welcome.id))
        self._effects += [*self._publish_again(welcome), *answers]
        if not is_first:
            self.deliveries.change_broker()
            self.deliveries.report(Gap(0, f"{self._gap_reason}; now connected to {welcome.id}"))
        self._gap_reason = LOST
