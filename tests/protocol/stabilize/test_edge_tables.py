"""What one end owes is what the other end holds, bucket by bucket."""

from __future__ import annotations

from protocol.stabilize.refreshed import new_broker, refreshing, tell
from sapwood.filters import Filter
from sapwood.protocol.messages import Advertise, Subscribe
from sapwood.protocol.restoration import Stale
from sapwood.protocol.stabilize.digest import bucket_of
from sapwood.protocol.stabilize.whole import Partial
from sapwood.routing.strategy import Entry


def test_what_is_owed_is_as_it_is_told() -> None:
    broker = new_broker(routing="identity")
    tables = refreshing(broker)._tables
    for number in range(20):
        tell(broker, "c.1", Subscribe(str(number), f"{number} = a"))
    assert tables.owed("N", "s") == {
        Filter(f"a = {number}").id: f"a = {number}" for number in range(20)
    }
    assert tables.owed("unknown", "s") == tables.owed("N", "a") == {}


def test_what_is_held_is_word_for_word_and_without_what_is_stale() -> None:
    broker = new_broker(advertisements_required=True)
    tables = refreshing(broker)._tables
    tell(broker, "N", Subscribe("x", "1 = a"))
    tell(broker, "N", Subscribe("y", "2 = a"))
    tell(broker, "N", Advertise("x", "3 = a"))
    assert tables.held("N", "s") == {"x": "1 = a", "y": "2 = a"}
    assert tables.held("N", "a") == {"x": "3 = a"}
    broker.restoration.stale["N"] = Stale(60.0, {"x": None}, {})
    assert tables.held("N", "s") == {"y": "2 = a"}
    assert tables.held("N", "a") == {"x": "3 = a"}


def test_a_line_in_the_wrong_bucket_is_not_taken() -> None:
    broker = new_broker()
    wrong = (bucket_of("x", 5) + 1) % 5
    _, changed = refreshing(broker)._tables.replace(
        "N", Partial("s", wrong, 5, 1, 1, [("x", "a = 1")])
    )
    assert (changed, len(broker.subscriptions)) == (0, 0)


def test_other_buckets_stay_as_they_are() -> None:
    broker = new_broker()
    tables = refreshing(broker)._tables
    for one in "abcdefgh":
        broker.add(broker.subscriptions, Entry("N", one, Filter(f"{one} = 1")))
    before = broker.subscriptions.texts("N")
    tables.replace("N", Partial("s", 0, 2, 1, 1, []))
    left = {key: text for key, text in before.items() if bucket_of(key, 2) == 1}
    assert broker.subscriptions.texts("N") == left
    assert 0 < len(left) < len(before)


def test_strays_of_both_tables_go() -> None:
    broker = new_broker()
    for table, name in zip(broker.tables, ("one", "two"), strict=True):
        broker.add(table, Entry(name, "x", Filter("a = 1")))
    _, strays = refreshing(broker)._tables.remove_strays()
    assert (strays, len(broker.subscriptions), len(broker.advertisements)) == (2, 0, 0)
    assert refreshing(broker)._tables.remove_strays() == ([], 0)
