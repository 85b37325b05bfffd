"""The messages of a change survive the wire."""

from __future__ import annotations

import pytest

from sapwood.protocol.messages import CODEC, Message
from sapwood.protocol.reconfigure.messages import (
    Accept,
    Ask,
    BeginChange,
    ChangeEnded,
    Collect,
    Done,
    EdgeChange,
    EdgeTables,
    Flush,
    Lock,
    Offer,
    Paint,
    Prepare,
    Turn,
    Undo,
    Way,
)
from sapwood.wire.frames import split

TABLES = EdgeTables(EdgeChange((("a", "x > 1"),), ("b",)), EdgeChange((("c", "true"),)))
WAY = Way("B1", 7, 0.5, ("B1", "B2"), 1.5)


@pytest.mark.parametrize(
    "message",
    [
        BeginChange("B1", 3, ("B1", "B2", "B3"), 2, ("B1",), ("B1",), ("tcp://h:1",)),
        ChangeEnded("B1", 3, "completed", "", "B1.1/1", ("B1", "B2"), ("B1", "B2"), 9, 1.5),
        Prepare("B1.1/1", ("B1", "B2", "B3"), ("tcp://h:1",)),
        Lock("B1.1/1", ("B1", "B2", "B3"), 2, "B1", ("B1",), False, TABLES),
        Collect("B1.1/1", TABLES, True),
        Offer("B1.1/1", TABLES, WAY),
        Accept("B1.1/1", TABLES, WAY),
        Turn("B1.1/1", TABLES, WAY),
        Flush("B1.1/1"),
        Paint("B1.1/1", is_gray=True),
        Undo("B1.1/1", "busy"),
        Ask("B1.1/1"),
        Done("B1.1/1"),
    ],
)
def test_what_is_encoded_decodes_to_the_same(message: Message) -> None:
    ((_, _, body),) = split(CODEC.encode(message))
    assert CODEC.decode(body) == message


def test_a_table_that_changes_nothing_takes_no_room() -> None:
    assert len(CODEC.encode(Turn("B1.1/1"))) < len(CODEC.encode(Turn("B1.1/1", TABLES)))
