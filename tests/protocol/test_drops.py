"""What is dropped is counted, and recorded where rows are wanted."""

from __future__ import annotations

from sapwood.protocol.drops import Drop, Drops
from sapwood.protocol.effects import Record


def test_each_reason_is_counted() -> None:
    drops = Drops(recording=False)
    assert drops.count(Drop.EXPIRED, "a") == []
    assert drops.count(Drop.EXPIRED, "b") == []
    assert drops.count(Drop.STRAY, "b") == []
    assert drops.counts == {Drop.EXPIRED: 2, Drop.STRAY: 1}


def test_a_row_is_written_where_rows_are_wanted() -> None:
    drops = Drops(recording=True)
    row = Record("dropped", {"source": "a", "message": "expired", "sequence": 7})
    assert drops.count(Drop.EXPIRED, "a", sequence=7) == [row]


def test_every_reason_has_a_text_of_its_own() -> None:
    assert len({str(why) for why in Drop}) == len(Drop)
