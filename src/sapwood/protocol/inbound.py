"""Inbound frames: what one read brought goes in, runs of notifications and answers come out.

Consecutive notifications with the same destinations leave as one run, as the bytes they came in.
Control messages take effect between the notifications they came between. Nothing is trusted: a
frame that is cut off, too short, of an unknown type or from an unknown source is counted and
dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from sapwood.errors import SapwoodError
from sapwood.filters.values import Value
from sapwood.protocol.drops import Drop, Drops
from sapwood.protocol.effects import Effect, Forward, Send
from sapwood.protocol.forwarding import (
    NOWHERE,
    Destinations,
    Forwarding,
)
from sapwood.protocol.messages import Refused
from sapwood.protocol.tally import Tally
from sapwood.wire.frames import (
    CONTROL,
    ENVELOPE_SIZE,
    EXPIRES,
    HEADER,
    HEADER_SIZE,
    NOTIFICATION,
    NOTIFICATION_TYPES,
    decode_envelope,
    expiry_of,
)
from sapwood.wire.heads import PAIR_AND_SHORT_TEXT, publisher_end
from sapwood.wire.markers import SHORT_TEXT_END

if TYPE_CHECKING:
    from sapwood.fastpath.router import RoutedRun

LONG_READ_BYTES = 2048
"""Length of a read from which on compiled code pays: some sixteen frames."""

NOTIFICATION_SIZE = HEADER_SIZE + ENVELOPE_SIZE
"""What every notification has at least."""

_MARKER_AT = HEADER_SIZE + 1
_SHORT_REST = HEADER_SIZE + PAIR_AND_SHORT_TEXT

DecodeHead: TypeAlias = Callable[[bytes], tuple[str, dict[str, Value]]]
"""Publisher and attributes of a head. They may be shared by all who ask: nobody changes them."""

Span: TypeAlias = tuple[int, int]
"""Where a head begins and ends."""

_unpack = HEADER.unpack_from


class Frame(NamedTuple):
    """Where the parts of a frame are."""

    kind: int
    start: int
    head: int
    body: int
    end: int


class Admission(NamedTuple):
    """What a broker admits: the questions of a reader about those whose frames it reads."""

    rejection: Callable[[str], Drop | None]
    """Why nothing at all is taken from a source; None if something may be."""
    is_client: Callable[[str], bool]
    refusal: Callable[[str, str, dict[str, Value]], str]
    """Why a source may not send what a publisher published; empty if it may."""
    refused: Callable[[str, str, dict[str, Value], int], list[Effect]]
    """What follows from that, for a notification with a sequence number."""
    control: Callable[[str, bytes, float], list[Effect]]
    """Takes the body of a control message from a source."""
    is_restricted: Callable[[str], bool]
    """Whether what a source may send depends on the attributes."""
    crossed: Callable[[], None]
    """Takes note that a publisher's notifications come from more than one source."""
    aside: Callable[[str, bytes, float], list[Effect]] | None = None
    """Takes whole frames that come over a link outside the tree."""


class FrameReader:
    """Reads the frames that neighbours and clients send."""

    def __init__(
        self,
        forwarding: Forwarding,
        admission: Admission,
        drops: Drops,
        decode: DecodeHead,
        tally: Tally | None = None,
    ) -> None:
        self.skew = 0.0
        """Seconds that the clock on the wall is ahead of the time of events."""
        self._tally = tally
        """Where what is read is counted, if it is."""
        self._forwarding = forwarding
        self._known = forwarding.known
        self._admission = admission
        self._drops = drops
        self._decode = decode

    def read(self, source: str, data: bytes, now: float) -> list[Effect]:
        """Take whole frames; what follows from them, in order.

        A single notification of a kind seen before takes the short way: that is what a simulator
        brings, and what a live broker has most of the time.
        """
        size = len(data)
        if size < NOTIFICATION_SIZE:
            return self._read_many(source, data, now)
        kind, body, head = _unpack(data)
        body_at = HEADER_SIZE + head
        if kind != NOTIFICATION or body_at + body != size or body < ENVELOPE_SIZE:
            return self._read_many(source, data, now)
        if source in self._known:  # the same as _remembered and publisher_end, without the calls
            publishers, plans = self._known[source]
            marker = data[_MARKER_AT]
            rest_at = (
                marker + _SHORT_REST
                if marker < SHORT_TEXT_END
                else publisher_end(data, HEADER_SIZE)
            )
            if data[HEADER_SIZE:rest_at] in publishers:
                rest = data[rest_at:body_at]
                plan = plans.get(rest) or self._forwarding.recall(plans, rest)
                if plan is not None:
                    everyone, without = plan
                    destinations = without.get(source, everyone)
                    if self._tally is not None:
                        cell = self._tally[source][destinations]
                        cell[0] += 1
                        cell[1] += size
                    return [Forward(destinations, data, 1)] if destinations else []
        return self._read_new(source, data, body_at)

    def _read_new(self, source: str, data: bytes, body_at: int) -> list[Effect]:
        """A single notification of which not everything is known."""
        if source not in self._known:  # who is remembered was admitted
            rejection = self._admission.rejection(source)
            if rejection is not None:
                return self._drops.count(rejection, source)
        frame = Frame(NOTIFICATION, 0, HEADER_SIZE, body_at, len(data))
        destinations, effects = self._destinations(source, data, frame)
        if destinations or not effects:
            self._count(source, destinations, 1, len(data))
        return [Forward(destinations, data, 1)] if destinations else effects

    def _read_many(self, source: str, data: bytes, now: float) -> list[Effect]:
        """Whatever is not a single notification."""
        rejection = self._admission.rejection(source)
        if rejection is Drop.OUTSIDE_TREE and self._admission.aside is not None:
            return self._admission.aside(source, data, now)
        if rejection is not None:
            return self._drops.count(rejection, source)
        is_long = len(data) >= LONG_READ_BYTES and self._forwarding.may_route
        if is_long and not self._is_restricted(source):
            return self._route(source, data, now)
        return self._scan(source, data, now)

    def _count(self, source: str, destinations: Destinations, number: int, size: int) -> None:
        """Count a run of notifications."""
        if self._tally is not None and number:
            cell = self._tally[source][destinations]
            cell[0] += number
            cell[1] += size

    def _remembered(
        self, source: str, data: bytes, head_at: int, body_at: int
    ) -> Destinations | None:
        """Where a notification goes, if its publisher and its attributes were seen before.

        The parts of a head that lie about their length are never both known: the attributes would
        have none or a piece of them, and those are not remembered.
        """
        known = self._known.get(source)
        if known is None:
            return None
        publishers, plans = known
        rest_at = publisher_end(data, head_at)
        if data[head_at:rest_at] not in publishers:
            return None
        plan = plans.get(data[rest_at:body_at])
        if plan is None:
            return None
        everyone, without = plan
        return without.get(source, everyone)

    def _scan(self, source: str, data: bytes, now: float) -> list[Effect]:
        """Frame by frame. A run ends where the destinations change."""
        effects: list[Effect] = []
        run, run_start, run_count = NOWHERE, 0, 0
        at, end, learned = 0, len(data), 0
        nowhere, nowhere_size = 0, 0
        while at + HEADER_SIZE <= end:
            kind, body, head = _unpack(data, at)
            body_at = at + HEADER_SIZE + head
            following = body_at + body
            if following > end:
                break
            destinations: Destinations | None = None
            others: list[Effect] = []
            if kind == NOTIFICATION and body >= ENVELOPE_SIZE:
                destinations = self._remembered(source, data, at + HEADER_SIZE, body_at)
            if destinations is None:
                if following < end and at >= learned:
                    spans, learned = _heads_from(data, at)
                    self._learn(source, data, spans)
                frame = Frame(kind, at, at + HEADER_SIZE, body_at, following)
                destinations, others = self._look_closer(source, data, frame, now)
            if destinations is not run and destinations != run:
                if run:
                    effects.append(Forward(run, data[run_start:at], run_count))
                    if self._tally is not None:  # a call for each run is dear
                        self._count(source, run, run_count, at - run_start)
                run, run_start, run_count = destinations, at, 0
            run_count += 1
            if not destinations and kind == NOTIFICATION and not others:
                nowhere += 1
                nowhere_size += following - at
            effects += others
            at = following
        if run:
            effects.append(Forward(run, data[run_start:at], run_count))
            self._count(source, run, run_count, at - run_start)
        self._count(source, NOWHERE, nowhere, nowhere_size)
        if at < end:
            effects += self._malformed(source, f"a frame is cut off after {end - at} bytes")
        return effects

    def _route(self, source: str, data: bytes, now: float) -> list[Effect]:
        """The same with the compiled router; only what is not plain is looked at closer."""
        effects: list[Effect] = []
        run, run_start, run_count = NOWHERE, 0, 0
        at, end, is_trusted = 0, len(data), True
        nowhere, nowhere_size = 0, 0
        wall = now + self.skew
        while at < end:
            router = self._forwarding.router
            runs, following = router.route(source, data, at, wall, stops=is_trusted)
            if following == at:
                break
            plans = router.plans
            undecided = _undecided(data, runs)
            if len(undecided) > 1:
                self._learn(source, data, undecided)
            for number, start, run_end, count in runs:
                others: list[Effect] = []
                if number < 0:
                    destinations, others = self._look_at(source, data, start, now)
                    is_trusted = is_trusted and (not others or data[start] == CONTROL)
                else:
                    everyone, without = plans[number]
                    destinations = without.get(source, everyone)
                    if not destinations:
                        nowhere += count
                        nowhere_size += run_end - start
                if destinations is not run and destinations != run:
                    if run:
                        effects.append(Forward(run, data[run_start:start], run_count))
                        if self._tally is not None:  # a call for each run is dear
                            self._count(source, run, run_count, start - run_start)
                    run, run_start, run_count = destinations, start, 0
                run_count += count
                effects += others
            at = following
        if run:
            effects.append(Forward(run, data[run_start:at], run_count))
            self._count(source, run, run_count, at - run_start)
        self._count(source, NOWHERE, nowhere, nowhere_size)
        if at < end:
            effects += self._malformed(source, f"a frame is cut off after {end - at} bytes")
        return effects

    def _look_at(
        self, source: str, data: bytes, at: int, now: float
    ) -> tuple[Destinations, list[Effect]]:
        """Look closer at the frame that begins at a place, and inform the router of the answer."""
        kind, body, head = _unpack(data, at)
        head_at = at + HEADER_SIZE
        body_at = head_at + head
        frame = Frame(kind, at, head_at, body_at, body_at + body)
        destinations, others = self._look_closer(source, data, frame, now)
        if (
            kind in NOTIFICATION_TYPES
            and body >= ENVELOPE_SIZE
            and self._remembered(source, data, head_at, body_at) is not None
        ):
            self._forwarding.inform_router(source, data[head_at:body_at])
        return destinations, others

    def _look_closer(
        self, source: str, data: bytes, frame: Frame, now: float
    ) -> tuple[Destinations, list[Effect]]:
        """What to do with a frame that is not a plain notification with a known head."""
        if frame.kind == CONTROL:
            return NOWHERE, self._admission.control(source, data[frame.body : frame.end], now)
        if frame.kind not in NOTIFICATION_TYPES:
            return NOWHERE, self._drops.count(Drop.FRAME_UNKNOWN, source)
        if frame.end - frame.body < ENVELOPE_SIZE:
            return NOWHERE, self._malformed(source, "the body of a notification is too short")
        # Written so that an expiry that is no number counts as past.
        if frame.kind & EXPIRES and not expiry_of(data, frame.body) > now + self.skew:
            return NOWHERE, self._expired(source, data, frame)
        known = self._remembered(source, data, frame.head, frame.body)
        return (known, []) if known is not None else self._destinations(source, data, frame)

    def _destinations(
        self, source: str, data: bytes, frame: Frame
    ) -> tuple[Destinations, list[Effect]]:
        """Where a notification goes, or what follows from its being refused."""
        head = data[frame.head : frame.body]
        try:
            publisher, attributes = self._decode(head)
            if not self._admission.refusal(source, publisher, attributes):
                return self._decide(source, head, attributes), []
        except SapwoodError as problem:
            return NOWHERE, self._malformed(source, str(problem), _sequence(data, frame))
        sequence = _sequence(data, frame)
        return NOWHERE, self._admission.refused(source, publisher, attributes, sequence)

    def _decide(self, source: str, head: bytes, attributes: dict[str, Value]) -> Destinations:
        restricted = self._is_restricted(source)
        forwarding = self._forwarding
        destinations = forwarding.destinations_of(source, head, attributes, restricted=restricted)
        if forwarding.has_crossed:
            forwarding.has_crossed = False
            self._admission.crossed()
        return destinations

    def _is_restricted(self, source: str) -> bool:
        """Whether what a source may send depends on the attributes."""
        return self._admission.is_restricted(source)

    def _learn(self, source: str, data: bytes, spans: Iterable[Span]) -> None:
        """Decide about many unknown notifications at once, given by where their heads are.

        What is refused or does not decode is left out: whoever reads on finds it unknown, and
        looks closer at each.
        """
        unknown: dict[bytes, dict[str, Value]] = {}
        for head_at, body_at in spans:
            raw = data[head_at:body_at]
            if raw not in unknown and self._remembered(source, data, head_at, body_at) is None:
                self._take_acceptable(source, raw, unknown)
        try:
            self._forwarding.match_ahead(list(unknown.items()))
        except SapwoodError:
            return  # one of them is bad: each is looked at by itself
        for raw, attributes in unknown.items():
            self._decide(source, raw, attributes)

    def _take_acceptable(
        self, source: str, head: bytes, into: dict[bytes, dict[str, Value]]
    ) -> None:
        """Note the attributes of a head, if the source may send it."""
        try:
            publisher, attributes = self._decode(head)
            if not self._admission.refusal(source, publisher, attributes):
                into[head] = attributes
        except SapwoodError:
            pass  # said when it is its turn

    def _expired(self, source: str, data: bytes, frame: Frame) -> list[Effect]:
        """A notification nobody wants any more; its name is found out only for a trace."""
        if not self._drops.recording:
            return self._drops.count(Drop.EXPIRED, source)
        try:
            publisher, _ = self._decode(data[frame.head : frame.body])
        except SapwoodError as problem:
            return self._malformed(source, str(problem))
        sequence = _sequence(data, frame)
        return self._drops.count(Drop.EXPIRED, source, publisher=publisher, sequence=sequence)

    def _malformed(self, source: str, problem: str, sequence: int = 0) -> list[Effect]:
        effects = self._drops.count(Drop.MALFORMED, source)
        if self._admission.is_client(source):
            effects.append(Send(source, Refused(problem, sequence=sequence)))
        return effects


def _heads_from(data: bytes, at: int) -> tuple[list[Span], int]:
    """The heads of all notifications from a place up to the next control message, and its place."""
    spans: list[Span] = []
    end = len(data)
    while at + HEADER_SIZE <= end:
        kind, body, head = _unpack(data, at)
        body_at = at + HEADER_SIZE + head
        if kind == CONTROL or body_at + body > end:
            break
        if kind in NOTIFICATION_TYPES and body >= ENVELOPE_SIZE:
            spans.append((at + HEADER_SIZE, body_at))
        at = body_at + body
    return spans, at


def _undecided(data: bytes, runs: Sequence[RoutedRun]) -> list[Span]:
    """The heads of notifications that the router did not decide about."""
    spans: list[Span] = []
    for number, at, _, _ in runs:
        if number < 0:
            kind, body, head = _unpack(data, at)
            if kind in NOTIFICATION_TYPES and body >= ENVELOPE_SIZE:
                spans.append((at + HEADER_SIZE, at + HEADER_SIZE + head))
    return spans


def _sequence(data: bytes, frame: Frame) -> int:
    """The sequence number of a notification; zero, which is none, if its envelope is bad."""
    try:
        return decode_envelope(data[frame.body : frame.body + ENVELOPE_SIZE]).sequence
    except SapwoodError:
        return 0
