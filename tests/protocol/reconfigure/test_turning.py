"""Changes on rings of real brokers: what is sent, what is held, and that nobody notices."""

from __future__ import annotations

from random import Random

import pytest

from protocol.reconfigure.rings import WAVES, Ringed, ring
from protocol.wiring import line, notification
from sapwood.protocol.drops import Drop
from sapwood.protocol.effects import CloseLink, Effect, Send, Withhold
from sapwood.protocol.events import ClientArrived, FramesReceived
from sapwood.protocol.messages import CODEC, Subscribe
from sapwood.protocol.reconfigure.messages import (
    Accept,
    Collect,
    EdgeChange,
    EdgeTables,
    Flush,
    Lock,
    Offer,
    Paint,
)

ALGORITHMS = ("flooding", "simple", "identity", "covering", "merging")
CHANGE = "B1.1/1"
PATH = ("B1", "B2", "B3")


def three(algorithm: str = "simple") -> Ringed:
    """Three brokers in a line, each with a client that wants ``x = 1`` to ``x = 3``."""
    brokers = ring(3, algorithm=algorithm)
    for number in (1, 2, 3):
        brokers.subscribe(f"C{number}", "s", f"x = {number}")
    brokers.run()
    brokers.candidate("B1", "B3")
    return brokers


def begin(brokers: Ringed) -> list[Effect]:
    """B1 begins to exchange B2-B3 for B1-B3."""
    turning = brokers.brokers["B1"].turning
    assert turning.refusal(CHANGE, PATH, 2) == ""
    effects = turning.start(CHANGE, PATH, 2, 0.0)
    for effect in effects:
        brokers._do("B1", effect)
    return effects


def table(*added: tuple[str, str], removed: tuple[str, ...] = ()) -> EdgeTables:
    return EdgeTables(subscriptions=EdgeChange(added, removed))


def carry(brokers: Ringed, here: str, there: str) -> list[Effect]:
    """Bring the next message over a link; what follows from it."""
    data = brokers.queues[here, there].popleft()
    return brokers.handle(there, FramesReceived(here, data))


def test_a_swap_message_by_message() -> None:
    brokers = three()
    one, two, three_ = ("C1/s", "x = 1"), ("C2/s", "x = 2"), ("C3/s", "x = 3")
    assert begin(brokers) == [Send("B2", Lock(CHANGE, PATH, 2))]
    assert carry(brokers, "B1", "B2") == [
        Send("B3", Lock(CHANGE, PATH, 2)),
        Send("B1", Collect(CHANGE, table(removed=("C3/s",)))),
    ]
    assert carry(brokers, "B2", "B3") == [Send("B1", Offer(CHANGE, table(three_)))]
    assert carry(brokers, "B3", "B1") == [Withhold("B3", is_withheld=True)]
    effects = carry(brokers, "B2", "B1")
    assert effects[0] == Send("B3", Accept(CHANGE, table(one, two)))
    assert [type(one.message).__name__ for one in effects if isinstance(one, Send)] == [
        "Accept",
        "Turn",
    ]
    assert carry(brokers, "B1", "B3") == [
        Withhold("B1", is_withheld=True),
        Send("B2", Flush(CHANGE)),
    ]
    assert carry(brokers, "B1", "B2") == []
    assert carry(brokers, "B3", "B2") == [Send("B3", Flush(CHANGE)), Send("B1", Flush(CHANGE))]
    assert carry(brokers, "B2", "B1") == [Withhold("B3", is_withheld=False)]
    assert carry(brokers, "B2", "B3") == [
        Withhold("B1", is_withheld=False),
        CloseLink("B2", f"{CHANGE} has exchanged it"),
    ]
    assert brokers.tree == {("B1", "B2"), ("B1", "B3")}
    brokers.check()


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("n", [3, 4, 6])
def test_a_change_takes_3n_plus_k_minus_2_messages(algorithm: str, n: int) -> None:
    for k in range(1, n):
        brokers = ring(n, algorithm=algorithm)
        for number in range(1, n + 1):
            brokers.subscribe(f"C{number}", "s", f"x > {number}")
        brokers.run()
        brokers.exchange("B1", (f"B{k}", f"B{k + 1}"), ("B1", f"B{n}"))
        brokers.run()
        (ended,) = brokers.ended("B1")
        assert ended.outcome == "completed"
        longer = max(k, n - k)
        assert brokers.messages(*WAVES).total() == ended.messages == 3 * n + longer - 2
        brokers.check()
        for number in range(1, n + 1):
            brokers.publish(f"C{number}", {"x": n + 1})
        brokers.run()
        assert all(len(got) == len({*got}) == n for got in brokers.got.values())


@pytest.mark.parametrize("advertising", ["simple", "identity", "covering"])
def test_advertisements_go_the_new_way(advertising: str) -> None:
    for k in (1, 2, 3):
        brokers = ring(4, advertisements_required=True, advertisement_routing=advertising)
        for number in range(1, 5):
            brokers.advertise(f"C{number}", "a", f"x = {number}")
            brokers.subscribe(f"C{number}", "s", "x < 4")
        brokers.run()
        brokers.exchange("B3", (f"B{k}", f"B{k + 1}"), ("B1", "B4"))
        brokers.run()
        brokers.check()
        for number in range(1, 4):
            brokers.publish(f"C{number}", {"x": number})
        brokers.run()
        assert {len(got) for got in brokers.got.values()} == {3}


def test_what_comes_over_the_new_link_waits() -> None:
    brokers = three("covering")
    brokers.subscribe("C1", "t", "x > 0")
    brokers.run()
    begin(brokers)
    for here, there in (("B1", "B2"), ("B2", "B3"), ("B3", "B1"), ("B2", "B1"), ("B1", "B3")):
        carry(brokers, here, there)
    brokers.publish("C3", {"x": 1})
    assert carry(brokers, "B3", "B1") == []
    held = brokers.brokers["B1"].turning
    assert held.report()["held_bytes"] > 0
    assert brokers.got["C1"] == []
    brokers.run()
    assert brokers.got["C1"] == [("C3", 1)]
    brokers.check()


def test_paint_tells_black_from_gray_on_the_way_up() -> None:
    brokers = ring(4, algorithm="flooding")
    brokers.candidate("B1", "B4")
    turning = brokers.brokers["B1"].turning
    for effect in turning.start(CHANGE, ("B1", "B2", "B3", "B4"), 3, 0.0):
        brokers._do("B1", effect)
    while not brokers.brokers["B3"].turning.ring or not brokers.brokers["B3"].turning.ring.is_gray:
        brokers.step()
    brokers.publish("C3", {"x": 1})
    assert brokers.messages(Paint) == {"Paint": 1}
    brokers.run()
    brokers.check()


def test_a_probe_waits_for_what_was_not_told() -> None:
    brokers = three()
    begin(brokers)
    request = brokers.subscribe("C1", "late", "x = 9", settle=True)
    assert not any(isinstance(one, Subscribe) for *_, one in brokers.sent[-1:])
    assert brokers.settled("C1") == {}
    brokers.run_ticks()
    assert brokers.settled("C1") == {request: True}
    brokers.publish("C2", {"x": 9})
    brokers.run()
    assert brokers.got["C1"] == [("C2", 1)]


def test_a_filter_that_replaces_another_leaves_no_gap() -> None:
    brokers = three("simple")
    brokers.publish("C3", {"x": 2})
    begin(brokers)
    brokers.subscribe("C2", "s", "x >= 2")
    brokers.run()
    assert brokers.got["C2"] == [("C3", 1)]
    brokers.publish("C3", {"x": 5})
    brokers.run()
    assert brokers.got["C2"] == [("C3", 1), ("C3", 2)]
    brokers.check()


def test_gray_before_the_turn_is_impossible() -> None:
    brokers = ring(4, algorithm="flooding")
    top = brokers.brokers["B1"].turning
    brokers.candidate("B1", "B4")
    top.start(CHANGE, ("B1", "B2", "B3", "B4"), 2, 0.0)
    assert top.ring is not None
    top.ring.is_stream_gray = True
    with pytest.raises(AssertionError, match="gray from B2 before B1 has turned"):
        top.read("B2", notification("C2", {"x": 1}), 0.0)


def test_frames_over_a_candidate_are_not_taken_without_a_change() -> None:
    brokers = three("flooding")
    broker = brokers.brokers["B3"]
    data = notification("C1", {"x": 1}) + CODEC.encode(Subscribe("s", "true"))
    assert broker.handle(FramesReceived("B1", data), 0.0) == []
    assert broker.drops.counts[Drop.OUTSIDE_TREE] == 2


@pytest.mark.slow
def test_what_crosses_the_old_link_comes_before_what_crosses_the_new_one() -> None:
    for seed in range(20):
        brokers = ring(5, algorithm="covering", random=Random(seed))
        for number in range(1, 6):
            brokers.subscribe(f"C{number}", "s", "true")
        brokers.run()
        brokers.exchange("B2", ("B2", "B3"), ("B1", "B5"))
        while brokers.step():
            if len(brokers.got["C1"]) < 30:
                brokers.publish("C4", {"x": 1})
        brokers.run_ticks()
        for got in brokers.got.values():
            assert got == sorted(got)
            assert len(got) == len({*got})
        assert len({len(got) for got in brokers.got.values()}) == 1
        assert brokers.tree == {("B1", "B2"), ("B1", "B5"), ("B3", "B4"), ("B4", "B5")}
        brokers.check()


def test_a_broker_takes_part_in_one_change_at_a_time() -> None:
    brokers = Ringed(line(5))
    brokers.exchange("B1", ("B2", "B3"), ("B1", "B4"))
    brokers.exchange("B5", ("B3", "B4"), ("B2", "B5"))
    brokers.run_ticks()
    outcomes = [one.outcome for name in ("B1", "B5") for one in brokers.ended(name)]
    assert "completed" in outcomes
    assert len(outcomes) == 2
    assert len(brokers.tree) == 4
    brokers.check()


def test_publications_of_a_client_that_has_moved_come_the_new_way() -> None:
    brokers = three("covering")
    brokers.connect("M", "B3")
    brokers.subscribe("C2", "all", "true")
    brokers.handle("B3", ClientArrived("M", 2))
    brokers.run()
    brokers.publish("M", {"x": 1})
    brokers.run()
    begin(brokers)
    brokers.run()
    brokers.publish("M", {"x": 1})
    brokers.run()
    assert brokers.got["C2"] == [("M", 1), ("M", 2)]
    brokers.check()
