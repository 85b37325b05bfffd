"""Where the frames of a stream are kept until the other side has them.

A `Spool` is an ordered store with a position: before it lie the runs that were sent and are not
acknowledged, behind it those that wait. `MemorySpool` keeps both in memory. The interface is what
a stream needs and no more, so that a spool on disk can take its place: runs go in at the end, are
taken in order, are released from the beginning, and after a broken connection the position goes
back. Whatever a spool gives up keeps its place as a number of frames, since both sides count.

Where a broker has a journal, notifications beyond `memory_bytes` are not kept here: a run without
its bytes has their place (`is_paged`), and the bytes are filled in from the journal before they are
due (`fill`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from operator import attrgetter
from typing import Final, NamedTuple, Protocol

from sapwood.wire.frames import HEADER_SIZE
from sapwood.wire.scan import size_of_next, skip


class FrameRun(NamedTuple):
    """Consecutive frames of a stream. Without data: notifications that were given up."""

    data: bytes | None
    frames: int
    size: int
    """Bytes that count as notifications: none for control messages."""
    in_doubt: bool = False
    """Given up after it was sent over a connection that broke: perhaps it has arrived."""
    first: int = 0
    """Of a part that is given back: how many frames of the data are before it. Its size is about
    its share then."""
    position: int = 0
    """In the journal, if there is one: it is not sent before it is on disk."""

    @property
    def is_paged(self) -> bool:
        """Whether its bytes are in the journal and not here."""
        return self.data == b""


def paged_run(frames: int, size: int, position: int) -> FrameRun:
    """Notifications whose bytes are in the journal and not here."""
    return FrameRun(b"", frames, size, position=position)


_DATA: Final = attrgetter("data")
_FRAMES: Final = attrgetter("frames")
_SIZE: Final = attrgetter("size")


class Spool(Protocol):
    """What a stream needs of the place where its frames are kept."""

    size: int
    """Bytes of notifications that are kept."""
    control_size: int
    """Bytes of control messages that are kept."""
    given_up: int
    """Notifications given up so far that the other side does not have."""
    synced: int
    """How far the journal is on disk: what has a position behind it waits."""
    memory_bytes: int
    """Beyond so much, notifications that are in the journal are not kept here; 0: all are."""
    paged: int
    """Bytes of notifications that are in the journal and not here, about."""

    def append(self, run: FrameRun) -> None:
        """Keep a run, behind all others."""

    def insert(self, run: FrameRun) -> None:
        """Keep a run before all that wait, behind those that were sent."""

    def pass_on(self, run: FrameRun) -> bool:
        """Keep a run as sent, if none waits before it; whether it is. A spool may always say no."""

    def take(self, credit: int) -> list[FrameRun]:
        """The next runs to be sent. Notifications need credit: the last one may exceed it."""

    def release(self, frames: int) -> list[FrameRun]:
        """The other side has so many more of the frames that were sent; the runs done with."""

    def rewind(self) -> None:
        """All that was sent and not released is to be sent again."""

    def give_up(self, excess: int, *, sent_too: bool) -> list[FrameRun]:
        """Give up the oldest notifications, so many bytes at least if there are as many; which.

        What was sent can be given up only while there is no connection.
        """

    def hand_over(
        self, keeps: Callable[[bytes], bool], *, sent_too: bool
    ) -> tuple[list[FrameRun], list[FrameRun]]:
        """Empty the spool for a stream that takes its place: notifications kept, and lost ones.

        What was sent and not acknowledged is lost, unless it is kept, too; what is lost has its
        place among what is kept, as a number of frames. Control messages belong to the old
        stream and go with it, but for those to be kept: they stay in their places.
        """

    def discard(self, frames: Collection[bytes]) -> None:
        """Forget control messages that wait."""

    def bar(self) -> None:
        """Keep back whatever comes from now on: it is not taken before the bar is lifted."""

    def lift(self) -> list[FrameRun]:
        """Keep nothing back any more; what was, and is here no longer."""

    def runs(self) -> list[FrameRun]:
        """All that is kept and not acknowledged, in order; it stays."""

    @property
    def wants_page(self) -> bool:
        """Whether bytes that are not here are due soon."""

    def paged_at(self) -> tuple[int, int] | None:
        """Of the first notifications that are not here: how many, and how many from there on."""

    def fill(self, runs: Sequence[FrameRun]) -> list[FrameRun]:
        """Put bytes in the place of the first notifications that are not here.

        Those without data are given up; which those are.
        """

    @property
    def is_barred(self) -> bool:
        """Whether something is kept back."""

    def clear(self) -> list[FrameRun]:
        """Forget everything; the notifications that are given up by that."""

    @property
    def waiting(self) -> int:
        """How many runs wait to be sent."""

    @property
    def waiting_frames(self) -> int:
        """How many frames wait to be sent."""

    @property
    def notifications_waiting(self) -> int:
        """How many notifications wait to be sent."""

    @property
    def is_empty(self) -> bool:
        """Whether nothing is kept."""

    def problems(self, unacknowledged: int) -> Iterator[str]:
        """What is wrong with what is kept, if so many frames were sent and not acknowledged."""


class MemorySpool:
    """A spool in memory: what it keeps is lost with the process."""

    def __init__(self, *, splits_runs: bool = False) -> None:
        self.size = 0
        self.control_size = 0
        self.given_up = 0
        self.synced = 0
        self.memory_bytes = 0
        self.paged = 0
        self._is_paging = False
        self._splits_runs = splits_runs
        self._sent: deque[FrameRun] = deque()
        self._waiting: deque[FrameRun] = deque()
        self._partly = 0
        """Frames of the first run sent that are acknowledged already."""
        self._barred: deque[FrameRun] | None = None
        """What came since a bar was put up, and waits behind it."""

    def append(self, run: FrameRun) -> None:
        """Keep a run, behind all others."""
        if self._barred is not None:
            self._barred.append(run)
        elif self.memory_bytes and run.position and self._is_full:
            self._append_paged(run)
            return
        else:
            self._waiting.append(run)
        self._keep(run)

    @property
    def _is_full(self) -> bool:
        """Whether notifications go into the journal only; until half of the room is free again."""
        here = self.size - self.paged
        self._is_paging = here > (self.memory_bytes >> 1 if self._is_paging else self.memory_bytes)
        return self._is_paging

    def _append_paged(self, run: FrameRun) -> None:
        """Keep the place of a run; one run for all that follow each other."""
        before = self._waiting[-1] if self._waiting else None
        frames, size = run.frames, run.size
        if before is not None and before.is_paged:
            self._waiting.pop()
            frames, size = frames + before.frames, size + before.size
        self._waiting.append(paged_run(frames, size, run.position))
        self.size += run.size
        self.paged += run.size

    def insert(self, run: FrameRun) -> None:
        """Keep a run before all that wait, behind those that were sent."""
        self._waiting.appendleft(run)
        self._keep(run)

    def pass_on(self, run: FrameRun) -> bool:
        """Keep a run as sent, if none waits before it; whether it is."""
        if self._waiting or self._barred is not None:
            return False
        self._sent.append(run)
        self.size += run.size
        return True

    def _keep(self, run: FrameRun) -> None:
        if run.size:
            self.size += run.size
            if not run.data:  # `is_paged`, without a call for each run
                self.paged += run.size
        elif run.data is not None:
            self.control_size += len(run.data)

    def take(self, credit: int) -> list[FrameRun]:
        """The next runs to be sent. Notifications need credit: the last one may exceed it."""
        waiting, sent = self._waiting, self._sent
        taken: list[FrameRun] = []
        while waiting:
            run = waiting.popleft()
            if run.position > self.synced or run.data == b"":
                waiting.appendleft(run)
                break
            if run.size:
                if credit <= 0:
                    waiting.appendleft(run)
                    break
                if run.size > credit and run.frames > 1:
                    run, rest = _divided(run, credit)
                    if rest is not None:
                        waiting.appendleft(rest)
                credit -= run.size
            sent.append(run)
            taken.append(run)
        return taken

    def release(self, frames: int) -> list[FrameRun]:
        """The other side has so many more of the frames that were sent; the runs done with.

        If runs are split, the one that was acknowledged in part is among them, as that part: a
        trace wants to know what came before what. Nothing is copied for that.
        """
        told = self._partly if self._splits_runs else 0
        self._partly += frames
        sent, done = self._sent, []
        while sent and sent[0].frames <= self._partly:
            run = sent.popleft()
            self._partly -= run.frames
            self._forget(run)
            done.append(_part(run, told, run.frames))
            told = 0
        if self._splits_runs and self._partly > told:
            done.append(_part(sent[0], told, self._partly))
        return done

    def _forget(self, run: FrameRun) -> None:
        if run.size:
            self.size -= run.size
            if self.paged and run.is_paged:
                self.paged -= run.size
        elif run.data is not None:
            self.control_size -= len(run.data)

    def _cut(self) -> FrameRun:
        """Take off the part of the first run that is acknowledged."""
        run, frames = self._sent[0], self._partly
        self._partly = 0
        if run.data is None:
            self._sent[0] = run._replace(frames=run.frames - frames)
            return run._replace(frames=frames)
        rest = skip(run.data, frames)
        size = run.size - len(rest)
        self._sent[0] = FrameRun(rest, run.frames - frames, len(rest))
        self.size -= size
        return FrameRun(run.data[:size], frames, size)

    def rewind(self) -> None:
        """All that was sent and not released is to be sent again.

        What was given up in doubt and is still here did not arrive: now that is certain.
        """
        if self._partly:
            self._cut()
        for run in reversed(self._sent):
            if run.in_doubt:
                self.given_up += run.frames
                run = run._replace(in_doubt=False)
            self._waiting.appendleft(run)
        self._sent.clear()

    def give_up(self, excess: int, *, sent_too: bool) -> list[FrameRun]:
        """Give up the oldest notifications, so many bytes at least if there are as many; which."""
        given_up: list[FrameRun] = []
        if sent_too:
            if self._partly:
                self._cut()
            self._sent = self._without_oldest(self._sent, excess, given_up, in_doubt=True)
            excess -= sum(run.size for run in given_up)
        size = sum(run.size for run in given_up)
        self._waiting = self._without_oldest(self._waiting, excess, given_up, in_doubt=False)
        if self._barred is not None:
            excess -= sum(run.size for run in given_up) - size
            self._barred = self._without_oldest(self._barred, excess, given_up, in_doubt=False)
        return given_up

    def _without_oldest(
        self, runs: deque[FrameRun], excess: int, given_up: list[FrameRun], *, in_doubt: bool
    ) -> deque[FrameRun]:
        kept: deque[FrameRun] = deque()
        while runs:
            run = runs.popleft()
            if run.size and excess > 0:
                excess -= run.size
                self._forget(run)
                if not in_doubt:
                    self.given_up += run.frames
                given_up.append(run._replace(in_doubt=in_doubt))
                run = FrameRun(None, run.frames, 0, in_doubt)
            if run.data is None and kept and kept[-1]._replace(frames=run.frames) == run:
                run = run._replace(frames=kept.pop().frames + run.frames)
            kept.append(run)
        return kept

    def hand_over(
        self, keeps: Callable[[bytes], bool], *, sent_too: bool
    ) -> tuple[list[FrameRun], list[FrameRun]]:
        """Empty the spool for a stream that takes its place: notifications kept, and lost ones."""

        def is_kept(run: FrameRun) -> bool:
            return bool(run.size) or run.data is None or keeps(run.data)

        if self._partly:
            self._cut()
        self._lower()
        kept: list[FrameRun] = []
        lost: list[FrameRun] = []
        for run in self._sent:
            if run.size and not sent_too:
                lost.append(run._replace(in_doubt=True))
                kept.append(FrameRun(None, run.frames, 0))
            elif is_kept(run):
                kept.append(run._replace(in_doubt=False))
        kept += filter(is_kept, self._waiting)
        self._sent.clear()
        self._waiting.clear()
        self.size = self.control_size = self.paged = 0
        return kept, lost

    def discard(self, frames: Collection[bytes]) -> None:
        """Forget control messages that wait."""
        waiting, self._waiting = self._waiting, deque()
        for run in waiting:
            if run.data in frames:
                self._forget(run)
            else:
                self._waiting.append(run)

    def bar(self) -> None:
        """Keep back whatever comes from now on: it is not taken before the bar is lifted."""
        if self._barred is None:
            self._barred = deque()

    def lift(self) -> list[FrameRun]:
        """Keep nothing back any more; what was, and is here no longer."""
        barred, self._barred = self._barred, None
        for run in barred or ():
            self._forget(run)
        return list(barred or ())

    def _lower(self) -> None:
        """Let what was kept back wait like everything else."""
        self._waiting.extend(self._barred or ())
        self._barred = None

    @property
    def is_barred(self) -> bool:
        """Whether something is kept back."""
        return self._barred is not None

    def runs(self) -> list[FrameRun]:
        """All that is kept and not acknowledged, in order; it stays."""
        if self._partly:
            self._cut()
        return [*self._sent, *self._waiting, *(self._barred or ())]

    # What is in the journal and not here

    @property
    def wants_page(self) -> bool:
        """Whether bytes that are not here are due soon."""
        if not self.paged:
            return False
        return self._waiting[0].is_paged or self.size - self.paged < self.memory_bytes >> 2

    def paged_at(self) -> tuple[int, int] | None:
        """Of the first notifications that are not here: how many, and how many from there on."""
        runs = [*self._waiting, *(self._barred or ())]
        first = next((at for at, run in enumerate(runs) if run.is_paged), None)
        if first is None:
            return None
        behind = sum(run.frames for run in runs[first:] if run.size or run.data is None)
        return runs[first].frames, behind

    def fill(self, runs: Sequence[FrameRun]) -> list[FrameRun]:
        """Put bytes in the place of the first notifications that are not here; those given up."""
        waiting = list(self._waiting)
        at = next(number for number, run in enumerate(waiting) if run.is_paged)
        place = waiting[at]
        self._forget(place)
        frames = place.frames - sum(run.frames for run in runs)
        rest = [paged_run(frames, max(1, place.size - sum(r.size for r in runs)), place.position)]
        waiting[at : at + 1] = [*runs, *(rest if frames > 0 else ())]
        for run in waiting[at : at + len(runs) + (frames > 0)]:
            self._keep(run)
        self._waiting = deque(waiting)
        given_up = [run for run in runs if run.data is None]
        self.given_up += sum(run.frames for run in given_up)
        return given_up

    def clear(self) -> list[FrameRun]:
        """Forget everything; the notifications that are given up by that."""
        if self._partly:
            self._cut()
        self._lower()
        lost = [run for run in self._sent if run.size or run.in_doubt]
        lost += [run for run in self._waiting if run.size]
        self._sent.clear()
        self._waiting.clear()
        self.size = self.control_size = self.paged = 0
        self.given_up += sum(run.frames for run in lost)
        return lost

    @property
    def waiting(self) -> int:
        """How many runs wait to be sent."""
        return len(self._waiting)

    @property
    def waiting_frames(self) -> int:
        """How many frames wait to be sent."""
        return sum(run.frames for run in self._waiting)

    @property
    def notifications_waiting(self) -> int:
        """How many notifications wait to be sent."""
        return sum(run.frames for run in self._waiting if run.size)

    @property
    def is_empty(self) -> bool:
        """Whether nothing is kept."""
        return not self._waiting and not self._sent and not self._barred

    def problems(self, unacknowledged: int) -> Iterator[str]:
        """What is wrong with what is kept, if so many frames were sent and not acknowledged."""
        sent = sum(run.frames for run in self._sent) - self._partly
        if sent != unacknowledged:
            yield f"{sent} frames kept as sent, {unacknowledged} are not acknowledged"
        first = self._sent[0].frames if self._sent else 1
        if not 0 <= self._partly < first:
            yield f"{self._partly} frames acknowledged of the first run, which has {first}"
        for what, count in (("given up", self.given_up), ("on disk", self.synced)):
            if type(count) is not int or count < 0:
                yield f"{count} {what}"
        runs = [*self._sent, *self._waiting, *(self._barred or ())]
        yield from _run_problems(runs)
        size = sum(run.size for run in runs)
        if size != self.size:
            yield f"{size} bytes of notifications kept, {self.size} counted"
        control = sum(len(run.data) for run in runs if run.data is not None and not run.size)
        if control != self.control_size:
            yield f"{control} bytes of control messages kept, {self.control_size} counted"
        paged = sum(run.size for run in runs if run.is_paged)
        if paged != self.paged:
            yield f"{paged} bytes of notifications in the journal only, {self.paged} counted"
        if type(self.memory_bytes) is not int or type(self._is_paging) is not bool:
            yield f"{self.memory_bytes} bytes of memory, full: {self._is_paging}"
        kept = sum(len(run.data) for run in runs if run.data is not None)
        if kept != size - paged + control:
            yield f"{kept} bytes kept, {size - paged + control} should be"


def _run_problems(runs: Sequence[FrameRun]) -> Iterator[str]:
    """What is wrong with runs by themselves; quick, since there may be many."""
    if not runs:
        return
    types = {*map(type, map(_DATA, runs))}
    if not types <= {bytes, type(None)}:
        yield f"data of frames are {sorted(one.__name__ for one in types)}"
    for what, of, least in (("frames", _FRAMES, 1), ("bytes", _SIZE, 0)):
        if {*map(type, map(of, runs))} != {int} or min(map(of, runs)) < least:
            yield f"a run has less than {least} {what}"


def without_first(runs: Sequence[FrameRun], count: int) -> list[FrameRun]:
    """Runs without so many notifications at the beginning; control messages stay."""
    kept: list[FrameRun] = []
    for run in runs:
        if not count or (run.data is not None and not run.size):
            kept.append(run)
        elif run.frames <= count:
            count -= run.frames
        else:
            frames = run.frames - count
            if run.is_paged:
                kept.append(
                    paged_run(frames, max(1, run.size * frames // run.frames), run.position)
                )
            else:
                data = None if run.data is None else skip(run.data, count)
                kept.append(FrameRun(data, frames, len(data or b""), position=run.position))
            count = 0
    return kept


def _part(run: FrameRun, first: int, end: int) -> FrameRun:
    """The frames of a run from one up to another, without that."""
    frames = end - first
    if frames == run.frames:
        return run
    return run._replace(frames=frames, size=run.size * frames // run.frames, first=first)


def _divided(run: FrameRun, credit: int) -> tuple[FrameRun, FrameRun | None]:
    """As many notifications of a run as a credit is for, the last of them perhaps in part."""
    assert run.data is not None
    frames, size = 0, 0
    while size < credit:
        size += size_of_next(run.data[size : size + HEADER_SIZE])
        frames += 1
    if frames == run.frames:
        return run, None
    first = FrameRun(run.data[:size], frames, size)
    return first, FrameRun(run.data[size:], run.frames - frames, run.size - size)
