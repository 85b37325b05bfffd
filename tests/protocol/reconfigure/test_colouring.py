"""Black stays off the new link and gray off the old one; paint says when the colour changes."""

from __future__ import annotations

import pytest

from protocol.wiring import notification
from sapwood.protocol.effects import Effect, Forward, Send
from sapwood.protocol.messages import CODEC, Unsubscribe
from sapwood.protocol.reconfigure.colouring import coloured, count_notifications, is_gray, pieces
from sapwood.protocol.reconfigure.messages import Paint
from sapwood.protocol.reconfigure.state import Ring

PATH = ("A", "B", "C", "D")
FRAME = notification("c", {"x": 1})


def ring(place: int, *, gray: bool = False, stream: bool = False) -> Ring:
    one = Ring("A.1/1", PATH, 2, place, 0.0)
    one.is_gray, one.is_stream_gray = gray, stream
    return one


@pytest.mark.parametrize(
    ("place", "source", "gray", "stream", "expected"),
    [
        (0, "client", False, False, False),
        (0, "client", True, False, True),
        (0, "D", True, False, True),
        (0, "B", True, False, False),
        (0, "B", True, True, True),
        (1, "C", True, True, False),
        (1, "A", True, False, True),
        (1, "A", False, False, False),
    ],
)
def test_the_colour_follows_from_where_something_comes_from(
    place: int, source: str, gray: bool, stream: bool, expected: bool
) -> None:
    assert is_gray(ring(place, gray=gray, stream=stream), source) is expected


def test_nothing_crosses_a_link_in_the_wrong_colour() -> None:
    to_all: list[Effect] = [Forward(("A", "C", "client"), FRAME, 1)]
    bottom = ring(1, gray=True)
    bottom.is_painted_gray = True
    assert coloured(bottom, True, to_all) == [Forward(("A", "client"), FRAME, 1)]
    assert coloured(bottom, True, [Forward(("C",), FRAME, 1)]) == []
    top = ring(0, gray=True)
    assert coloured(top, False, [Forward(("B", "D"), FRAME, 1)]) == [Forward(("B",), FRAME, 1)]
    assert coloured(top, True, [Forward(("B", "D"), FRAME, 1)]) == [Forward(("B", "D"), FRAME, 1)]


def test_paint_goes_up_when_the_colour_changes_and_only_then() -> None:
    bottom = ring(1, gray=True)
    up: list[Effect] = [Forward(("A",), FRAME, 1)]
    painted = Send("A", Paint("A.1/1", is_gray=True))
    assert coloured(bottom, True, up) == [painted, *up]
    assert coloured(bottom, True, up) == up
    assert coloured(bottom, False, up) == [Send("A", Paint("A.1/1")), *up]
    assert coloured(bottom, True, [Forward(("client",), FRAME, 1)]) == [
        Forward(("client",), FRAME, 1)
    ]


def test_a_read_is_cut_at_control_messages() -> None:
    control = CODEC.encode(Unsubscribe("a"))
    data = FRAME + FRAME + control + control + FRAME
    assert list(pieces(data)) == [
        (FRAME + FRAME, False),
        (control, True),
        (control, True),
        (FRAME, False),
    ]
    assert list(pieces(control)) == [(control, True)]
    assert list(pieces(FRAME[:-1])) == [(FRAME[:-1], False)]
    assert count_notifications(data) == 3
