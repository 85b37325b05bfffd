"""Gray tables: what is added at once, what goes later, and what an undo puts back."""

from __future__ import annotations

from sapwood.protocol.broker import Broker, BrokerConfig
from sapwood.protocol.drops import Drop
from sapwood.protocol.events import ClientUp, ControlReceived, LinkUp
from sapwood.protocol.messages import Subscribe
from sapwood.protocol.reconfigure.messages import EdgeChange, EdgeTables
from sapwood.protocol.reconfigure.state import Ring
from sapwood.protocol.reconfigure.tables import (
    install,
    restore,
    retell,
    settle,
    shadow_id,
    tables_for,
)


def middle() -> tuple[Broker, Ring]:
    """B between A and C, beyond which the old link is; D hangs at B."""
    broker = Broker(BrokerConfig(id="B", routing="simple"))
    for name in ("A", "C", "D"):
        broker.handle(LinkUp(name), 0.0)
    broker.handle(ClientUp("c.1"), 0.0)
    for source, entry_id in (("A", "a"), ("C", "c"), ("D", "d"), ("c.1", "own")):
        broker.handle(ControlReceived(source, Subscribe(entry_id, "x = 1")), 0.0)
    return broker, Ring("A.1/1", ("A", "B", "C"), 2, 1, 0.0)


def held(broker: Broker, name: str) -> dict[str, str]:
    return broker.subscriptions.texts(name)


def change(*added: tuple[str, str], removed: tuple[str, ...] = ()) -> EdgeTables:
    return EdgeTables(subscriptions=EdgeChange(added, removed))


def test_what_is_beyond_the_old_link_is_owed_no_more() -> None:
    broker, ring = middle()
    assert set(broker.subscriptions.told("A")) == {"c", "d", "c.1/own"}
    assert tables_for(broker, ring, "A") == change(removed=("c",))
    told = ring.draft("A").subscriptions.told
    assert told is not None
    assert set(told) == {"d", "c.1/own"}


def test_what_goes_with_the_old_tree_is_not_passed_on_in_the_new_one() -> None:
    broker, _ = middle()
    ring = Ring("A.1/1", ("A", "B", "C", "E"), 3, 1, 0.0)
    for name in ring.sides:
        broker.neighbours[name].is_frozen = True
    install(broker, ring, "C", change(("new", "x = 2"), removed=("c",)))
    assert set(held(broker, "C")) == {"c", "new"}
    assert tables_for(broker, ring, "A") == change(("new", "x = 2"), removed=("c",))


def test_off_the_ring_everybody_is_told_at_once() -> None:
    broker, ring = middle()
    for name in ring.sides:
        broker.neighbours[name].is_frozen = True
    effects = install(broker, ring, "A", change(("new", "x = 2")))
    assert [(one.destination, one.message.id) for one in effects] == [("D", "new")]  # type: ignore[union-attr]


def test_completing_takes_out_what_only_the_old_tree_needed() -> None:
    broker, ring = middle()
    install(broker, ring, "A", change(("a", "x = 3"), ("new", "x = 2"), removed=()))
    assert held(broker, "A") == {shadow_id("a"): "x = 1", "a": "x = 3", "new": "x = 2"}
    settle(broker, ring)
    assert held(broker, "A") == {"a": "x = 3", "new": "x = 2"}


def test_undoing_puts_back_what_was_there() -> None:
    broker, ring = middle()
    install(broker, ring, "A", change(("a", "x = 3"), ("new", "x = 2"), removed=("gone",)))
    restore(broker, ring)
    assert held(broker, "A") == {"a": "x = 1"}


def test_what_was_told_for_the_new_tree_counts_as_told() -> None:
    broker, ring = middle()
    tables_for(broker, ring, "A")
    retell(broker, ring)
    assert set(broker.subscriptions.told("A")) == {"d", "c.1/own"}
    assert [name for name, _ in broker.subscriptions.differences()] == ["A"]


def test_a_filter_that_cannot_be_read_is_left_out() -> None:
    broker, ring = middle()
    install(broker, ring, "A", change(("bad", "x ="), ("good", "x = 2")))
    assert set(held(broker, "A")) == {"a", "good"}
    assert broker.drops.counts[Drop.MALFORMED] == 1
