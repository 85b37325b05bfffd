"""Tests for streams: two channels, and a line between them that can be cut at any byte."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from sapwood.protocol.link.channel import ACK_FRAMES, Channel, ChannelLimits
from sapwood.protocol.link.handshake import COUNT_MAX, LINK_CODEC, Ack, GivenUp
from sapwood.protocol.link.spool import FrameRun, MemorySpool
from sapwood.wire.frames import CONTROL, ENVELOPE_SIZE, LINK, NOTIFICATION, frame, split
from sapwood.wire.scan import scan

SMALL = ChannelLimits(buffer_bytes=2000, control_bytes=400, window_bytes=300)
NOTE_BYTES_MAX = 7 + ENVELOPE_SIZE + 20


def note(text: str) -> bytes:
    return frame(NOTIFICATION, b"", bytes(ENVELOPE_SIZE) + text.encode())


class End:
    """One end of a line: a channel, what was pushed into it, and what came out of it."""

    def __init__(self, limits: ChannelLimits = SMALL) -> None:
        self.channel = Channel(limits)
        self.pushed: list[bytes] = []
        self.got: dict[int, bytes] = {}
        self.wire = b""
        """What the other end has sent, and has not arrived."""
        self.part = b""
        """The beginning of a frame that has arrived."""

    def push(self, frames: int) -> None:
        self.channel.push(self.new(frames), frames)

    def new(self, frames: int) -> bytes:
        run = [note(str(len(self.pushed) + at)) for at in range(frames)]
        self.pushed += run
        return b"".join(run)

    def push_refusal(self) -> None:
        data = frame(CONTROL, b"", str(len(self.pushed)).encode())
        self.pushed.insert(self.channel.sent, data)
        self.channel.push_refusal(data)

    def push_control(self) -> None:
        self.pushed.append(frame(CONTROL, b"", str(len(self.pushed)).encode()))
        self.channel.push_control(self.pushed[-1])

    def outgoing(self) -> bytes:
        return b"".join(self.channel.take())

    def ack(self) -> bytes:
        return self.channel.ack() if self.channel.owes_ack else b""

    def arrive(self, size: int) -> None:
        """Some bytes arrive: as a connection would, take whole frames, keep the rest."""
        self.part, self.wire = self.part + self.wire[:size], self.wire[size:]
        whole = scan(self.part).end
        for kind, _, body in split(self.part[:whole]):
            if kind != LINK:
                data = frame(kind, b"", body)
                self.channel.count(1, 0 if kind == CONTROL else len(data))
                self.got[self.channel.received] = data
                continue
            message = LINK_CODEC.decode(body)
            if isinstance(message, Ack):
                self.channel.acknowledge(message)
            else:
                assert isinstance(message, GivenUp)
                self.channel.miss(message.count)
        self.part = self.part[whole:]

    def lose(self) -> None:
        self.wire = self.part = b""
        self.channel.disconnect()

    def check_against(self, sender: End) -> None:
        """What came is what was sent, in its place; the rest was given up, to the last one."""
        for number, data in self.got.items():
            assert sender.pushed[number - 1] == data
        assert self.channel.missed + len(self.got) == self.channel.received


class Line:
    """Two ends, connected or not."""

    def __init__(self, limits: ChannelLimits = SMALL) -> None:
        self.left, self.right = End(limits), End(limits)
        self.ends = (self.left, self.right)
        self.connected = False

    def other(self, end: End) -> End:
        return self.right if end is self.left else self.left

    def flush(self, end: End) -> None:
        if self.connected:
            self.other(end).wire += end.outgoing()

    def pass_on(self, end: End, frames: int) -> bool:
        data = end.new(frames)
        if not end.channel.pass_on(data, frames):
            end.channel.push(data, frames)
            return False
        assert self.connected
        self.other(end).wire += data
        return True

    def ack(self, end: End) -> None:
        if self.connected:
            self.other(end).wire += end.ack()

    def connect(self) -> None:
        received = {end: end.channel.received for end in self.ends}
        for end in self.ends:
            other = self.other(end)
            assert end.channel.can_connect(received[other])
            end.channel.connect(received[other], other.channel.limits.window_bytes)
        self.connected = True

    def cut(self) -> None:
        for end in self.ends:
            end.lose()
        self.connected = False

    def settle(self) -> None:
        """Faults stop: everything has to arrive, without anybody waiting for anybody."""
        if not self.connected:
            self.connect()
        for _ in range(10_000):
            for end in self.ends:
                end.channel.withheld = False
                self.flush(end)
                self.ack(end)
            for end in self.ends:
                end.arrive(len(end.wire))
            if all(end.channel.is_idle and not end.channel.owes_ack for end in self.ends):
                return
        pytest.fail("the two sides wait for each other")

    def check(self) -> None:
        """Nothing lost but what was given up, nothing repeated, order kept."""
        for end in self.ends:
            sender = self.other(end)
            end.check_against(sender)
            assert end.channel.received == len(sender.pushed)
            assert end.channel.missed == sender.channel.given_up
            assert (sender.channel.buffered, sender.channel.control_buffered) == (0, 0)
            controls = {at for at, data in enumerate(sender.pushed, 1) if data[0] == CONTROL}
            assert controls <= end.got.keys()


class ChannelsOverABadLine(RuleBasedStateMachine):
    """Whatever happens in whatever order."""

    @initialize()
    def begin(self) -> None:
        self.line = Line()
        self.line.connect()

    def end(self, is_left: bool) -> End:
        return self.line.left if is_left else self.line.right

    @rule(is_left=st.booleans(), frames=st.integers(1, 4))
    def push(self, is_left: bool, frames: int) -> None:
        self.end(is_left).push(frames)

    @rule(is_left=st.booleans(), frames=st.integers(1, 4))
    def pass_on(self, is_left: bool, frames: int) -> None:
        self.line.pass_on(self.end(is_left), frames)

    @rule(is_left=st.booleans())
    def push_refusal(self, is_left: bool) -> None:
        self.end(is_left).push_refusal()

    @rule(is_left=st.booleans())
    def push_control(self, is_left: bool) -> None:
        self.end(is_left).push_control()

    @rule(is_left=st.booleans())
    def flush(self, is_left: bool) -> None:
        self.line.flush(self.end(is_left))

    @rule(is_left=st.booleans())
    def ack(self, is_left: bool) -> None:
        self.line.ack(self.end(is_left))

    @rule(is_left=st.booleans(), withheld=st.booleans())
    def withhold(self, is_left: bool, withheld: bool) -> None:
        self.end(is_left).channel.withheld = withheld

    @rule(is_left=st.booleans(), share=st.floats(0, 1))
    def arrive(self, is_left: bool, share: float) -> None:
        end = self.end(is_left)
        end.arrive(round(len(end.wire) * share))

    @rule(is_left=st.booleans(), size=st.integers(0, 2000))
    def shed(self, is_left: bool, size: int) -> None:
        self.end(is_left).channel.shed(size)

    @precondition(lambda self: self.line.connected)
    @rule()
    def cut(self) -> None:
        self.line.cut()

    @precondition(lambda self: not self.line.connected)
    @rule()
    def connect(self) -> None:
        self.line.connect()

    @invariant()
    def bounds_are_kept(self) -> None:
        for end in self.line.ends:
            channel = end.channel
            assert channel.buffered <= channel.limits.buffer_bytes
            assert channel.exceeded <= NOTE_BYTES_MAX
            end.check_against(self.line.other(end))

    def teardown(self) -> None:
        if hasattr(self, "line"):
            self.line.settle()
            self.line.check()


TestChannelsOverABadLine = ChannelsOverABadLine.TestCase


def test_a_line_cut_at_every_byte() -> None:
    """The same exchange, cut after each number of bytes to the right, and then to the left."""
    for towards_left in (False, True):
        at = 0
        while True:
            line = Line()
            line.connect()
            for end in line.ends:
                end.push(3)
                end.push_control()
                end.push(2)
                line.flush(end)
            line.left.arrive(200)
            line.ack(line.left)
            receiver = line.left if towards_left else line.right
            is_last = at > len(receiver.wire)
            receiver.arrive(at)
            line.ack(receiver)
            line.cut()
            line.left.push(2)
            line.settle()
            line.check()
            if is_last:
                break
            at += 1


@pytest.mark.parametrize("seed", range(5))
def test_a_long_storm_ends_well(seed: int) -> None:
    """Thousands of frames both ways, hundreds of cuts, outages longer than the buffer."""
    storm(seed, steps=2000)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100, 140))
def test_many_long_storms_end_well(seed: int) -> None:
    storm(seed, steps=20_000)


def storm(seed: int, steps: int) -> None:
    print(f"replay: storm({seed}, steps={steps})")
    chance = random.Random(seed)
    line = Line()
    line.connect()
    for _ in range(steps):
        end = chance.choice(line.ends)
        roll = chance.random()
        if roll < 0.3:
            end.push(chance.randint(1, 4))
        elif roll < 0.33:
            end.push_control()
        elif roll < 0.5:
            line.flush(end)
        elif roll < 0.65:
            line.ack(end)
        elif roll < 0.95:
            end.arrive(chance.randint(0, 400))
        elif roll < 0.97:
            end.channel.withheld = not end.channel.withheld
        elif line.connected:
            line.cut()
        elif roll > 0.99:
            line.connect()
    given_up = line.left.channel.given_up + line.right.channel.given_up
    line.settle()
    line.check()
    assert given_up > 0, "a storm that gives nothing up shows little"


def test_both_directions_full_do_not_stop_each_other() -> None:
    """Neither side has credit or room; acknowledgements alone set both free."""
    line = Line()
    line.connect()
    for end in line.ends:
        end.channel.withheld = True
        for _ in range(15):
            end.push(4)
        end.push_control()
    for end in line.ends:
        line.flush(end)
    for end in line.ends:
        end.arrive(len(end.wire))
        assert end.channel.waiting > 0
        assert line.other(end).outgoing() == b""
    line.settle()
    line.check()


def test_what_passes_on_has_nothing_before_it_and_credit_for_all_of_it() -> None:
    line = Line()
    assert not line.pass_on(line.left, 1)  # there is no connection
    line.connect()
    assert not line.pass_on(line.left, 1)  # the first one waits
    line.settle()
    each = len(note("2"))
    fits = SMALL.window_bytes // each
    assert [line.pass_on(line.left, 1) for _ in range(fits + 1)] == [True] * fits + [False]
    line.settle()
    assert line.pass_on(line.left, 1)
    line.cut()
    assert not line.pass_on(line.left, 1)  # there was credit, but nobody is there
    line.settle()
    line.check()


def test_a_buffer_that_is_half_full_passes_nothing_on() -> None:
    """From there on senders may have to be held back: that is looked at when it is pushed."""
    end = End()
    end.channel.connect(0, 10**6)
    half = SMALL.buffer_bytes // 2 // len(note("0"))
    taken = [end.channel.pass_on(end.new(1), 1) for _ in range(half + 1)]
    assert taken.index(False) * len(note("00")) <= SMALL.buffer_bytes // 2
    assert end.channel.buffered <= SMALL.buffer_bytes // 2
    assert taken.count(True) >= half - 10


def test_control_messages_earn_no_credit() -> None:
    """They need none either; if they did earn some, the window would grow with each."""
    line = Line()
    line.connect()
    for _ in range(20):
        line.left.push_control()
    line.flush(line.left)
    line.right.arrive(10_000)
    ack = Ack(20, SMALL.window_bytes)
    assert line.right.ack() == LINK_CODEC.encode(ack)


def test_credit_belongs_to_a_connection() -> None:
    line = Line()
    line.connect()
    for _ in range(4):
        line.left.push(4)
    fits = -(-SMALL.window_bytes // len(note("0")))
    assert line.left.outgoing() == b"".join(line.left.pushed[:fits])
    assert line.left.outgoing() == b""
    line.cut()
    line.connect()
    assert line.left.outgoing() == b"".join(line.left.pushed[:fits])


def test_an_acknowledgement_is_due_when_half_of_the_window_is_used_up() -> None:
    channel = Channel(SMALL)
    channel.connect(0, 0)
    assert not channel.count(1, SMALL.window_bytes // 2)
    assert channel.count(1, 1)
    channel.ack()
    channel.withheld = True
    assert not channel.count(1, SMALL.window_bytes)


def test_a_smaller_window_takes_back_nothing() -> None:
    """Credit only grows; what was promised stays promised."""
    channel = Channel(SMALL)
    channel.connect(0, 0)
    channel.window = 100
    channel.count(1, 10)
    assert channel.ack() == LINK_CODEC.encode(Ack(1, SMALL.window_bytes))
    channel.count(1, 250)
    assert channel.ack() == LINK_CODEC.encode(Ack(2, 360))


def test_an_acknowledgement_is_due_after_some_frames() -> None:
    channel = Channel(SMALL)
    channel.connect(0, 0)
    assert not channel.count(ACK_FRAMES - 1, 10)
    assert channel.owes_ack
    assert channel.count(1, 10)
    channel.ack()
    assert not channel.owes_ack


def test_an_acknowledgement_of_what_was_never_sent_is_none() -> None:
    end = End()
    end.channel.connect(0, 10_000)
    end.push(2)
    end.outgoing()
    assert end.channel.acknowledge(Ack(3, 0)) == []
    assert not end.channel.is_idle
    assert end.channel.acknowledge(Ack(2, 0)) == [
        FrameRun(b"".join(end.pushed), 2, 2 * len(note("0")))
    ]
    assert end.channel.acknowledge(Ack(1, 0)) == []


def test_streams_that_are_not_the_same_do_not_connect() -> None:
    end = End()
    end.channel.connect(0, 10_000)
    end.push(3)
    end.outgoing()
    end.channel.acknowledge(Ack(1, 0))
    assert [end.channel.can_connect(received) for received in range(5)] == [
        False,
        True,
        True,
        True,
        False,
    ]


def test_control_messages_beyond_their_room_end_the_stream() -> None:
    end = End()
    while end.channel.control_buffered <= SMALL.control_bytes:
        assert not end.channel.is_overrun
        end.push_control()
    assert end.channel.is_overrun
    assert end.channel.given_up == 0


def test_what_ends_with_a_stream_is_counted() -> None:
    end = End()
    end.push(3)
    end.push_control()
    assert end.channel.last == 4
    assert sum(run.frames for run in end.channel.abandon()) == 3
    assert (end.channel.given_up, end.channel.is_idle) == (3, True)


@given(st.integers(0, COUNT_MAX), st.integers(0, COUNT_MAX))
def test_more_frames_than_can_be_are_no_frames(first: int, second: int) -> None:
    """Else a count that fits no message would end the broker's timer, not the connection."""
    channel = Channel(SMALL)
    channel.miss(first)
    assert channel.can_miss(second) == (first + second <= COUNT_MAX)
    if channel.can_miss(second):
        channel.miss(second)
        assert channel.missed == first + second


def test_a_channel_can_have_another_spool() -> None:
    spool = MemorySpool()
    channel = Channel(SMALL, spool)
    channel.push_control(frame(CONTROL, b"", b"!"))
    assert spool.waiting == 1


def test_a_new_connection_begins_its_own_accounts() -> None:
    """What was sent and taken over the one before is neither credit nor debt."""
    line = Line()
    line.connect()
    line.left.push(4)
    line.flush(line.left)
    line.right.arrive(70)
    line.cut()
    assert line.right.channel.received == 2
    line.connect()
    assert (line.left.channel.sent, line.right.channel.owes_ack) == (2, False)
    assert not line.right.channel.exceeded
    line.flush(line.left)
    line.right.arrive(1000)
    size = 2 * len(note("0"))
    assert line.right.ack() == LINK_CODEC.encode(Ack(4, SMALL.window_bytes + size))


def test_withheld_credit_is_not_in_an_acknowledgement() -> None:
    line = Line()
    line.connect()
    line.left.push(4)
    line.flush(line.left)
    line.right.arrive(1000)
    line.right.channel.withheld = True
    assert line.right.ack() == LINK_CODEC.encode(Ack(4, SMALL.window_bytes))
    assert not line.right.channel.owes_ack
    line.right.channel.withheld = False
    size = 4 * len(note("0"))
    assert line.right.ack() == LINK_CODEC.encode(Ack(4, SMALL.window_bytes + size))


def test_over_a_connection_what_is_on_its_way_is_kept_and_without_one_the_oldest_go() -> None:
    end = End()
    end.channel.connect(0, 100)
    end.push(4)
    end.push(4)
    end.outgoing()
    end.channel.shed(0)
    size = 4 * len(note("0"))
    assert (end.channel.given_up, end.channel.buffered) == (4, size)
    end.channel.disconnect()
    end.push(4)
    end.channel.shed(size + 10)
    end.channel.connect(0, 1000)
    assert end.channel.given_up == 8
    lost = LINK_CODEC.encode(GivenUp(4))
    assert end.outgoing() == lost + lost + b"".join(end.pushed[8:])


def test_a_stream_that_has_stopped_goes_on_with_what_was_kept_back() -> None:
    channel = Channel(ChannelLimits())
    channel.connect(0, 1000)
    channel.push_control(b"last")
    channel.bar()
    assert not channel.pass_on(b"n1", 1)
    channel.push(b"n1", 1)
    channel.push_control(b"c1")
    assert (channel.take(), channel.is_barred, channel.is_idle) == ([b"last"], True, False)
    channel.acknowledge(Ack(1, 1000))
    assert not channel.is_idle
    channel.lift()
    assert (channel.take(), channel.is_barred) == ([b"n1", b"c1"], False)
    assert channel.is_sound


@pytest.mark.parametrize("received", range(1, 4))
def test_a_stream_is_adopted_as_it_stands(received: int) -> None:
    """Whatever the other side has of what was sent, it gets the rest, and nothing twice."""
    before = Channel(ChannelLimits())
    before.connect(0, 2)
    for data in (b"a", b"b", b"c", b"d"):
        before.push(data, 1)
    before.take()
    before.acknowledge(Ack(1, 3))
    before.take()
    before.count(7, 0)
    assert (before.sent, before.acknowledged) == (3, 1)
    after = Channel(ChannelLimits())
    after.adopt(before.counts(), before.spool.runs())
    assert after.is_sound
    assert (after.received, after.acknowledged) == (7, 1)
    assert after.can_connect(received)
    assert not after.can_connect(0)
    assert not after.can_connect(4)
    after.push(b"e", 1)
    after.connect(received, 1000)
    assert after.take() == [b"a", b"b", b"c", b"d", b"e"][received:]
    assert after.is_sound
