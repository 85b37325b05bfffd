"""A circle of links that carry, as spoilt variables make it: nothing goes round it for ever.

Brokers on links without any delay, which is the worst case: whatever goes round a circle does so
before anybody's next tick.
"""

from __future__ import annotations

from collections import Counter, deque
from itertools import combinations, pairwise

import pytest

from sapwood.protocol import gaps
from sapwood.protocol.broker import Broker, BrokerConfig
from sapwood.protocol.effects import Forward, Send
from sapwood.protocol.events import (
    ClientUp,
    ControlReceived,
    FramesReceived,
    LinkUp,
    NotificationsMissed,
    Tick,
)
from sapwood.protocol.messages import Missed, Subscribe
from sapwood.wire.frames import (
    decode_envelope,
    decode_head,
    encode_head,
    encode_notification,
    split,
)

COPIES_MAX = 10
"""How often a notification may come to a client while the tree is not right."""

STEPS_MAX = 20_000

RING = [(f"B{number}", f"B{number % 4 + 1}") for number in range(1, 5)]
TAIL = [*pairwise(("B1", "B2", "B3", "B4")), ("B4", "B2")]
EVERYBODY = list(combinations(("B1", "B2", "B3", "B4"), 2))


class Circle:
    """Brokers with a client each that wants everything; frames arrive in the order they left."""

    def __init__(self, links: list[tuple[str, str]]) -> None:
        names = sorted({name for link in links for name in link})
        self.brokers = {name: Broker(BrokerConfig(id=name, routing="flooding")) for name in names}
        self.got: Counter[tuple[str, str, int]] = Counter()
        """By client, publisher and sequence number."""
        self.reports: Counter[str] = Counter()
        """How often each client was told that something is missing."""
        self.steps = 0
        self.now = 0.0
        self._under_way: deque[tuple[str, object]] = deque()
        for one, other in links:
            self._under_way += [(one, LinkUp(other)), (other, LinkUp(one))]
        for name in names:
            client = f"c{name[1:]}.1"
            self._under_way.append((name, ClientUp(client)))
            self._under_way.append((name, ControlReceived(client, Subscribe("all", "n >= 0"))))
        self.run()

    def publish(self, broker: str, sequence: int, count: int = 1) -> None:
        """Let the client of a broker publish, several notifications in one write."""
        client = f"c{broker[1:]}.1"
        head = encode_head(client, {"n": 1})
        notes = (
            encode_notification(head, number, 0.0, b"")
            for number in range(sequence, sequence + count)
        )
        self._under_way.append((broker, FramesReceived(client, b"".join(notes))))
        self.run()

    def subscribe(self, broker: str, filter: str) -> None:
        """Let the client of a broker want something else, too: tables change."""
        client = f"c{broker[1:]}.1"
        self._under_way.append((broker, ControlReceived(client, Subscribe(filter, filter))))
        self.run()

    def miss(self, broker: str, neighbour: str) -> None:
        """Let a broker find out that something from a neighbour is missing."""
        self._under_way.append((broker, NotificationsMissed(neighbour, 0)))
        self.run()

    def run(self) -> None:
        while self._under_way:
            self.steps += 1
            assert self.steps < STEPS_MAX, "it goes round for ever"
            name, event = self._under_way.popleft()
            for effect in self.brokers[name].handle(event, self.now):  # type: ignore[arg-type]
                self._carry(name, effect)

    def _carry(self, name: str, effect: object) -> None:
        if isinstance(effect, Send) and effect.destination in self.brokers:
            self._under_way.append((effect.destination, ControlReceived(name, effect.message)))
        elif isinstance(effect, Send) and isinstance(effect.message, Missed):
            self.reports[effect.destination] += 1
        elif isinstance(effect, Forward):
            for destination in effect.destinations:
                if destination in self.brokers:
                    self._under_way.append((destination, FramesReceived(name, effect.data)))
                    continue
                for _, head, body in split(effect.data):
                    publisher, _ = decode_head(head)
                    self.got[destination, publisher, decode_envelope(body).sequence] += 1

    def pass_time(self, seconds: float) -> None:
        for _ in range(int(seconds / 0.5)):
            self.now += 0.5
            self._under_way += [(name, Tick()) for name in self.brokers]
            self.run()

    def watchers(self) -> list[str]:
        return [name for name, broker in self.brokers.items() if broker.watching is not None]


@pytest.mark.parametrize("links", [RING, TAIL, EVERYBODY], ids=["ring", "tail", "everybody"])
@pytest.mark.parametrize("publisher", ["B1", "B3"])
@pytest.mark.parametrize("count", [1, 5])
def test_nothing_goes_round_for_ever(
    links: list[tuple[str, str]], publisher: str, count: int
) -> None:
    circle = Circle(links)
    circle.publish(publisher, 1, count)
    assert max(circle.got.values()) <= 4 < COPIES_MAX
    assert len(circle.got) == count * len(circle.brokers)


@pytest.mark.parametrize("links", [RING, TAIL, EVERYBODY], ids=["ring", "tail", "everybody"])
def test_once_a_circle_has_shown_itself_everything_comes_once(
    links: list[tuple[str, str]],
) -> None:
    circle = Circle(links)
    circle.publish("B1", 1)
    circle.got.clear()
    for sequence in range(2, 50):
        circle.publish("B1", sequence)
        circle.pass_time(1.0)
    assert {*circle.got.values()} == {1}
    assert len(circle.got) == 48 * 4


def test_it_shows_itself_again_after_nobody_has_watched() -> None:
    """Nothing was published for long: nobody watches any more, and the circle is still there."""
    circle = Circle(RING)
    circle.publish("B1", 1)
    assert circle.watchers()
    circle.pass_time(600.0)
    assert circle.watchers() == []
    circle.publish("B1", 2)
    assert max(circle.got.values()) <= 4


def test_a_tree_is_not_watched() -> None:
    tree = Circle([("B1", "B2"), ("B2", "B3"), ("B2", "B4")])
    for sequence in range(1, 6):
        for name in tree.brokers:
            tree.publish(name, sequence, 3)
        tree.subscribe("B2", f"n = {sequence}")
        tree.pass_time(1.0)
        assert tree.watchers() == []


def test_without_the_signs_it_would_go_round_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Broker, "_crossed", lambda self: None)
    circle = Circle(RING)
    with pytest.raises(AssertionError, match="goes round for ever"):
        circle.publish("B1", 1)


def test_a_report_of_losses_does_not_go_round_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    circle = Circle(RING)
    before = circle.steps
    circle.miss("B1", "B2")
    assert circle.steps - before < 100
    monkeypatch.setattr(gaps, "PASSED_MAX", 10**9)
    with pytest.raises(AssertionError, match="goes round for ever"):
        circle.miss("B1", "B2")


def test_what_was_held_back_is_reported_at_the_next_tick() -> None:
    """None of many losses in a row goes untold."""
    tree = Circle([("B1", "B2"), ("B2", "B3")])
    for _ in range(3 * gaps.PASSED_MAX):
        tree.miss("B1", "B2")
    assert tree.reports["c1.1"] == gaps.PASSED_MAX
    tree.pass_time(1.0)
    assert tree.reports["c1.1"] == gaps.PASSED_MAX + 1
