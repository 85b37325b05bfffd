"""An audit builds everything derived anew, in slices, while the broker goes on."""

from __future__ import annotations

import math
import time
from itertools import pairwise
from random import Random
from typing import Any

import pytest

from protocol.wiring import notification
from sapwood.filters.filter import Filter
from sapwood.protocol.broker import Broker
from sapwood.protocol.config import BrokerConfig
from sapwood.protocol.core import REBIRTH_CHANGED
from sapwood.protocol.effects import Effect, Forward, Send
from sapwood.protocol.events import (
    ClientDown,
    ClientUp,
    ControlReceived,
    Event,
    FramesReceived,
    LinkDown,
    LinkUp,
    NeighbourAway,
    NeighbourBack,
    RoutingChanged,
    Tick,
)
from sapwood.protocol.forwarding import SharedHeads
from sapwood.protocol.invariants import broker_problems
from sapwood.protocol.messages import Advertise, Missed, Subscribe, Unsubscribe
from sapwood.protocol.stabilize.audit import SLICE_WORK, reread
from sapwood.protocol.stabilize.settings import NO_REFRESH, StabilizationSettings
from sapwood.routing.table import Held

PERIOD = 10.0
SETTINGS = StabilizationSettings(audit_seconds=PERIOD)
FILTERS = ("x > {}", "x = {}", "symbol = 'S{}' and price > 3", "y < {} or z = 1", "a in ({}, 7)")


def filled(routing: str = "covering", entries: int = 40, **config: Any) -> Broker:
    """A broker with three neighbours and two clients, that has ticked once."""
    heads = config.pop("heads", None)
    broker = Broker(
        BrokerConfig(id="B", routing=routing, **{"stabilization": SETTINGS, **config}), heads=heads
    )
    for name in ("N1", "N2", "N3"):
        broker.handle(LinkUp(name, features=("restart",)), 0.0)
    for client in ("c1.1", "c2.1"):
        broker.handle(ClientUp(client), 0.0)
    sources = ("N1", "N2", "N3", "c1.1", "c2.1")
    for source in sources:
        broker.handle(ControlReceived(source, Advertise(f"a{source}", "x > 0 or y > 0")), 0.0)
    for number in range(entries):
        filter = FILTERS[number % len(FILTERS)].format(number // 2)
        message = Subscribe(f"s{number}", filter)
        broker.handle(ControlReceived(sources[number % 5], message), 0.0)
    broker.handle(Tick(), 0.0)
    return broker


def audit(broker: Broker, begin: float = PERIOD, *, slices: int = 10_000) -> list[Effect]:
    """Let an audit run to its end, or some slices of it."""
    effects: list[Effect] = []
    done, now = broker.audit.count, begin
    for _ in range(slices):
        effects += broker.handle(Tick(), now)
        if broker.audit.count != done:
            break
        due = broker.next_at
        assert due is not None
        now = max(now, due)
    return effects


@pytest.mark.parametrize("routing", ["covering", "merging", "simple", "identity", "flooding"])
@pytest.mark.parametrize("advertisements", [False, True])
def test_without_a_fault_nothing_changes(routing: str, advertisements: bool) -> None:
    broker = filled(routing, advertisements_required=advertisements)
    owed = {name: broker.subscriptions.owed(name) for name in broker.neighbours}
    ledgers = dict(broker.subscriptions.ledgers)
    snapshot = broker.snapshot()
    assert audit(broker) == []
    assert broker.audit.count == 1
    assert {name: broker.subscriptions.owed(name) for name in broker.neighbours} == owed
    after = broker.snapshot()
    assert {key: after[key] for key in after if key not in ("audit", "refresh")} == {
        key: snapshot[key] for key in snapshot if key not in ("audit", "refresh")
    }
    assert broker.faults.total() == 0
    assert broker_problems(broker) == []
    fresh = broker.subscriptions.ledgers
    assert list(fresh) == list(ledgers)
    assert all(fresh[name] is not ledgers[name] for name in fresh)


def test_it_is_off_where_nothing_is_refreshed() -> None:
    broker = filled(stabilization=NO_REFRESH)
    assert broker.next_at is None
    for now in range(0, 1000, 100):
        assert broker.handle(Tick(), float(now)) == []
    assert broker.audit.count == 0


def test_a_wrong_ledger_is_mended_counted_and_the_difference_is_told() -> None:
    broker = filled()
    ledger = broker.subscriptions.ledgers["N1"]
    lost = next(iter(ledger.owed()))
    ledger._strategy._owed.pop(lost)
    ledger.told.pop(lost)  # the neighbour was never told
    text = str(broker.subscriptions.owed("N2").get(lost, "")) or None
    effects = audit(broker)
    told = [one for one in effects if isinstance(one, Send) and one.destination == "N1"]
    assert [one.message.id for one in told if isinstance(one.message, Subscribe)] == [lost]
    assert any(isinstance(one.message, Missed) for one in told)
    assert text is None or text == str(broker.subscriptions.owed("N1")[lost])
    assert broker.faults[REBIRTH_CHANGED] == 1
    assert broker.reports()["audit"] == {"audits": 1, "impossible": 0, "rebirth_changed": 1}
    assert broker_problems(broker) == []


def test_a_wrong_index_is_mended() -> None:
    broker = filled()
    for entry in list(broker.forwarding.index.entries()):
        broker.forwarding.index.remove(entry.key)
    broker.forwarding.invalidate()
    frame = FramesReceived("N1", notification("p.1", {"x": 3}))
    assert broker.handle(frame, 1.0) == []
    audit(broker)
    assert isinstance(broker.handle(frame, 99.0)[0], Forward)
    assert broker.faults[REBIRTH_CHANGED] == 1


def test_neighbours_that_were_forgotten_are_owed_again() -> None:
    broker = filled()
    owed = broker.subscriptions.owed("N1")
    broker.subscriptions.ledgers.clear()
    broker.forwarding._shared = "nonsense"  # type: ignore[assignment]
    audit(broker)
    assert broker.subscriptions.owed("N1") == owed
    assert broker.forwarding._shared is None
    assert broker.faults[REBIRTH_CHANGED] == 1
    assert broker_problems(broker) == []


def test_wrong_plans_go_with_an_audit() -> None:
    broker = filled()
    frame = FramesReceived("N1", notification("p.1", {"x": 3}))
    right = broker.handle(frame, 1.0)
    plans = broker.forwarding._plans
    for rest in plans:
        plans[rest] = plans[rest]._replace(everyone=("nobody",), without={})
    assert broker.handle(frame, 1.0) != right
    audit(broker)
    assert broker.handle(frame, 99.0) == right


def test_a_filter_that_does_not_fit_its_text_is_read_again() -> None:
    broker = filled()
    entry = broker.subscriptions.of("c1.1")[0]
    broker.subscriptions._entries["c1.1"][entry.id] = Held(Filter("q = 1"), str(entry.filter))
    audit(broker)
    assert broker.subscriptions.get("c1.1", entry.id) == entry.filter
    assert broker.faults[REBIRTH_CHANGED] == 1
    assert broker_problems(broker) == []


def test_what_is_no_filter_goes() -> None:
    broker = filled()
    entry = broker.subscriptions.of("N1")[0]
    assert reread(broker, None, "x = 1") is None
    assert reread(broker, entry.filter, None) is None
    assert reread(broker, entry.filter, str(entry.filter)) is entry.filter
    assert reread(broker, entry.filter, "x >") is None


def test_wiring_is_made_anew_and_state_handed_on() -> None:
    broker = filled()
    broker.handle(ControlReceived("c1.1", Subscribe("w", "w = 1", 5)), 9.9)
    waiting = broker.waves.under_way
    assert waiting
    broker._from_neighbours.pop(Subscribe)
    broker._from_clients[Unsubscribe].clear()
    settled = broker.settling
    audit(broker, slices=200)
    assert broker.audit.count == 1
    assert Subscribe in broker._from_neighbours
    assert broker._from_clients[Unsubscribe]
    assert broker.settling is not settled
    assert broker.waves.under_way == waiting


@pytest.mark.slow
@pytest.mark.parametrize("advertisements", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_changes_during_an_audit_go_to_both(seed: int, advertisements: bool) -> None:
    """Whatever happens between slices, the shadow ends up like what it takes the place of."""
    random = Random(seed)
    routing = random.choice(("covering", "merging", "simple", "identity"))
    heads = SharedHeads(100) if random.random() < 0.5 else None
    broker = filled(routing, 60, advertisements_required=advertisements, heads=heads)
    now, sources = PERIOD, ["N1", "N2", "N3", "c1.1", "c2.1"]
    for step in range(1000):
        broker.handle(Tick(), now)
        if broker.audit.count == 3:
            break
        now = max(now, broker.next_at or now) if broker.audit.shadow else now + 0.5
        source = random.choice(sources)
        match random.randrange(9):
            case 0 | 1 | 2:
                filter = random.choice(FILTERS).format(random.randrange(30))
                broker.handle(ControlReceived(source, Subscribe(f"n{step % 20}", filter)), now)
            case 3 | 4:
                broker.handle(ControlReceived(source, Unsubscribe(f"s{random.randrange(60)}")), now)
            case 5:
                advertise = Advertise(f"a{source}", f"x > {random.randrange(9)}")
                broker.handle(ControlReceived(source, advertise), now)
            case 6:
                broker.handle(random.choice((NeighbourAway("N1"), NeighbourBack("N1"))), now)
            case 7:
                sends = random.choice(("simple", "identity", "covering"))
                broker.handle(RoutingChanged("N2", sends), now)
            case _:
                drops: list[list[Event]] = [
                    [LinkDown("N3"), LinkUp("N3")],
                    [ClientDown("c2.1"), ClientUp("c2.1")],
                ]
                drops.append([LinkUp("N1", features=("restart",), restarted=True)])
                for event in random.choice(drops):
                    broker.handle(event, now)
        assert broker.faults.total() == 0, f"seed {seed}, step {step}"
        assert broker_problems(broker) == [], f"seed {seed}, step {step}"
    assert broker.audit.count == 3


def test_what_comes_and_goes_during_an_audit_is_the_same_in_the_shadow() -> None:
    broker = filled(entries=100)
    audit(broker, slices=4)
    shadow = broker.audit.shadow
    assert shadow is not None
    source, entry_id, _ = next(iter(shadow.subscriptions))
    message_id = entry_id.removeprefix(f"{source}/")
    broker.handle(ControlReceived(source, Unsubscribe(message_id)), PERIOD + 0.5)
    assert shadow.subscriptions.get(source, entry_id) is None
    assert (source, entry_id) not in shadow.index
    broker.handle(ControlReceived("N2", Subscribe("fresh", "fresh = 1")), PERIOD + 0.5)
    assert shadow.subscriptions.get("N2", "fresh") is not None
    assert ("N2", "fresh") in shadow.index
    audit(broker, PERIOD + 0.6)
    assert broker.subscriptions.ledgers is shadow.subscriptions.ledgers
    assert broker_problems(broker) == []


def test_a_link_that_goes_while_edges_are_compared_is_no_fault() -> None:
    broker = filled(entries=20)
    now = PERIOD
    while broker.audit.shadow is None or not broker.audit.shadow.edges:
        broker.handle(Tick(), now)
        now = max(now, broker.next_at or now)
    _, neighbour = broker.audit.shadow.edges[-1]
    broker.handle(LinkDown(neighbour), now)
    broker.handle(LinkUp("N9"), now)
    audit(broker, now)
    assert broker.audit.count == 1
    assert broker.faults.total() == 0
    assert broker_problems(broker) == []


def test_a_slice_does_a_bounded_part_and_the_whole_takes_half_a_period() -> None:
    broker = filled(entries=200)
    broker.handle(Tick(), PERIOD)
    assert broker.audit.shadow is not None
    entered = [len(broker.audit.shadow.subscriptions)]
    now = PERIOD
    while broker.audit.count == 0:
        due = broker.next_at
        assert due is not None
        assert due > now
        now = due
        broker.handle(Tick(), now)
        shadow = broker.audit.shadow
        if shadow is not None:
            entered.append(len(shadow.subscriptions))
    most = SLICE_WORK // 6 + 1  # three neighbours, and a filter to be read
    assert max(b - a for a, b in pairwise(entered)) <= most
    assert now - PERIOD <= PERIOD / 2 + 1.0


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -math.inf, 1e12, -1e12])
def test_a_wrong_time_stops_no_audit(wrong: float) -> None:
    broker = filled()
    broker.audit.begin_at = broker.audit.slice_at = wrong
    audit(broker, 1.0)
    assert broker.audit.count == 1


def test_a_shadow_that_misses_changes_is_thrown_away() -> None:
    broker = filled(entries=100)
    audit(broker, slices=2)
    assert broker.audit.shadow is not None
    broker.subscriptions.shadow = None
    broker.handle(ControlReceived("N1", Subscribe("late", "late = 1")), PERIOD + 1)
    audit(broker, PERIOD + 1)
    assert broker.audit.count == 1
    assert broker.subscriptions.get("N1", "late") is not None
    assert broker_problems(broker) == []


def test_what_is_replaced_is_thrown_away_piece_by_piece() -> None:
    broker = filled()
    audit(broker)
    left = len(broker.audit.retired)
    assert left > 3
    for step in range(left):
        broker.handle(Tick(), PERIOD + 5.1 + step / 100)
    assert broker.audit.retired == []


CORE_SHARE_MAX = 0.02
MANY_ENTRIES = 10_000


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("routing", ["covering", "simple", "identity"])
def test_an_audit_of_many_entries_takes_little_of_a_core(routing: str) -> None:
    """With four neighbours, by default settings; the time is that of the processor."""
    random = Random(1)
    settings = StabilizationSettings()
    broker = Broker(BrokerConfig(id="B", routing=routing, stabilization=settings))
    sources = ("N1", "N2", "N3", "N4", "c1.1", "c2.1")
    for name in sources[:4]:
        broker.handle(LinkUp(name, features=("restart",)), 0.0)
    for name in sources[4:]:
        broker.handle(ClientUp(name), 0.0)
    for number in range(MANY_ENTRIES):
        low = random.randrange(100)
        filter = f"symbol = 'S{random.randrange(5000)}' and price > {low} and size < {number % 50}"
        message = Subscribe(f"s{number}", filter)
        broker.handle(ControlReceived(sources[number % len(sources)], message), 0.0)
    broker.handle(Tick(), 0.0)
    took: list[float] = []
    for count in (1, 2):
        began = time.process_time()
        assert audit(broker, count * settings.audit_seconds, slices=10**6) == []
        took.append(time.process_time() - began)
    assert (broker.audit.count, broker.faults.total()) == (2, 0)
    assert min(took) <= CORE_SHARE_MAX * settings.audit_seconds
