"""What a broker knows of its surroundings."""

from __future__ import annotations

from typing import Any

import pytest

from protocol.optimize.middle import Middle, told
from sapwood.protocol.effects import CloseLink, Measure, OpenLink, Send
from sapwood.protocol.events import CostsGiven, DelayMeasured, LinkUp, Tick
from sapwood.protocol.optimize.messages import LinkCost, LinkProbe, Neighbourhood

MEASURED: dict[str, Any] = {"costs": "measured", "link_costs": (), "processing_cost": 0.0}
NEWS = Neighbourhood(1.0, 0.0, 1, 15, addresses=("sapwood://v:1",))
D = ("sapwood://d:1",)


def news(effects: list[Any]) -> list[tuple[str, Neighbourhood]]:
    return [
        (one.destination, one.message)
        for one in effects
        if isinstance(one, Send) and isinstance(one.message, Neighbourhood)
    ]


# Telling


def test_a_new_neighbour_is_told_at_once_and_others_when_it_is_news() -> None:
    middle = Middle("a", "b")
    later = Neighbourhood(1.0, 0.0, 2, 14, addresses=NEWS.addresses)
    assert news(middle.first) == [("a", NEWS), ("b", later)]
    assert news(middle.wait(299.0)) == []
    assert [name for name, _ in news(middle.wait(2.0))] == ["a", "b"]
    middle.bring(CostsGiven((), 1.05))
    assert news(middle.wait(1.0)) == []
    assert [name for name, _ in news(middle.bring(CostsGiven((), 1.5)))] == ["a", "b"]


def test_who_does_not_know_of_swaps_is_left_alone() -> None:
    middle = Middle("a", "b", link=())
    middle.hear("a", "b")
    assert middle.first == []
    assert middle.wait(400.0) == []
    assert middle.broker.surroundings.known("a", middle.now) is None


def test_nothing_is_said_where_it_is_off() -> None:
    middle = Middle("a", "b", mode="off", costs="measured")
    assert middle.first == []
    assert middle.wait(400.0) == []
    assert middle.broker.next_at is None


def test_what_was_told_long_ago_is_not_known() -> None:
    middle = Middle()
    middle.hear("a")
    surroundings = middle.broker.surroundings
    assert surroundings.known("a", 900.0) == told()
    assert surroundings.known("a", 901.0) is None
    assert surroundings.known("b", 0.0) is None


@pytest.mark.parametrize(
    "lie",
    [
        {"processing_cost": -1.0},
        {"processing_cost": float("nan")},
        {"processing_cost": 1e9},
        {"utilisation": 7.0},
        {"slot_price": float("inf")},
        {"slot_price": -1.0},
    ],
)
def test_what_cannot_be_is_not_believed(lie: dict[str, float]) -> None:
    middle = Middle()
    middle.hear("a")
    middle.hear("a", **lie)
    assert middle.broker.surroundings.known("a", 0.0) is None
    assert middle.broker.surroundings.counts["ignored"] == 1


# Asking what a link would cost


def test_the_answer_is_remembered() -> None:
    middle = Middle()
    middle.hear()
    surroundings = middle.broker.surroundings
    asked = surroundings.ask("a", "b", 0.0)
    assert asked == [Send("a", LinkProbe(1, "b", ("sapwood://x:1",)))]
    assert not surroundings.may_ask("b", "a", 0.0)
    middle.tell("b", LinkCost(1, "b", 3.0))  # b was not asked
    assert surroundings.pair_cost("a", "b", 0.0) is None
    middle.tell("a", LinkCost(1, "b", 4.0, linked=True, deviation=0.5))
    assert surroundings.pair_cost("b", "a", 0.0) == 4.0
    assert surroundings.pair_error("b", "a") == 0.5
    assert surroundings.may_ask("a", "b", 0.0)


def test_an_old_answer_is_asked_for_again_before_a_swap() -> None:
    """A fault may have spoilt it: in the joint swarm (seed 5051) it moved links, one by one."""
    middle = Middle()
    middle.hear()
    surroundings = middle.broker.surroundings
    surroundings.ask("a", "b", 0.0)
    middle.tell("a", LinkCost(1, "b", 4.0))
    assert surroundings.confirm("a", "b", 80.0) is None
    asked = surroundings.confirm("a", "b", 81.0)
    assert asked == [Send("a", LinkProbe(2, "b", ("sapwood://x:1",)))]
    assert surroundings.confirm("b", "a", 81.0) == [], "it is being asked"
    middle.tell("a", LinkCost(2, "b", error="it cannot be dialled"))
    assert surroundings.confirm("a", "b", 82.0) is None, "nobody knows better"


def test_who_can_dial_the_other_is_asked() -> None:
    middle = Middle()
    middle.hear("a")
    middle.hear("b", addresses=())
    assert middle.broker.surroundings.ask("a", "b", 0.0) == [
        Send("b", LinkProbe(1, "a", ("sapwood://x:1",)))
    ]


@pytest.mark.parametrize(
    "answer",
    [
        {"error": "no"},
        {"cost": -1.0},
        {"cost": float("nan")},
        {"cost": 1e7},
        {"deviation": -1.0},
        None,
    ],
)
def test_without_an_answer_nobody_is_asked_for_a_while(answer: dict[str, Any] | None) -> None:
    middle = Middle()
    middle.hear()
    surroundings = middle.broker.surroundings
    surroundings.ask("a", "b", 0.0)
    if answer is None:
        middle.wait(10.0)
    else:
        middle.tell("a", LinkCost(1, "b", **answer))
    assert surroundings.pair_cost("a", "b", middle.now) is None
    assert not surroundings.may_ask("a", "b", middle.now + 100.0)
    assert surroundings.may_ask("a", "b", middle.now + 161.0)


# Being asked


def test_given_costs_are_told_at_once() -> None:
    middle = Middle()
    assert middle.tell("a", LinkProbe(7, "d")) == [Send("a", LinkCost(7, "d", 3.0, 1, linked=True))]


def test_three_round_trips_over_a_link_of_its_own() -> None:
    middle = Middle(**MEASURED)
    assert middle.tell("a", LinkProbe(7, "d", D)) == [OpenLink("d", D)]
    assert middle.tell("b", LinkProbe(9, "d", D)) == []
    assert middle.bring(LinkUp("d", in_tree=False)) == [Measure("d")]
    assert middle.bring(DelayMeasured("d", 0.020)) == [Measure("d")]
    assert middle.bring(DelayMeasured("d", 0.010)) == [Measure("d")]
    effects = middle.bring(DelayMeasured("d", 0.030))
    (first, second, closed) = effects
    assert isinstance(first, Send)
    assert isinstance(first.message, LinkCost)
    assert (first.destination, first.message.request) == ("a", 7)
    assert first.message.cost == pytest.approx(10.0)
    assert isinstance(second, Send)
    assert second.destination == "b"
    assert closed == CloseLink("d", "it was dialled to be measured")
    again = middle.tell("a", LinkProbe(8, "d", D))
    assert again == [
        Send("a", LinkCost(8, "d", first.message.cost, 1, deviation=first.message.deviation))
    ]


def test_whom_nobody_can_reach_is_said() -> None:
    middle = Middle(**MEASURED)
    assert middle.tell("a", LinkProbe(7, "d")) == [
        Send("a", LinkCost(7, "d", error="it cannot be dialled"))
    ]
    middle.tell("a", LinkProbe(8, "d", D))
    effects = [one for one in middle.wait(10.0) if isinstance(one, Send | CloseLink)]
    assert Send("a", LinkCost(8, "d", error="it could not be measured in time")) in effects


def test_only_so_many_are_measured_at_a_time() -> None:
    middle = Middle(**MEASURED)
    for number in range(32):
        assert middle.tell("a", LinkProbe(number, f"d{number}", D)) != []
    assert middle.tell("a", LinkProbe(99, "d99", D)) == [
        Send("a", LinkCost(99, "d99", error="too many are measured already"))
    ]


# Costs


def test_links_in_use_are_measured() -> None:
    middle = Middle(**MEASURED)
    surroundings = middle.broker.surroundings
    assert surroundings.link_cost("a", "") is None
    middle.bring(DelayMeasured("a", 0.004))
    assert surroundings.link_cost("a", "") == pytest.approx(4.0)
    middle.bring(DelayMeasured("a", float("nan")))
    assert surroundings.link_cost("a", "") == pytest.approx(4.0)
    assert surroundings.counts["ignored"] == 1


def test_zones_cost_more() -> None:
    middle = Middle(zone="east", zones=(("east", 1.0), ("west", 3.0)))
    surroundings = middle.broker.surroundings
    assert surroundings.link_cost("a", "east") == 5.0
    assert surroundings.link_cost("a", "west") == 8.0


def test_costs_may_be_given_while_it_runs() -> None:
    middle = Middle()
    surroundings = middle.broker.surroundings
    middle.bring(CostsGiven((("a", 7.0), ("b", -1.0)), 2.5))
    assert surroundings.link_cost("a", "") == 7.0
    assert surroundings.link_cost("b", "") is None
    assert (surroundings.processing, surroundings.counts["ignored"]) == (2.5, 1)


def test_processing_is_measured_by_the_driver() -> None:
    """Two seconds of reads for a thousand notifications: two milliseconds each."""
    middle = Middle(**MEASURED)
    middle.wait(10.0)
    middle.pass_on("a", 1000, x=1)
    middle.bring(Tick(handling=2.0))
    middle.wait(20.0)
    surroundings = middle.broker.surroundings
    assert surroundings.processing == pytest.approx(2.0, rel=0.01)
    assert 0.1 <= max(surroundings.utilisation, 0.1) <= 0.3
