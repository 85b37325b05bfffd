"""What clients ask of the tree goes over the wire and comes back as it was."""

from __future__ import annotations

import pytest

from sapwood.protocol.messages import CODEC, Message
from sapwood.protocol.reconfigure.asking import (
    ChangeTree,
    StepReport,
    TreeChangeEnded,
    TreeChangeProgress,
)
from sapwood.wire.frames import split

STEP = StepReport(
    "undone", "late", "B1.1/2", ("B1", "B2", "B3"), ("B1", "B2"), ("B1", "B3"), 9, 0.5
)


@pytest.mark.parametrize(
    "message",
    [
        ChangeTree(1, "exchange", (("A", "B"), ("A", "C"))),
        ChangeTree(2, "remove", broker="B"),
        TreeChangeProgress(1, 1, 2, STEP),
        TreeChangeEnded(1, "stopped", "no", (STEP,), 2, 1.5),
        TreeChangeEnded(1, "completed"),
    ],
)
def test_a_message_comes_back_as_it_was(message: Message) -> None:
    ((_, _, body),) = split(CODEC.encode(message))
    assert CODEC.decode(body) == message
