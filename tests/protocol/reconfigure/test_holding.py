"""What a broker keeps of changes, and what must hold of it."""

from __future__ import annotations

from protocol.reconfigure.rings import ring
from sapwood.protocol.broker import Broker
from sapwood.protocol.reconfigure.holding import FINISHED_MAX
from sapwood.protocol.reconfigure.messages import COMPLETED
from sapwood.protocol.reconfigure.state import Ring


def locked() -> Broker:
    brokers = ring(3)
    brokers.candidate("B1", "B3")
    brokers.brokers["B1"].turning.start("B1.1/1", ("B1", "B2", "B3"), 2, 0.0)
    return brokers.brokers["B1"]


def ring_of(broker: Broker) -> Ring:
    assert broker.turning.ring is not None
    return broker.turning.ring


def test_all_is_well_while_a_change_is_under_way() -> None:
    assert list(locked().turning.problems()) == []


def test_each_invariant_can_fail() -> None:
    broker = locked()
    broker.neighbours["B2"].is_frozen = False
    assert "frozen are ['B3']" in next(broker.turning.problems())
    broker = locked()
    broker.turning.finished["B1.1/1"] = COMPLETED
    assert "has ended" in next(broker.turning.problems())
    broker = locked()
    ring_of(broker).held.append(b"x")
    assert "is not closed" in next(broker.turning.problems())
    broker = locked()
    ring_of(broker).intruders["B2"] = None
    assert "between its table" in next(broker.turning.problems())
    broker = locked()
    ring_of(broker).draft("B2").subscriptions.pending["x"] = None
    assert "is to go" in next(broker.turning.problems())
    broker = locked()
    broker.tree.change = "another"
    assert "takes 'another'" in next(broker.turning.problems())


def test_idle_brokers_read_without_a_detour() -> None:
    broker = locked()
    assert broker.receive == broker.turning.read
    broker.turning.undo("enough", 0.0)
    assert broker.receive == broker._reader.read
    assert broker.turning.report()["undone"] == 1


def test_only_the_last_changes_are_remembered() -> None:
    broker = ring(3).brokers["B1"]
    for number in range(FINISHED_MAX + 5):
        broker.turning._finish(f"X.1/{number}", COMPLETED)
    assert len(broker.turning.finished) == FINISHED_MAX
    assert broker.turning.knows(f"X.1/{FINISHED_MAX + 4}")
    assert not broker.turning.knows("X.1/0")


def test_a_spoilt_freeze_is_put_right() -> None:
    broker = ring(3).brokers["B2"]
    broker.neighbours["B1"].is_frozen = True
    broker.turning.freeze()
    assert not broker.neighbours["B1"].is_frozen


def test_neighbours_on_the_ring_are_trusted_until_the_change_must_have_ended_for_them() -> None:
    broker = locked()
    assert broker.turning.trusts("B2", 0.0)
    broker.turning.undo("enough", 1.0)
    assert broker.turning.trusts("B2", 12.9)
    assert not broker.turning.trusts("B2", 13.0)
    assert not broker.turning.trusts("B9", 1.0)
    broker.turning.recent["B2"] = float("inf")
    assert not broker.turning.trusts("B2", 1.0)
