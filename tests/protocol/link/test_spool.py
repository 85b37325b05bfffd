"""Tests for the place where the frames of a stream are kept, against a plain list of frames."""

from __future__ import annotations

from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from sapwood.protocol.link.spool import FrameRun, MemorySpool
from sapwood.wire.frames import CONTROL, ENVELOPE_SIZE, NOTIFICATION, frame
from sapwood.wire.scan import skip


def note(payload: bytes) -> bytes:
    return frame(NOTIFICATION, b"", bytes(ENVELOPE_SIZE) + payload)


def order(payload: bytes) -> bytes:
    return frame(CONTROL, b"", payload)


def notes(*payloads: bytes) -> FrameRun:
    data = b"".join(note(payload) for payload in payloads)
    return FrameRun(data, len(payloads), len(data))


ORDER = FrameRun(order(b"!"), 1, 0)
A, B, C = notes(b"a"), notes(b"b"), notes(b"c")


def test_runs_come_out_in_the_order_they_went_in() -> None:
    spool = MemorySpool()
    for run in (A, ORDER, B):
        spool.append(run)
    assert (spool.waiting, spool.waiting_frames, spool.is_empty) == (3, 3, False)
    assert spool.take(10_000) == [A, ORDER, B]
    assert spool.take(10_000) == []
    assert spool.release(3) == [A, ORDER, B]
    assert (spool.is_empty, spool.size, spool.control_size) == (True, 0, 0)


def test_notifications_need_credit_and_control_messages_in_front_do_not() -> None:
    spool = MemorySpool()
    for run in (ORDER, A, B, ORDER):
        spool.append(run)
    assert spool.take(0) == [ORDER]
    assert spool.take(1) == [A]  # the last one may exceed the credit
    assert spool.take(A.size + 1) == [B, ORDER]


def test_what_is_inserted_goes_before_what_waits_and_behind_what_was_sent() -> None:
    spool = MemorySpool()
    spool.append(notes(b"a", b"b"))
    assert spool.take(A.size) == [A]
    spool.insert(ORDER)
    assert spool.control_size == len(ORDER.data or b"")
    assert spool.take(0) == [ORDER]
    spool.rewind()
    assert spool.take(10_000) == [A, ORDER, B]
    assert spool.release(3) == [A, ORDER, B]
    assert spool.control_size == 0


def test_what_passes_on_is_kept_as_sent_unless_something_waits() -> None:
    spool = MemorySpool()
    assert spool.pass_on(A)
    assert (spool.size, spool.waiting, spool.is_empty) == (A.size, 0, False)
    spool.append(ORDER)
    assert not spool.pass_on(B)
    spool.rewind()
    assert spool.take(10_000) == [A, ORDER]
    assert spool.release(2) == [A, ORDER]


def test_what_is_given_up_is_given_back() -> None:
    spool = MemorySpool()
    for run in (A, B, ORDER, C):
        spool.append(run)
    spool.take(A.size)
    assert spool.give_up(A.size + 1, sent_too=True) == [A._replace(in_doubt=True), B]
    assert spool.give_up(1, sent_too=False) == [C]


def test_a_run_is_divided_where_the_credit_ends() -> None:
    spool = MemorySpool()
    spool.append(notes(b"a", b"b", b"c"))
    assert spool.take(A.size) == [A]
    assert spool.take(B.size + 1) == [notes(b"b", b"c")]
    assert spool.release(3) == [A, notes(b"b", b"c")]


def test_a_run_is_done_with_when_its_last_frame_is_acknowledged() -> None:
    spool = MemorySpool()
    three = notes(b"a", b"b", b"c")
    spool.append(three)
    spool.take(10_000)
    assert spool.release(2) == []
    assert spool.size == three.size
    assert spool.release(1) == [three]


def test_split_runs_are_done_with_part_by_part() -> None:
    spool = MemorySpool(splits_runs=True)
    three = notes(b"a", b"b", b"c")
    spool.append(three)
    spool.take(10_000)
    assert spool.release(1) == [three._replace(frames=1, size=A.size)]
    assert spool.release(2) == [three._replace(frames=2, size=2 * A.size, first=1)]
    assert spool.is_empty


def test_a_part_that_was_given_back_is_not_sent_again() -> None:
    spool = MemorySpool(splits_runs=True)
    spool.append(notes(b"a", b"b", b"c"))
    spool.take(10_000)
    spool.release(1)
    spool.rewind()
    assert spool.take(10_000) == [notes(b"b", b"c")]
    assert spool.release(2) == [notes(b"b", b"c")]


def test_what_was_acknowledged_in_part_is_sent_again_in_part() -> None:
    spool = MemorySpool()
    spool.append(notes(b"a", b"b", b"c"))
    spool.append(ORDER)
    spool.take(10_000)
    spool.release(1)
    spool.rewind()
    assert spool.take(10_000) == [notes(b"b", b"c"), ORDER]


def test_the_oldest_notifications_are_given_up_and_keep_their_place() -> None:
    spool = MemorySpool()
    for run in (A, B, ORDER, C):
        spool.append(run)
    spool.give_up(A.size + 1, sent_too=False)
    assert spool.given_up == 2
    assert spool.take(10_000) == [FrameRun(None, 2, 0), ORDER, C]


def test_what_is_on_its_way_is_not_given_up() -> None:
    spool = MemorySpool()
    spool.append(A)
    spool.take(10_000)
    spool.append(B)
    spool.give_up(10_000, sent_too=False)
    assert (spool.given_up, spool.size) == (1, A.size)


def test_what_was_given_up_in_doubt_counts_only_if_it_did_not_arrive() -> None:
    """Three were sent, all three given up while the connection was away; one had arrived."""
    spool = MemorySpool()
    spool.append(notes(b"a", b"b", b"c"))
    spool.take(10_000)
    spool.give_up(10_000, sent_too=True)
    assert (spool.given_up, spool.size) == (0, 0)
    spool.release(1)
    spool.rewind()
    assert spool.given_up == 2
    assert spool.take(0) == [FrameRun(None, 2, 0)]


def test_giving_up_after_a_partial_acknowledgement_loses_only_the_rest() -> None:
    spool = MemorySpool()
    spool.append(notes(b"a", b"b", b"c"))
    spool.take(10_000)
    spool.release(1)
    spool.give_up(10_000, sent_too=True)
    spool.rewind()
    assert spool.given_up == 2


def test_clearing_tells_what_is_lost() -> None:
    spool = MemorySpool()
    spool.append(notes(b"a", b"b"))
    spool.append(ORDER)
    spool.take(10_000)
    spool.release(1)
    spool.append(C)
    assert spool.clear() == [B, C]
    assert (spool.is_empty, spool.size, spool.control_size, spool.given_up) == (True, 0, 0, 2)


class _Place(NamedTuple):
    """One frame of the model."""

    payload: bytes | None
    is_control: bool = False
    in_doubt: bool = False


class SpoolAgainstList(RuleBasedStateMachine):
    """The same done to a spool and to a list of frames with two positions."""

    def __init__(self) -> None:
        super().__init__()
        self.spool = MemorySpool()
        self.places: list[tuple[int, _Place]] = []  # number and frame, those released left out
        self.pushed = self.sent = self.released = 0
        self.lost: set[int] = set()

    @rule(payloads=st.lists(st.binary(max_size=3), min_size=1, max_size=4))
    def append_notifications(self, payloads: list[bytes]) -> None:
        self.spool.append(notes(*payloads))
        for payload in payloads:
            self.pushed += 1
            self.places.append((self.pushed, _Place(note(payload))))

    @rule(payload=st.binary(max_size=3))
    def append_control(self, payload: bytes) -> None:
        self.spool.append(FrameRun(order(payload), 1, 0))
        self.pushed += 1
        self.places.append((self.pushed, _Place(order(payload), is_control=True)))

    @rule(payload=st.binary(max_size=3))
    def insert_control(self, payload: bytes) -> None:
        self.spool.insert(FrameRun(order(payload), 1, 0))
        self.pushed += 1
        self.lost = {number + (number > self.sent) for number in self.lost}
        self.places = [(number + (number > self.sent), place) for number, place in self.places]
        self.places.append((self.sent + 1, _Place(order(payload), is_control=True)))
        self.places.sort(key=lambda numbered: numbered[0])

    @rule(credit=st.integers(0, 300))
    def take(self, credit: int) -> None:
        runs = self.spool.take(credit)
        needed = [run.size for run in runs if run.size]
        assert sum(needed[:-1]) < credit or not needed
        frames = sum(run.frames for run in runs)
        taken = [place for number, place in self.places if self.sent < number <= self.sent + frames]
        assert [run.data for run in runs if run.data is not None] == _joined(runs, taken)
        self.sent += frames

    @precondition(lambda self: self.sent > self.released)
    @rule(data=st.data())
    def release(self, data: st.DataObject) -> None:
        frames = data.draw(st.integers(1, self.sent - self.released))
        self.spool.release(frames)
        self.released += frames
        self.places = [(number, place) for number, place in self.places if number > self.released]

    @rule()
    def rewind(self) -> None:
        self.spool.rewind()
        self.lost |= {number for number, place in self.places if place.in_doubt}
        self.places = [(number, place._replace(in_doubt=False)) for number, place in self.places]
        self.sent = self.released

    @rule(excess=st.integers(1, 300), sent_too=st.booleans())
    def give_up(self, excess: int, sent_too: bool) -> None:
        self.spool.give_up(0, sent_too=sent_too)  # a run acknowledged in part is cut by that
        before = self.spool.size
        given_up = self.spool.give_up(excess, sent_too=sent_too)
        freed = before - self.spool.size
        assert freed == sum(run.size for run in given_up)
        payloads: list[bytes] = []
        for at, (number, place) in enumerate(self.places):
            if freed <= 0:
                break
            is_fixed = number <= self.sent and not sent_too
            if is_fixed or place.is_control or place.payload is None:
                continue
            freed -= len(place.payload)
            payloads.append(place.payload)
            in_doubt = number <= self.sent
            self.places[at] = (number, _Place(None, in_doubt=in_doubt))
            if not in_doubt:
                self.lost.add(number)
        assert b"".join(run.data or b"" for run in given_up) == b"".join(payloads)

    @invariant()
    def counts_agree(self) -> None:
        assert self.spool.given_up == len(self.lost)
        assert self.spool.waiting_frames == self.pushed - self.sent
        held = [place for _, place in self.places]
        control = [place for place in held if place.is_control]
        assert self.spool.control_size == sum(len(place.payload or b"") for place in control)
        least = sum(len(place.payload or b"") for place in held if not place.is_control)
        assert self.spool.size >= least  # a run acknowledged in part is still whole


def _joined(runs: list[FrameRun], places: list[_Place]) -> list[bytes]:
    """What the runs with data should hold, by the model."""
    out, at = [], 0
    for run in runs:
        part = places[at : at + run.frames]
        at += run.frames
        if run.data is not None:
            out.append(b"".join(place.payload or b"?" for place in part))
        else:
            assert all(place.payload is None for place in part)
    return out


TestSpoolAgainstList = SpoolAgainstList.TestCase


def _frames_of(run: FrameRun) -> bytes:
    """The bytes of a run that may be a part."""
    rest = skip(run.data or b"", run.first)
    return rest[: len(rest) - len(skip(rest, run.frames))]


@given(st.lists(st.integers(1, 5), min_size=1, max_size=8), st.data())
def test_split_releases_give_back_every_frame_once(sizes: list[int], data: st.DataObject) -> None:
    spool = MemorySpool(splits_runs=True)
    payloads = [[b"%d.%d" % (run, at) for at in range(size)] for run, size in enumerate(sizes)]
    for run in payloads:
        spool.append(notes(*run))
    spool.take(10**9)
    left, got = sum(sizes), b""
    while left:
        frames = data.draw(st.integers(1, left))
        left -= frames
        got += b"".join(_frames_of(run) for run in spool.release(frames))
    assert got == b"".join(note(payload) for run in payloads for payload in run)
    assert (spool.size, spool.is_empty) == (0, True)


def barred() -> MemorySpool:
    """A spool with a run sent, one that waits, and two behind a bar."""
    spool = MemorySpool()
    spool.append(FrameRun(b"a", 1, 1))
    spool.take(1)
    spool.append(FrameRun(b"b", 1, 1))
    spool.bar()
    spool.append(FrameRun(b"cc", 2, 2))
    spool.append(FrameRun(b"control", 1, 0))
    return spool


def test_what_comes_behind_a_bar_is_kept_back() -> None:
    spool = barred()
    assert not spool.pass_on(FrameRun(b"d", 1, 1))
    assert spool.take(100) == [FrameRun(b"b", 1, 1)]
    assert spool.take(100) == []
    assert (spool.size, spool.control_size, spool.is_barred) == (4, 7, True)
    assert not spool.is_empty
    assert spool.runs() == [
        FrameRun(b"a", 1, 1),
        FrameRun(b"b", 1, 1),
        FrameRun(b"cc", 2, 2),
        FrameRun(b"control", 1, 0),
    ]
    assert list(spool.problems(2)) == []


def test_lifting_a_bar_gives_back_what_was_behind_it() -> None:
    spool = barred()
    assert spool.lift() == [FrameRun(b"cc", 2, 2), FrameRun(b"control", 1, 0)]
    assert (spool.size, spool.control_size, spool.is_barred) == (2, 0, False)
    assert spool.lift() == []
    assert list(spool.problems(1)) == []


def test_what_is_kept_back_is_given_up_last() -> None:
    spool = barred()
    assert spool.give_up(2, sent_too=True) == [
        FrameRun(b"a", 1, 1, in_doubt=True),
        FrameRun(b"b", 1, 1),
    ]
    assert spool.give_up(1, sent_too=True) == [FrameRun(b"cc", 2, 2)]
    assert spool.lift() == [FrameRun(None, 2, 0), FrameRun(b"control", 1, 0)]


def test_a_stream_that_takes_the_place_of_a_barred_one_gets_everything() -> None:
    kept, lost = barred().hand_over(lambda data: True, sent_too=True)
    assert [run.data for run in kept] == [b"a", b"b", b"cc", b"control"]
    assert lost == []
    spool = barred()
    assert [run.data for run in spool.clear()] == [b"a", b"b", b"cc"]
    assert not spool.is_barred
