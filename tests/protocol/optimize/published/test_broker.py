"""A broker that follows a published heuristic: all machines of a broker, and one more."""

from __future__ import annotations

from protocol.optimize.published.test_exploring import broker, published
from sapwood.protocol.events import ClientUp, ControlReceived, FramesReceived
from sapwood.protocol.messages import Subscribe


def test_it_has_the_machine_and_reports_it() -> None:
    made = broker("B", "A")
    assert made.machines[-1] is made.exploring
    assert made.reports()["exploring"] == {"heard": 0, "remembered": 0}


def test_what_a_client_gets_is_remembered_once() -> None:
    made = broker("B", "A")
    made.handle(ClientUp("s.1"), 0.0)
    made.handle(ControlReceived("s.1", Subscribe("all", "job = 1")), 0.0)
    made.handle(FramesReceived("A", published(1, 7)), 0.1)
    assert len(made.exploring.recent) == 7
