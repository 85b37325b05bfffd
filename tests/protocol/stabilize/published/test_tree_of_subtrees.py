"""A root of a subtree that is a leaf of the main tree hands on between the two."""

from __future__ import annotations

from protocol.stabilize.published.trees import corrected
from sapwood.protocol.stabilize.published.colour_messages import (
    ClientPublished,
    ClientSubscribed,
    ClientUnsubscribed,
    ColoredNotification,
    ColoredSubscribe,
    ColoredUnsubscribe,
    Deliver,
    Message,
    Recolor,
    Tick,
)
from sapwood.protocol.stabilize.published.tree_of_subtrees import (
    InTree,
    SubtreeBroker,
    TreeEffect,
    TreeReceived,
    TreeSend,
)


def gateway() -> SubtreeBroker:
    """G, the root of the subtree `site` with the child A, and below R in the main tree."""
    site = corrected("G", "", ("A",), root_group=("G",))
    main = corrected("G", "R")
    return SubtreeBroker("site", {"site": site, "main": main}, "main")


def told(broker: SubtreeBroker, source: str, tree: str, message: Message) -> list[TreeEffect]:
    return broker.handle(TreeReceived(source, InTree(tree, message)), 1.0)


def up(message: Message) -> TreeSend:
    return TreeSend("R", InTree("main", message))


def down(message: Message) -> TreeSend:
    return TreeSend("A", InTree("site", message))


def test_what_is_wanted_below_is_wanted_in_the_main_tree() -> None:
    broker = gateway()
    wish = ColoredSubscribe(1, "A/1", "topic = 1")
    assert told(broker, "A", "site", wish) == [up(ColoredSubscribe(1, "A/1", "topic = 1", 1))]
    gone = told(broker, "A", "site", ColoredUnsubscribe(1, "A/1"))
    assert gone == [up(ColoredUnsubscribe(1, "A/1", 1))]
    own = broker.handle(ClientSubscribed("G", "G/1", "true"), 1.0)
    assert own == [up(ColoredSubscribe(1, "G/1", "true", 1))]
    assert broker.handle(ClientUnsubscribed("G", "G/1"), 1.0) == [
        up(ColoredUnsubscribe(1, "G/1", 1))
    ]


def test_what_is_published_below_is_published_in_the_main_tree_once() -> None:
    broker = gateway()
    note = ColoredNotification(0, "A", 1, {"topic": 1})
    assert told(broker, "A", "site", note) == [up(ColoredNotification(0, "A", 1, {"topic": 1}, 1))]
    assert told(broker, "X", "site", note) == []
    own = broker.handle(ClientPublished("G", 1, {}), 1.0)
    assert own == [up(ColoredNotification(0, "G", 1, {}, 1))]


def test_what_comes_from_the_main_tree_is_published_below_and_does_not_come_back() -> None:
    broker = gateway()
    for tree in broker.machines.values():
        tree.state.tables[0] = {"@^subtree": {"A/1": "topic = 1"}, "A": {"A/1": "topic = 1"}}
    broker.machines["site"].state.tables[0]["@G"] = {"G/1": "true"}
    note = ColoredNotification(0, "P", 1, {"topic": 1})
    inside = ColoredNotification(0, "P", 1, {"topic": 1})
    assert told(broker, "R", "main", note) == [
        Deliver("G", inside),
        down(ColoredNotification(0, "P", 1, {"topic": 1}, 1)),
    ]


def test_each_tree_has_its_own_time_and_colours() -> None:
    broker = gateway()
    assert broker.handle(Tick(), 0.0) == [down(Recolor(2, (), ("G",)))]
    assert broker.machines["main"].state.current == 0
    assert broker.machines["site"].state.current == 1
    assert broker.next_at == 30.0


def test_a_broker_of_one_tree_hands_nothing_on() -> None:
    broker = SubtreeBroker("site", {"site": corrected("A", "G", root_group=("G",))}, "main")
    assert not broker.is_gateway
    wish = broker.handle(ClientSubscribed("A", "A/1", "true"), 1.0)
    assert wish == [TreeSend("G", InTree("site", ColoredSubscribe(1, "A/1", "true", 1)))]
    assert told(broker, "G", "main", ColoredSubscribe(1, "x", "true")) == []
