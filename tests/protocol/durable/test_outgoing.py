"""Numbers of what goes to a neighbour: what it has is not sent again, what it lacks is."""

from __future__ import annotations

from sapwood.protocol.durable.outgoing import Outgoing
from sapwood.protocol.durable.pages import Place
from sapwood.protocol.link.spool import FrameRun, paged_run


def link() -> Outgoing:
    one = Outgoing()
    one.push(3, 300, 1.0, Place(1, 0, 1))
    one.push(2, 200, 2.0, Place(2, 0, 2))
    return one


def test_what_the_neighbour_has_goes_and_the_rest_stays() -> None:
    one = link()
    assert (one.pushed, one.pages.needed, one.pages.size) == (5, 1, 500)
    one.release(2)
    assert one.runs() == [paged_run(1, 100, 1), paged_run(2, 200, 2)]
    one.release(3)
    assert one.pages.needed == 2
    one.release(99)
    assert one.released == 5
    assert one.runs() == []
    assert one.pages.needed is None


def test_what_is_given_up_keeps_its_numbers() -> None:
    one = link()
    one.give_up(200, 0.0)
    assert one.runs() == [FrameRun(None, 3, 0), paged_run(2, 200, 2)]
    one.give_up(10**6, 3.0)
    assert one.runs() == [FrameRun(None, 5, 0)]
    assert one.pages.size == 0


def test_numbers_begin_anew_for_a_neighbour_that_knows_none() -> None:
    one = link()
    one.release(3)
    one.renumber(2, 0)
    assert (one.pushed, one.released) == (2, 0)
    assert one.runs() == [paged_run(2, 200, 2)]


def test_a_checkpoint_has_its_numbers() -> None:
    one = link()
    one.release(3)
    again = Outgoing.restored(one.kept())
    assert (again.pushed, again.released) == (5, 3)
    assert again.runs() == [FrameRun(None, 2, 0)], "unless records say where they are"
