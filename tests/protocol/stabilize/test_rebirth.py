"""A broker that finds its state impossible is born again from its entries."""

from __future__ import annotations

from typing import Any

import pytest

from protocol.stabilize.test_audit import filled
from protocol.wiring import notification
from sapwood.errors import RoutingError
from sapwood.filters.filter import Filter
from sapwood.protocol.broker import LOST, Broker
from sapwood.protocol.clients import SUBSCRIBED, Clients
from sapwood.protocol.core import IMPOSSIBLE
from sapwood.protocol.effects import Effect, Forward, Reborn, Send
from sapwood.protocol.events import (
    ClientUp,
    ControlReceived,
    FramesReceived,
    RoutingChanged,
    Tick,
)
from sapwood.protocol.fences import Fence
from sapwood.protocol.invariants import broker_problems
from sapwood.protocol.messages import Missed, Refused, Settled, Subscribe, Survey, TableComplete
from sapwood.protocol.neighbours import Neighbour
from sapwood.protocol.reconfigure.asking import ChangeTree
from sapwood.protocol.reconfigure.steps import Step
from sapwood.protocol.stabilize.rebirth import primary_of, restore
from sapwood.routing.table import Held, RoutingTable


def spoilt(**config: Any) -> Broker:
    """A broker of which the next subscription finds that its state is impossible."""
    broker = filled(raises_faults=False, **config)
    broker.subscriptions.ledgers["N1"]._strategy = None  # type: ignore[assignment]
    return broker


def bring(broker: Broker, now: float = 5.0) -> list[Effect]:
    return broker.handle(ControlReceived("N2", Subscribe("new", "new = 1")), now)


def test_in_tests_a_fault_is_raised() -> None:
    broker = filled()
    broker.subscriptions.ledgers["N1"]._strategy = None  # type: ignore[assignment]
    with pytest.raises(AttributeError):
        bring(broker)


def test_all_is_built_anew_and_nobody_is_told_a_difference() -> None:
    broker = spoilt()
    owed = {name: broker.subscriptions.owed(name) for name in ("N2", "N3")}
    entries = list(broker.subscriptions)
    effects = bring(broker)
    assert isinstance(effects[0], Reborn)
    assert not effects[0].is_again
    assert "AttributeError" in effects[0].reason
    kinds = {type(one.message) for one in effects if isinstance(one, Send)}
    assert kinds == {Missed}
    assert broker.faults[IMPOSSIBLE] == 1
    known = [one for one in broker.subscriptions if one.id != "new"]
    assert sorted(known) == sorted(entries)
    assert {name: broker.subscriptions.told(name) for name in ("N2", "N3")} == {
        name: broker.subscriptions.owed(name) for name in ("N2", "N3")
    }
    assert all(owed[name].items() <= broker.subscriptions.owed(name).items() for name in owed)
    assert broker_problems(broker) == []


def test_a_client_whose_request_was_lost_is_told() -> None:
    """Nobody would answer it otherwise: the event that found the fault is dropped."""
    broker = spoilt()
    broker.handle(ClientUp("reader"), 4.0)
    broker.waves.queue = None  # type: ignore[assignment]
    effects = broker.handle(ControlReceived("reader", Survey(7)), 5.0)
    assert isinstance(effects[0], Reborn)
    assert "AttributeError" in effects[0].reason
    refused = Refused("the broker found its state wrong; ask again", 7)
    assert Send("reader", refused) in effects
    broker.handle(ControlReceived("reader", Survey(8)), 6.0)
    assert [one.number for one in (*broker.waves.queue, *broker.waves.under_way)] == [8]


def test_what_a_client_subscribes_to_is_entered_though_a_fault_was_found_by_it() -> None:
    """It may have been told long ago that this is in force: it must not be told no now."""
    broker = spoilt()
    broker.handle(ClientUp("reader"), 4.0)
    effects = broker.handle(ControlReceived("reader", Subscribe("mine", "new = 1", 7)), 5.0)
    assert isinstance(effects[0], Reborn)
    assert "AttributeError" in effects[0].reason
    assert not any(isinstance(one, Send) and isinstance(one.message, Refused) for one in effects)
    assert broker.subscriptions.texts("reader") == {"reader/mine": "new = 1"}
    assert broker.clients.claims("reader", SUBSCRIBED) == {"reader/mine": Filter("new = 1")}
    told = [
        one.destination
        for one in effects
        if isinstance(one, Send) and getattr(one.message, "filter", "") == "new = 1"
    ]
    assert told == ["N1", "N2", "N3"]
    assert [one.number for one in (*broker.waves.queue, *broker.waves.under_way)] == [7]
    assert broker_problems(broker) == []


def test_if_that_cannot_be_done_either_the_session_ends_and_the_client_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    broker = filled(raises_faults=False)
    broker.handle(ClientUp("reader"), 4.0)

    def add(*_: object) -> None:
        raise KeyError("wrong")

    monkeypatch.setattr(RoutingTable, "add", add)
    monkeypatch.setattr("sapwood.protocol.broker.restore", lambda broker, primary: None)
    monkeypatch.setattr(Broker, "rejection", lambda *_: None)
    monkeypatch.setattr(Clients, "__contains__", lambda *_: True)
    effects = broker.handle(ControlReceived("reader", Subscribe("mine", "new = 1", 7)), 5.0)
    reborn = [one.is_again for one in effects if isinstance(one, Reborn)]
    assert reborn == [False, True]
    refused = Refused("the broker found its state wrong; ask again", 7)
    assert Send("reader", refused) in effects


def test_a_second_fault_within_the_period_wants_a_new_session() -> None:
    for later, is_again in ((1.0, True), (29.0, True), (31.0, False)):
        broker = spoilt()
        bring(broker, 5.0)
        broker.subscriptions.ledgers["N1"]._strategy = None  # type: ignore[assignment]
        effects = broker.handle(ControlReceived("N2", Subscribe("x", "x = 9")), 5.0 + later)
        assert isinstance(effects[0], Reborn)
        assert effects[0].is_again == is_again
        assert broker.faults[IMPOSSIBLE] == 2


@pytest.mark.parametrize("reborn_at", [float("nan"), float("inf"), None, "soon", 1e12])
def test_a_wrong_time_of_the_last_rebirth_does_no_harm(reborn_at: float) -> None:
    broker = spoilt()
    broker.reborn_at = reborn_at
    effects = bring(broker)
    assert isinstance(effects[0], Reborn)
    assert not effects[0].is_again


def test_whoever_waits_is_answered_with_no() -> None:
    broker = filled(raises_faults=False)
    broker.handle(ControlReceived("c1.1", Subscribe("w", "w = 1", 5)), 1.0)
    broker.handle(ControlReceived("c2.1", Survey(6)), 1.0)
    broker.waves.by_origin = None  # type: ignore[assignment]
    effects = broker.handle(Tick(), 1.5)
    answers = [one for one in effects if isinstance(one, Send) and one.destination[0] == "c"]
    assert [one.message for one in answers if isinstance(one.message, Settled)] == [
        Settled(5, settled=False)
    ]
    assert any(getattr(one.message, "request", 0) == 6 for one in answers)
    assert broker.waves.queue == broker.waves.under_way == []


def test_whoever_waits_for_a_change_of_the_tree_is_told_that_it_is_lost() -> None:
    broker = filled(raises_faults=False)
    wanted = ChangeTree(6, "exchange", (("N1", "B"), ("N1", "N2")))
    broker.handle(ControlReceived("c2.1", wanted), 1.0)
    (job,) = broker.conducting.jobs.values()
    job.open[3] = Step(("N1", "B"), ("N1", "N2"))
    broker.waves.by_origin = None  # type: ignore[assignment]
    effects = broker.handle(Tick(), 1.5)
    assert Send("c2.1", Refused(LOST, 6)) in effects
    assert not broker.conducting.jobs


def test_a_rebirth_does_not_wait_for_tables_again() -> None:
    broker = spoilt(expected=("N1", "N9"), restore_seconds=5.0)
    broker.handle(ControlReceived("N1", TableComplete()), 0.0)
    broker.handle(Tick(), 6.0)
    bring(broker, 7.0)
    assert not broker.is_restoring


def test_a_fault_among_notifications_is_one_too() -> None:
    broker = filled(raises_faults=False)
    frame = notification("p.1", {"x": 3})
    right = broker.handle(FramesReceived("N1", frame), 1.0)
    broker.forwarding.index = None  # type: ignore[assignment]
    broker.forwarding.invalidate()
    effects = broker.handle(FramesReceived("N1", frame), 2.0)
    assert isinstance(effects[0], Reborn)
    assert broker.handle(FramesReceived("N1", frame), 3.0) == right
    assert isinstance(right[0], Forward)


def test_a_spoilt_time_shows_in_the_next_tick() -> None:
    broker = filled(raises_faults=False)
    broker.waves.queue = 5  # type: ignore[assignment]
    assert broker.next_at == float("-inf")
    assert isinstance(broker.handle(Tick(), 1.0)[0], Reborn)
    broker.handle(Tick(), 1.5)
    assert broker.next_at != float("-inf")


def test_what_cannot_say_when_it_is_due_does_not_ask_for_ticks_for_ever() -> None:
    broker = filled(raises_faults=False)
    broker._timed[0] = None  # type: ignore[call-overload]
    assert broker.next_at == float("-inf")
    assert isinstance(broker.handle(Tick(), 1.0)[0], Reborn)
    broker.handle(Tick(), 1.5)
    assert broker.next_at != float("-inf")


def test_a_wrong_request_of_the_driver_is_no_fault() -> None:
    broker = filled(raises_faults=False)
    with pytest.raises(RoutingError):
        broker.handle(RoutingChanged("N1", "nonsense"), 1.0)
    assert broker.faults[IMPOSSIBLE] == 0


def test_what_makes_no_sense_is_left_behind() -> None:
    broker = filled()
    broker.neighbours["N8"] = None  # type: ignore[assignment]
    broker.neighbours["N9"] = Neighbour(True, 5, "covering")  # type: ignore[arg-type]
    broker.subscriptions._entries["stranger"] = {"s": Held(Filter("s = 1"), "s = 1")}
    broker.subscriptions._entries["N1"]["odd"] = 7  # type: ignore[assignment]
    broker.subscriptions._entries["N2"] = []  # type: ignore[assignment]
    broker.fences.homes = {"m.1": Fence("N1", 1), "m.2": Fence("N7", 1), "m.3": 0}  # type: ignore[dict-item]
    broker.faults["impossible"] = -3
    primary = primary_of(broker, None)
    assert list(primary.neighbours) == ["N1", "N2", "N3"]
    held = {entry.destination for entry, _ in primary.subscriptions}
    assert held == {"N1", "N3", "c1.1", "c2.1"}
    assert primary.fences == {"m.1": Fence("N1", 1)}
    assert primary.faults["impossible"] == 0
    fresh = Broker(broker.config)
    restore(fresh, primary)
    assert broker_problems(fresh) == []


def test_nothing_at_all_can_be_read_from_nothing() -> None:
    broker = filled(raises_faults=False)
    for name in ("neighbours", "clients", "subscriptions", "advertisements", "fences", "drops"):
        setattr(broker, name, None)
    broker.faults = None  # type: ignore[assignment]
    effects = bring(broker)
    assert isinstance(effects[0], Reborn)
    assert len(broker.subscriptions) == 0
    assert broker_problems(broker) == []
