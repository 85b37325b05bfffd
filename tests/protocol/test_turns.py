"""Whatever one client does with its subscriptions, every step of a broker stays short."""

from __future__ import annotations

from collections import Counter
from math import ceil

import pytest

from protocol.joined import Network
from sapwood.filters.filter import Filter
from sapwood.protocol.broker import Broker, BrokerConfig
from sapwood.protocol.clients import MESSAGE_SIZE, Pace
from sapwood.protocol.effects import Dismiss, Effect, Send
from sapwood.protocol.events import ClientDown, ClientUp, ControlReceived, LinkUp, Tick
from sapwood.protocol.invariants import broker_problems
from sapwood.protocol.link.handshake import BUSY, Goodbye
from sapwood.protocol.link.limits import ClientLimits
from sapwood.protocol.messages import CODEC, Message, Subscribe, Survey, Unsubscribe
from sapwood.protocol.subscribing import SLICE_WORK
from sapwood.protocol.turns import WINDOW_SECONDS, WINDOW_WORK, Turns
from sapwood.routing import covering
from sapwood.routing.covering import hides
from sapwood.routing.ledger import AT_ONCE

PACE = Pace(work_per_second=1_000.0, burst=2_000.0, waiting_max=2**20)

STEP_MAX = WINDOW_WORK + 2 * (AT_ONCE + 2) + 2 * SLICE_WORK
"""What one step may come to with two neighbours: its window, the last change, what was left."""


class Driven:
    """A broker between two neighbours, driven by its own times, and what every step took."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, pace: Pace | None = PACE) -> None:
        self.now = 0.0
        self.asked = 0
        self.steps: list[int] = []
        """Messages and comparisons of filters of each step."""
        self.answers: list[tuple[float, str, Message]] = []
        self.dismissed: list[str] = []
        self.broker = Broker(BrokerConfig(id="B1", pace=pace), parse=self._parse)
        monkeypatch.setattr(covering, "hides", self._hides)
        for name in ("B2", "B3"):
            self.bring(LinkUp(name))
        for name in ("mallory.1", "alice.1"):
            self.bring(ClientUp(name))

    def _hides(self, cover: Filter, filter: Filter) -> bool:
        self.asked += 1
        return hides(cover, filter)

    def _parse(self, text: str) -> Filter:
        self.asked += 1
        return Filter(text)

    def bring(self, *events: object) -> None:
        """Bring events that come together: one step."""
        self.asked = 0
        effects: list[Effect] = []
        for event in events:
            effects += self.broker.handle(event, self.now)  # type: ignore[arg-type]
        self.steps.append(self.asked + len(effects))
        for effect in effects:
            if isinstance(effect, Send) and effect.destination in self.broker.clients:
                self.answers.append((self.now, effect.destination, effect.message))
            if isinstance(effect, Dismiss):
                self.dismissed.append(effect.reason)
                self.bring(ClientDown(effect.client))

    def say(self, client: str, *messages: Message) -> None:
        """A read that brings messages of a client."""
        self.bring(*(ControlReceived(client, one) for one in messages))

    def until(self, until: float) -> None:
        """Let time pass, with every tick that the broker asks for."""
        while (at := self.broker.next_at) is not None and at <= until:
            self.now = max(self.now + 0.001, at)
            self.bring(Tick())
        self.now = until
        self.bring(Tick())

    def wanted(self, client: str) -> int:
        """Subscriptions of a client that are in force."""
        return len(self.broker.subscriptions.of(client))


def narrow(count: int, first: int = 0) -> list[Message]:
    return [Subscribe(str(one), f"n = {one}") for one in range(first, first + count)]


def toggles(count: int) -> list[Message]:
    return [Subscribe("wide", "true"), Unsubscribe("wide")] * count


@pytest.fixture
def driven(monkeypatch: pytest.MonkeyPatch) -> Driven:
    return Driven(monkeypatch)


@pytest.mark.slow
def test_who_toggles_true_over_thousands_of_subscriptions_stops_nobody(driven: Driven) -> None:
    """Each step is bounded, whoever is concerned by it, and others are served."""
    driven.say("mallory.1", *narrow(1_000))
    driven.until(10.0)
    assert driven.wanted("mallory.1") == 1_000
    driven.say("mallory.1", *toggles(6))
    for second in range(10):
        driven.say("alice.1", Subscribe("a", f"a = {second}"))
        asked_at = driven.now
        driven.until(asked_at + 1.0)
        assert str(driven.broker.subscriptions.get("alice.1", "alice.1/a")) == f"a = {second}"
        assert max(driven.steps) <= STEP_MAX
    driven.until(100.0)
    assert max(driven.steps) <= STEP_MAX
    assert driven.broker.subscriptions.owed("B2").keys() == {
        *(Filter(f"n = {one}").id for one in range(1_000)),
        Filter("a = 9").id,
    }
    assert not list(broker_problems(driven.broker))


def test_without_turns_one_read_takes_all_the_work_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that the bound above is one that can be missed."""
    driven = Driven(monkeypatch, pace=None)
    driven.say("mallory.1", *narrow(STEP_MAX))
    assert max(driven.steps) > STEP_MAX


def test_a_long_list_of_subscriptions_is_taken_in_its_order_a_window_at_a_time(
    driven: Driven,
) -> None:
    driven.say("mallory.1", *narrow(300), Unsubscribe("7"))
    assert 0 < driven.wanted("mallory.1") < WINDOW_WORK
    driven.until(ceil(301 * 4 / WINDOW_WORK) * 2 * WINDOW_SECONDS)
    assert driven.wanted("mallory.1") == 299
    assert driven.broker.drops.counts == Counter()


def test_those_who_wait_are_served_in_turn(driven: Driven) -> None:
    driven.say("mallory.1", *narrow(400))
    driven.say("alice.1", Subscribe("a", "a = 1"))
    driven.until(2 * WINDOW_SECONDS)
    assert driven.wanted("alice.1") == 1
    assert driven.wanted("mallory.1") < 400


@pytest.mark.slow
def test_who_has_used_its_allowance_up_waits_until_there_is_some(driven: Driven) -> None:
    """In the long run nobody gets more work than is allowed, however it asks for it."""
    driven.say("mallory.1", *narrow(1_200))
    driven.until(1.0)
    work = (PACE.burst + PACE.work_per_second) / 3  # a change, and a message to each side
    assert 0.95 * work <= driven.wanted("mallory.1") <= 1.05 * work
    driven.until(10.0)
    assert driven.broker.turns.report() == {"waiting": 0}
    assert driven.broker.turns.allowances == {}


def test_what_a_client_says_waits_behind_its_changes(driven: Driven) -> None:
    """A comparison that came first would find that something is missing."""
    driven.say("mallory.1", *narrow(200), Subscribe("last", "z = 1", 7))
    driven.say("mallory.1", Survey(8))
    assert driven.broker.turns.report()["waiting"] > 1
    driven.until(40.0)
    assert [getattr(message, "request", 0) for _, _, message in driven.answers] == [7, 8]


def test_too_much_that_waits_ends_the_session(monkeypatch: pytest.MonkeyPatch) -> None:
    small = PACE._replace(waiting_max=50 * MESSAGE_SIZE)
    driven = Driven(monkeypatch, pace=small)
    driven.say("mallory.1", *narrow(200))
    assert len(driven.dismissed) == 1
    assert "faster than allowed" in driven.dismissed[0]
    assert "mallory.1" not in driven.broker.clients
    assert driven.broker.turns.allowances == {}
    driven.say("alice.1", Subscribe("a", "a = 1"))
    driven.until(1.0)
    assert driven.wanted("alice.1") == 1


def test_when_a_broker_leaves_all_that_waits_is_taken_first(driven: Driven) -> None:
    driven.say("mallory.1", *narrow(300))
    driven.broker.finish_turns(driven.now)
    assert driven.wanted("mallory.1") == 300
    assert driven.broker.turns.report() == {"waiting": 0}


def test_no_spoilt_debt_lets_a_client_wait_for_ever(driven: Driven) -> None:
    driven.say("mallory.1", Subscribe("a", "a = 1"))
    driven.broker.turns.allowances["mallory.1"].work = -1e300
    driven.say("mallory.1", Subscribe("b", "b = 1"))
    driven.until(100.0)
    assert driven.wanted("mallory.1") == 2


def test_an_audit_keeps_what_waits(driven: Driven) -> None:
    driven.say("mallory.1", *narrow(200))
    waiting = driven.broker.turns.report()
    after = Turns(driven.broker)
    after.inherit(driven.broker.turns)
    assert waiting["waiting"] > 0
    assert after.report() == waiting


def test_a_node_sends_away_who_floods_it_with_changes() -> None:
    """With a reason; others stay."""
    net = Network()
    limits = ClientLimits(subscription_bytes=1024, subscriptions_max=10)
    net.add("B1", client=limits)
    mallory, alice = net.client("mallory", "B1"), net.client("alice", "B1")
    mallory.send(b"".join(map(CODEC.encode, toggles(400))))
    net.advance(1.0)
    assert isinstance(mallory.heard[-1], Goodbye)
    assert mallory.goodbye.code == BUSY
    assert "faster than allowed" in mallory.goodbye.reason
    alice.subscribe("n = 1")
    net.advance(1.0)
    assert len(net.nodes["B1"].broker.subscriptions) == 1
