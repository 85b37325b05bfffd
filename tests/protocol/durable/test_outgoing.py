"""Numbers of what goes to a neighbour: what it has is not sent again, what it lacks is."""

from __future__ import annotations

from sapwood.protocol.durable.outgoing import Outgoing
from sapwood.protocol.link.spool import FrameRun
from sapwood.wire.frames import encode_head, encode_notification

FRAME = encode_notification(encode_head("c.1", {"x": 1}), 1, 0.0)


def link() -> Outgoing:
    one = Outgoing()
    one.push(3, FRAME * 3, 1.0, 1)
    one.push(2, FRAME * 2, 2.0, 2)
    return one


def test_what_the_neighbour_has_goes_and_the_rest_stays() -> None:
    one = link()
    assert (one.pushed, one.needed, one.size) == (5, 1, 5 * len(FRAME))
    one.release(2)
    assert one.runs()[0] == FrameRun(FRAME, 1, len(FRAME), position=1)
    one.release(3)
    assert one.needed == 2
    one.release(99)
    assert one.released == 5
    assert one.runs() == []
    assert one.needed is None


def test_what_is_given_up_keeps_its_numbers() -> None:
    one = link()
    one.give_up(2 * len(FRAME), 0.0)
    assert one.runs() == [FrameRun(None, 3, 0), FrameRun(FRAME * 2, 2, 2 * len(FRAME), position=2)]
    one.give_up(10**6, 3.0)
    assert sum(run.frames for run in one.runs()) == 5
    assert one.size == 0


def test_numbers_begin_anew_for_a_neighbour_that_knows_none() -> None:
    one = link()
    one.release(3)
    one.renumber(2, 0)
    assert (one.pushed, one.released) == (2, 0)
    assert one.runs() == [FrameRun(FRAME * 2, 2, 2 * len(FRAME), position=2)]


def test_it_comes_back_from_a_checkpoint() -> None:
    one = link()
    one.release(3)
    again = Outgoing.restored(one.kept(is_whole=True))
    assert (again.pushed, again.released) == (5, 3)
    assert [run.data for run in again.runs()] == [FRAME * 2]
    short = Outgoing.restored(one.kept(is_whole=False))
    assert (short.pushed, short.released) == (5, 3)
