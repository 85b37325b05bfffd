"""Changes that take too long, are refused, or lose somebody: the old tree or the new one."""

from __future__ import annotations

import pytest

from protocol.reconfigure.rings import Ringed, ring
from sapwood.protocol.effects import CloseLink
from sapwood.protocol.events import ControlReceived, FramesReceived, LinkDown, Tick
from sapwood.protocol.reconfigure.messages import COMPLETED, UNDONE, Ask, Done, Flush, Undo

CHANGE = "B1.1/1"
OLD, NEW = {("B1", "B2"), ("B2", "B3")}, {("B1", "B2"), ("B1", "B3")}


def locked(steps: int = 0, n: int = 3, k: int = 2) -> Ringed:
    """A ring on which a change has begun and gone on for some steps."""
    brokers = ring(n)
    for number in range(1, n + 1):
        brokers.subscribe(f"C{number}", "s", f"x >= {number}")
    brokers.run()
    brokers.candidate("B1", f"B{n}")
    path = tuple(f"B{number}" for number in range(1, n + 1))
    for effect in brokers.brokers["B1"].turning.start(CHANGE, path, k, 0.0):
        brokers._do("B1", effect)
    for _ in range(steps):
        brokers.step()
    return brokers


@pytest.mark.parametrize("steps", range(12))
def test_a_deadline_undoes_a_change_that_is_not_decided(steps: int) -> None:
    brokers = locked(steps)
    brokers.now = 4.0
    brokers.handle("B2", Tick())
    brokers.run_ticks()
    assert brokers.tree in (OLD, NEW)
    brokers.check()
    assert all(one.turning.ring is None for one in brokers.brokers.values())
    for number in (1, 2, 3):
        brokers.publish(f"C{number}", {"x": 3})
    brokers.run()
    assert {len(got) for got in brokers.got.values()} == {3}


@pytest.mark.parametrize("steps", range(12))
@pytest.mark.parametrize("dead", ["B1", "B2", "B3"])
def test_whoever_is_left_is_not_locked_for_ever(steps: int, dead: str) -> None:
    brokers = locked(steps)
    others = [name for name in brokers.brokers if name != dead]
    for edge in [edge for edge in brokers.queues if dead in edge]:
        del brokers.queues[edge]
    del brokers.brokers[dead]
    brokers.at = {client: at for client, at in brokers.at.items() if at != dead}
    for name in others:
        if dead in brokers.brokers[name].neighbours:
            brokers.handle(name, LinkDown(dead))
    brokers.run_ticks()
    assert all(one.turning.ring is None for one in brokers.brokers.values())
    assert brokers.now <= 12.0
    brokers.check()


def test_a_refusal_goes_back_along_the_path() -> None:
    brokers = locked()
    broker = brokers.brokers["B3"]
    broker.turning.finished[CHANGE] = UNDONE
    brokers.run()
    assert brokers.tree == OLD
    assert brokers.brokers["B1"].turning.finished == {CHANGE: UNDONE}
    assert brokers.messages(Undo)["Undo"] == 3
    brokers.check()


def test_a_change_that_is_heard_of_as_undone_is_refused_later() -> None:
    brokers = ring(3)
    brokers.handle("B2", ControlReceived("B1", Undo("X.1/1", "busy")))
    turning = brokers.brokers["B2"].turning
    assert turning.finished == {"X.1/1": UNDONE}
    assert turning.refusal("X.1/1", ("B2", "B3", "B1"), 1) == "the change has ended"


def test_the_initiator_undoes_when_the_new_link_is_lost_before_the_turn() -> None:
    brokers = locked(1)
    brokers.close("B1", "B3")
    brokers.run()
    assert brokers.tree == OLD
    brokers.check()


def test_whoever_knows_how_a_change_ended_answers() -> None:
    brokers = ring(3)
    turning = brokers.brokers["B2"].turning
    turning.finished[CHANGE] = COMPLETED
    brokers.handle("B2", ControlReceived("B1", Ask(CHANGE)))
    said = [one for *_, one in brokers.sent if isinstance(one, Done | Undo)]
    assert said == [Done(CHANGE)]
    brokers.handle("B2", ControlReceived("B1", Ask("B1.1/2")))
    said = [one for *_, one in brokers.sent if isinstance(one, Done | Undo)]
    assert said[1:] == [Undo("B1.1/2", "it was not completed")]
    assert turning.finished["B1.1/2"] == UNDONE


def test_a_link_that_one_end_has_left_is_left_by_the_other() -> None:
    brokers = ring(3)
    turning = brokers.brokers["B2"].turning
    turning.finished[CHANGE] = COMPLETED
    turning.joined[CHANGE] = "B3"
    closed = brokers.brokers["B2"].handle(ControlReceived("B3", Undo(CHANGE)), 0.0)
    assert [type(one) for one in closed] == [CloseLink]
    turning.finished[CHANGE], turning.stayed[CHANGE] = UNDONE, "B1"
    closed = brokers.brokers["B2"].handle(ControlReceived("B1", Flush(CHANGE)), 0.0)
    assert [type(one) for one in closed] == [CloseLink]


def test_without_its_flush_a_neighbour_is_not_believed() -> None:
    brokers = locked(n=4, k=2)
    while True:
        ring_ = brokers.brokers["B1"].turning.ring
        assert ring_ is not None
        if ring_.is_gray:
            break
        brokers.step()
    waiting = brokers.queues["B2", "B1"]
    waiting.clear()
    brokers.publish("C2", {"x": 4})
    black = waiting.popleft()
    brokers.handle("B1", ControlReceived("B4", Done(CHANGE)))
    turning = brokers.brokers["B1"].turning
    assert turning.ring is None
    assert turning.deaf == {"B2": (CHANGE, 0.0)}
    brokers.handle("B1", FramesReceived("B2", black))
    assert brokers.got["C1"] == []
    brokers.handle("B1", ControlReceived("B2", Flush(CHANGE)))
    assert turning.deaf == {}
    brokers.handle("B1", FramesReceived("B2", black))
    assert len(brokers.got["C1"]) == 1


def test_deafness_ends_in_time() -> None:
    brokers = ring(3)
    turning = brokers.brokers["B2"].turning
    turning.deaf["B1"] = ("spoilt", float("inf"))
    for now in (1.0, 12.9):
        brokers.now = now
        brokers.handle("B2", Tick())
    assert turning.deaf == {"B1": ("spoilt", 1.0)}
    brokers.now = 13.0
    brokers.handle("B2", Tick())
    assert turning.deaf == {}


def test_a_lock_out_of_nothing_goes() -> None:
    brokers = locked()
    turning = brokers.brokers["B1"].turning
    assert turning.ring is not None
    turning.ring.since = float("inf")
    brokers.handle("B1", Tick())
    assert turning.ring.since == 0.0
    turning.ring.path = ("X", "Y", "Z")
    turning.core.neighbours["B2"].is_frozen = False
    turning.tick(1.0)
    assert turning.ring is None
