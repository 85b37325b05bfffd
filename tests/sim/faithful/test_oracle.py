"""The oracle: what it calls lost, reported, repeated and out of order."""

from __future__ import annotations

from random import Random

from sapwood.filters.filter import Filter
from sapwood.protocol.client.deliveries import Inbox
from sapwood.sim.faithful.client import (
    Answer,
    Delivery,
    FaithfulClient,
    Home,
    Publication,
    Report,
    Wanted,
)
from sapwood.sim.faithful.oracle import Oracle, Tree
from sapwood.sim.kernel import Kernel

EDGES = (("B1", "B2"), ("B2", "B3"), ("B2", "B4"))


def make_client(name: str, broker: str) -> FaithfulClient:
    made = FaithfulClient(name, ("sapwood://B1",), Random(1), Kernel())
    made.homes.append(Home(0.0, broker))
    return made


def want(client: FaithfulClient, text: str, settled_at: float = 1.0) -> Wanted:
    filter = Filter(text)
    wanted = Wanted(text, filter, Inbox("1", filter, 10, yields_gaps=True), 0.5)
    wanted.answers.append(Answer(settled_at, True))
    client.subscriptions[text] = wanted
    return wanted


class Scene:
    """A publisher at B1 and a subscriber at B3."""

    def __init__(self) -> None:
        self.publisher, self.subscriber = make_client("p.1", "B1"), make_client("s.1", "B3")
        self.wanted = want(self.subscriber, "n >= 0")
        self.tree = Tree(EDGES, settle_seconds=3.0)
        self.oracle = Oracle({"p.1": self.publisher, "s.1": self.subscriber}, self.tree)

    def publish(self, at: float, n: int = 1) -> None:
        sequence = len(self.publisher.publications) + 1
        self.publisher.events.append(Publication(at, sequence, {"n": n}))

    def deliver(self, at: float, sequence: int) -> None:
        self.subscriber.events.append(Delivery(at, "p.1", sequence))
        self.wanted.got.add(("p.1", sequence))

    def lost(self) -> list[int]:
        return [pair.sequence for pair in self.oracle.lost()]


def test_what_a_settled_subscription_matches_must_come() -> None:
    scene = Scene()
    for at, n in ((0.9, 1), (1.1, 1), (1.2, -1), (1.3, 2)):
        scene.publish(at, n)
    assert scene.lost() == [2, 4]
    scene.deliver(2.0, 2)
    assert scene.lost() == [4]
    assert [pair.sequence for pair in scene.oracle.lost(since=1.4)] == []
    scene.wanted.ended_at = 5.0
    assert scene.lost() == []


def test_nothing_is_owed_while_the_tree_is_apart_on_the_way_and_for_a_while_after() -> None:
    scene = Scene()
    scene.tree.look(lambda a, b: (a, b) != ("B2", "B3"), 10.0)
    scene.tree.look(lambda a, b: (a, b) != ("B2", "B4"), 20.0)
    for at in (9.0, 10.0, 12.0, 14.0, 20.0):
        scene.publish(at)
    assert scene.lost() == [1, 4, 5]
    scene.publisher.accepted_at[1] = 11.0  # it had waited for its broker
    assert scene.lost() == [4, 5]


def test_a_subscriber_that_is_handed_over_is_owed_nothing_from_a_broker_that_is_apart() -> None:
    """Both were at one broker, which left, and came back alone with what had waited for it."""
    scene = Scene()
    scene.publisher.homes[:] = [Home(0.0, "B3")]
    scene.publish(9.0)
    scene.publisher.accepted_at[1] = 11.0
    scene.tree.look(lambda a, b: (a, b) != ("B2", "B3"), 10.0)
    assert scene.lost() == [1]
    scene.subscriber.homes.append(Home(9.5, "B2", is_resumed=True))
    assert scene.lost() == []


def test_a_loss_is_reported_to_the_subscriber_or_the_publisher() -> None:
    scene = Scene()
    scene.publish(2.0)
    scene.publish(4.0)
    first, second = scene.oracle.lost()
    assert not scene.oracle.is_reported(first)
    scene.wanted.reports.append(Report(3.0, 1, "link"))
    assert scene.oracle.is_reported(first)
    assert not scene.oracle.is_reported(second)
    scene.publisher.unconfirmed.add(2)
    assert scene.oracle.is_reported(second)
    assert str(second) == "p.1:2 at n >= 0, published 4.000"


def test_repeats_and_wrong_order_are_found() -> None:
    scene = Scene()
    for _ in range(3):
        scene.publish(2.0)
    for sequence in (1, 3, 2, 3):
        scene.deliver(3.0, sequence)
    kinds = [problem.split(":")[0] for problem in scene.oracle.order()]
    assert sorted(kinds) == ["duplicated", "out_of_order_causal", "out_of_order_fifo"]
    scene.publisher.homes.append(Home(2.5, "B2"))
    kinds = [problem.split(":")[0] for problem in scene.oracle.order()]
    assert sorted(kinds) == ["duplicated", "out_of_order_fifo"]


def test_what_nobody_published_or_wanted_is_found() -> None:
    scene = Scene()
    scene.publish(2.0, n=-1)
    scene.deliver(3.0, 1)
    scene.deliver(3.0, 2)
    assert list(scene.oracle.unexpected()) == [
        "p.1:1 at s.1: not subscribed",
        "p.1:2 at s.1: nobody has published that",
    ]
