"""The frame of the published heuristics at one broker: Algorithms 17 and 18, corrected."""

from __future__ import annotations

import itertools
import math

import pytest

from sapwood.protocol.config import BrokerConfig
from sapwood.protocol.drops import Drop
from sapwood.protocol.effects import Effect, OpenLink, Send
from sapwood.protocol.events import ClientUp, ControlReceived, FramesReceived, LinkUp, Tick
from sapwood.protocol.messages import Subscribe
from sapwood.protocol.optimize.published.broker import HeuristicBroker
from sapwood.protocol.optimize.published.messages import (
    Knowledge,
    RingAgreed,
    RingRequest,
    as_message,
)
from sapwood.protocol.optimize.published.settings import HeuristicSettings
from sapwood.protocol.optimize.published.summaries import BloomSummary
from sapwood.wire.frames import encode_head, encode_notification


class Line:
    """Brokers on a line, a unit of cost apart for each step; all cost two themselves."""

    def processing_cost(self, name: str) -> float:
        return 2.0

    def link_cost(self, left: str, right: str) -> float:
        return math.sqrt(abs(ord(left) - ord(right)))


def broker(name: str = "B", *neighbours: str, **changes: object) -> HeuristicBroker:
    """One broker, linked to some others in the tree."""
    settings = HeuristicSettings(**changes)  # type: ignore[arg-type]
    config = BrokerConfig(id=name, addresses=(f"sim://{name}",), routing="identity")
    made = HeuristicBroker(config, settings, Line())
    for other in neighbours:
        made.handle(LinkUp(other), 0.0)
    return made


def published(first: int = 1, count: int = 20) -> bytes:
    head = encode_head("c.1", {"job": 1})
    return b"".join(
        encode_notification(head, number, 0.0, b"") for number in range(first, first + count)
    )


def told(*path: str, recent: bytes = b"") -> ControlReceived:
    """A broadcast that has come along a path."""
    links = tuple(Line().link_cost(a, b) for a, b in itertools.pairwise(path))
    knowledge = Knowledge(path, (2.0,) * len(path), links, recent)
    return ControlReceived(path[-1], as_message(knowledge))


def sent(effects: list[Effect], kind: type) -> list[tuple[str, object]]:
    return [
        (one.destination, one.message)
        for one in effects
        if isinstance(one, Send) and isinstance(one.message, kind)
    ]


def filter_of(data: bytes, made: HeuristicBroker) -> bytes:
    settings = made.heuristic_settings
    summary = BloomSummary(settings.filter_bits, settings.hashes)
    return summary.encode(summary.keys_of(data))


def test_a_broker_tells_its_neighbours_every_interval() -> None:
    made = broker("B", "A", "C")
    times = []
    for step in range(80):
        now = step / 10
        effects = made.handle(Tick(), now)
        if found := sent(effects, Knowledge):
            assert [name for name, _ in found] == ["A", "C"]
            times.append(now)
    assert len(times) == 3
    assert [round(b - a, 1) for a, b in itertools.pairwise(times)] == [2.5, 2.5]


def test_traffic_may_trigger_broadcasts_within_limits() -> None:
    made = broker("B", "A", broadcast_after=30, broadcast_interval_min=1.0)
    made.handle(ClientUp("c.1"), 0.0)
    now = made.exploring.broadcast_at
    assert sent(made.handle(Tick(), now), Knowledge)
    made.handle(FramesReceived("c.1", published(1, 20)), now + 0.1)
    assert not sent(made.handle(Tick(), now + 2.0), Knowledge), "20 are not enough"
    made.handle(FramesReceived("c.1", published(21, 20)), now + 2.1)
    assert made.exploring.next_at == now + 1.0
    assert sent(made.handle(Tick(), now + 2.1), Knowledge)
    made.handle(FramesReceived("c.1", published(41, 40)), now + 2.2)
    assert not sent(made.handle(Tick(), now + 2.3), Knowledge), "too soon"
    assert sent(made.handle(Tick(), now + 3.1), Knowledge)


def test_broadcasts_are_passed_on_within_the_horizon_and_never_back() -> None:
    made = broker("C", "B", "D", horizon=3)
    onward = sent(made.handle(told("A", "B"), 1.0), Knowledge)
    assert [(name, message.path) for name, message in onward] == [  # type: ignore[attr-defined]
        ("D", ("A", "B", "C"))
    ]
    assert onward[0][1].links == (1.0, 1.0)  # type: ignore[attr-defined]
    assert sent(made.handle(told("Z", "A", "B"), 1.0), Knowledge) == []


@pytest.mark.parametrize("path", [("A",), ("C", "B"), ()])
def test_a_broadcast_that_makes_no_sense_is_counted(path: tuple[str, ...]) -> None:
    made = broker("C", "B", "D")
    message = Knowledge(path, (2.0,) * len(path), (1.0,) * max(0, len(path) - 1), b"")
    assert made.handle(ControlReceived("B", as_message(message)), 1.0) == []
    assert made.drops.counts[Drop.MALFORMED] == 1


def test_lmst_asks_along_the_path_for_a_cheaper_link() -> None:
    """From D by way of Z to C: the detour has dear links, the direct one is cheap."""
    made = broker("D", "Z", heuristic="lmst")
    ((target, request),) = sent(made.handle(told("C", "Z"), 1.0), RingRequest)
    assert target == "Z"
    assert isinstance(request, RingRequest)
    assert request.path == ("D", "Z", "C")
    far, near = Line().link_cost("D", "Z"), Line().link_cost("C", "Z")
    assert request.links == (far, near, 1.0)
    assert request.costs == (0.0, far, far), "what the own link costs, unless it goes"


def test_nobody_decides_on_what_is_too_old_or_unknown() -> None:
    made = broker("D", "Z")
    made.handle(ClientUp("c.1"), 0.0)
    made.handle(FramesReceived("c.1", published()), 0.5)
    recent = filter_of(published(), made)
    assert sent(made.handle(told("C", "Z", recent=recent), 1.0), RingRequest) == []
    assert made.exploring.counts["undecided"] == 1, "what Z has is not known"
    made.handle(told("Z", recent=filter_of(published(900), made)), 1.1)
    assert sent(made.handle(told("C", "Z", recent=recent), 1.2), RingRequest)
    late = 1.1 + made.heuristic_settings.update_interval + 0.01
    assert sent(made.handle(told("C", "Z", recent=recent), late), RingRequest) == []
    assert made.exploring.counts["undecided"] == 2


def test_a_request_is_dropped_where_the_tree_has_changed() -> None:
    made = broker("Z", "D", heuristic="lmst")
    request = RingRequest(("D", "Z", "C"), (4.0, 4.0, 1.0), (2.0,) * 3, (0.0, 4.0, 4.0), ())
    assert made.handle(ControlReceived("D", as_message(request)), 1.0) == []
    assert made.exploring.counts["overtaken"] == 1


def test_the_last_of_the_ring_decides_and_the_better_end_begins() -> None:
    made = broker("C", "Z", heuristic="lmst")
    request = RingRequest(
        ("D", "Z", "C"), (4.0, 5.0, 1.0), (2.0,) * 3, (5.0, 4.0, 9.0), ("sim://D",)
    )
    effects = made.handle(ControlReceived("Z", as_message(request)), 1.0)
    agreed = [message for _, message in sent(effects, RingAgreed)]
    assert agreed == [RingAgreed(("C", "Z", "D"), 2, ("sim://C",))], "Z-C goes, so D begins"
    began = broker("D", "Z", heuristic="lmst")
    effects = began.handle(ControlReceived("Z", as_message(agreed[0])), 1.0)  # type: ignore[arg-type]
    assert [one.broker for one in effects if isinstance(one, OpenLink)] == ["C"]
    cheap = RingRequest(("D", "Z", "C"), (4.0, 5.0, 6.0), (2.0,) * 3, (11.0, 10.0, 9.0), ())
    assert made.handle(ControlReceived("Z", as_message(cheap)), 1.0) == []
    assert made.exploring.counts["rejected"] == 1


def test_only_what_concerns_clients_is_remembered_unless_set_otherwise() -> None:
    for handled, expected in ((False, 0), (True, 20)):
        made = broker("B", "A", "C", handled=handled)
        made.handle(ControlReceived("C", Subscribe("s", "job = 1")), 0.0)
        made.handle(FramesReceived("A", published()), 0.1)
        assert len(made.exploring.recent) == expected
