"""Tables that are larger than a frame go in parts."""

from __future__ import annotations

import pytest

from protocol.reconfigure.rings import WAVES, ring
from sapwood.protocol.drops import Drop
from sapwood.protocol.reconfigure import parts
from sapwood.protocol.reconfigure import turning as turning_module
from sapwood.protocol.reconfigure.messages import EdgeChange, EdgeTables, TablePart
from sapwood.protocol.reconfigure.parts import LINE_BYTES, divided, joined

SMALL = 3 * (LINE_BYTES + 8)


def tables(count: int) -> EdgeTables:
    lines = tuple((f"a{number:03}", "x=1") for number in range(count))
    removed = tuple(f"r{number:03}" for number in range(count))
    return EdgeTables(EdgeChange(lines), EdgeChange(lines, removed))


def test_what_is_small_enough_is_not_divided() -> None:
    assert divided(tables(10)) == [tables(10)]
    assert divided(EdgeTables()) == [EdgeTables()]


def test_parts_are_small_and_make_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "PART_BYTES", SMALL)
    found = divided(tables(10))
    assert len(found) > 5
    for one in found:
        changes = (one.advertisements, one.subscriptions)
        assert sum(len(each.added) + len(each.removed) for each in changes) <= 3
    assert joined(found) == tables(10)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_a_change_with_tables_in_parts(k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "PART_BYTES", SMALL)
    brokers = ring(4, algorithm="simple")
    for number in range(1, 5):
        for one in range(8):
            brokers.subscribe(f"C{number}", f"s{one}", f"x = {one}")
    brokers.run()
    brokers.exchange("B1", (f"B{k}", f"B{k + 1}"), ("B1", "B4"))
    brokers.run()
    (ended,) = brokers.ended("B1")
    assert ended.outcome == "completed"
    assert brokers.messages(*WAVES).total() == ended.messages
    assert any(isinstance(one, TablePart) for *_, one in brokers.sent)
    assert all(not one.turning.parts for one in brokers.brokers.values())
    brokers.publish("C4", {"x": 3})
    brokers.run()
    assert {len(got) for got in brokers.got.values()} == {1}
    brokers.check()


def test_parts_of_another_change_and_too_many_are_not_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(turning_module, "PARTS_MAX", 2)
    broker = ring(3).brokers["B2"]
    turning = broker.turning
    for change in ("a", "b", "b", "b"):
        turning._parted("B1", TablePart(change, EdgeTables()), 0.0)
    assert [one.change for one in turning.parts["B1"]] == ["b", "b"]
    assert broker.drops.counts[Drop.MALFORMED] == 1
