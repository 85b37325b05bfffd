"""Messages of coloured trees: all of them are understood, in any state."""

from __future__ import annotations

import typing

import pytest

from protocol.stabilize.published.trees import corrected, printed, tell
from sapwood.protocol.stabilize.published.colour_messages import (
    Change,
    ColoredNotification,
    Message,
    Recolor,
)

SAMPLES: dict[str, typing.Any] = {
    "broker": "X",
    "color": 7,
    "change": Change("B", "A", "C"),
    "id": "X/1",
    "filter": "not a filter (",
    "publisher": "P",
    "sequence": 1,
    "attributes": {"topic": 1},
}


@pytest.mark.parametrize("kind", typing.get_args(Message))
@pytest.mark.parametrize("make", [corrected, printed])
def test_no_message_from_anybody_raises(kind: type, make: typing.Any) -> None:
    required = {
        name: SAMPLES[name]
        for name in kind.__struct_fields__  # type: ignore[attr-defined]
        if name in SAMPLES
    }
    for name, parent in (("R", ""), ("B", "A")):
        machine = make(name, parent, ("C",))
        for source in ("nobody", "A", "C", name):
            tell(machine, source, kind(**required))


def test_messages_are_values() -> None:
    assert Recolor(1, (), ("R",)) == Recolor(1, (), ("R",))
    assert ColoredNotification(0, "P", 1, {}).hops == 0
