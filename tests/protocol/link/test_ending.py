"""How a node ends: by handing over where it can, by stopping where it cannot."""

from __future__ import annotations

import pytest

from protocol.joined import Network, line_of
from sapwood.protocol.effects import Effect
from sapwood.protocol.events import ControlReceived, Tick
from sapwood.protocol.link.handing import obstacle
from sapwood.protocol.link.handshake import MOVED, SHUTDOWN, Goodbye
from sapwood.protocol.neighbours import MOVES
from sapwood.protocol.ports import Stop, Stopped
from sapwood.protocol.reconfigure.messages import ChangeEnded, LeaveTree


def test_a_leaf_hands_over_first_and_a_broker_between_others_stops() -> None:
    net = line_of(3)
    net.stop("B2")
    assert (net.nodes["B2"].handing, net.nodes["B2"].is_stopping) == (None, True)
    net.bring("B3", Stop())
    assert net.nodes["B3"].handing is None, "its neighbour is away"


def test_it_is_asked_for_once() -> None:
    net = line_of(2)
    net.client("r", "B2", features=(MOVES,))
    net.freeze("B1", "B2")
    net.bring("B2", Stop())
    handing = net.nodes["B2"].handing
    assert handing is not None
    net.bring("B2", Stop())
    assert net.nodes["B2"].handing is handing
    assert net.nodes["B2"].next_at <= handing.until


def test_a_neighbour_that_ends_itself_takes_nobody_over() -> None:
    net = line_of(3)
    client = net.client("r", "B3", features=(MOVES,))
    net.freeze("B2", "B3")
    net.bring("B3", Stop())
    net.bring("B2", Stop())
    net.thaw("B2", "B3")
    net.advance(3.0)
    assert client.goodbye.code == SHUTDOWN
    assert net.nodes["B2"].broker.leaving.adopting == {}


def test_a_spoilt_hand_over_ends_without_it() -> None:
    net = line_of(2, raises_faults=False)
    client = net.client("r", "B2", features=(MOVES,))
    net.freeze("B1", "B2")
    net.bring("B2", Stop())
    node = net.nodes["B2"]
    assert node.handing is not None
    net.is_spoilt = True
    node.handing._peer = None  # type: ignore[assignment]
    net.advance(4.0)
    assert client.goodbye == Goodbye(SHUTDOWN, "broker B2 is shutting down", lost=0)
    assert net.asked("B2", Stopped) == [Stopped()]


def test_a_hand_over_that_nobody_asked_for_is_forgotten() -> None:
    """A broker does not end because of what a fault has left there."""
    net = line_of(2, raises_faults=False)
    client = net.client("r", "B2", features=(MOVES,))
    node = net.nodes["B2"]
    net.is_spoilt = True
    node.handing = 1e9  # type: ignore[assignment]
    net.advance(4.0)
    assert (node.handing, node.stopping) == (None, None)
    assert not any(isinstance(one, Goodbye) for one in client.heard)
    assert net.asked("B2", Stopped) == []


def test_where_faults_are_raised_it_is_said() -> None:
    net = line_of(2)
    net.client("r", "B2", features=(MOVES,))
    net.freeze("B1", "B2")
    net.bring("B2", Stop())
    node = net.nodes["B2"]
    assert node.handing is not None
    node.handing.neighbour = []  # type: ignore[assignment]
    with pytest.raises(TypeError):
        node.ending.look(net.now)


def leave(net: Network, name: str, request: int = -1) -> list[ChangeEnded]:
    """Let a neighbour pass on that a broker is to leave; what the neighbour is answered."""
    (neighbour, *_) = net.nodes[name].broker.neighbours.tree()
    answers: list[ChangeEnded] = []
    net.nodes[neighbour].broker.changing.askers[:] = [Answers(answers)]
    told = ControlReceived(neighbour, LeaveTree(request, (neighbour, name)))
    net.nodes[name].bring(told, net.now)
    net.bring(name, Tick())
    net.advance(0.1)
    return answers


class Answers:
    """Collects the answers to what a broker asked for."""

    def __init__(self, answers: list[ChangeEnded]) -> None:
        self._answers = answers

    def ended(self, ended: ChangeEnded, now: float) -> list[Effect]:
        self._answers.append(ended)
        return []


def test_it_may_be_asked_for_over_the_tree() -> None:
    net = line_of(2)
    client = net.client("r", "B2", features=(MOVES,))
    assert leave(net, "B2") == []
    assert client.goodbye.code == MOVED
    client.leave()
    net.advance(0.1)
    assert net.asked("B2", Stopped) == [Stopped()]


def test_who_asks_is_told_why_not() -> None:
    net = line_of(3)
    between = "broker B2 is between B1, B3; only one at the edge of the tree can leave"
    (answer,) = leave(net, "B2", -7)
    assert (answer.request, answer.outcome, answer.reason) == (-7, "refused", between)
    assert net.nodes["B2"].stopping is None
    assert obstacle(line_of(1).nodes["B1"]) == (
        "broker B1 has no neighbour to hand its clients over to"
    )
    net.client("q", "B1", features=(MOVES,))
    unknown = "nobody knows where B2, the neighbour of B1, can be dialled"
    assert [one.reason for one in leave(net, "B1")] == [unknown]
    off = line_of(2, hand_over_seconds=0.0)
    reason = "broker B2 hands nobody over: hand_over_seconds is 0"
    assert [one.reason for one in leave(off, "B2")] == [reason]
    net.stop("B2")
    away = "B2, the neighbour of B3, is away or cannot take clients over"
    assert obstacle(net.nodes["B3"]) == away


def test_twice_is_once() -> None:
    net = line_of(2)
    net.client("r", "B2", features=(MOVES,))
    net.bring("B2", Stop())
    assert [one.reason for one in leave(net, "B2")] == ["broker B2 is about to end already"]
