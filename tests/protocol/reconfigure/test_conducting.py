"""What a client asks of the tree, carried out by the broker it is connected to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from protocol.reconfigure.rings import Ringed, ring
from protocol.wiring import line
from sapwood.protocol.effects import Effect, End, OpenLink
from sapwood.protocol.events import (
    ControlReceived,
    Event,
    LeaveRefused,
    LinkDown,
    NeighbourAway,
    Tick,
)
from sapwood.protocol.reconfigure.asking import (
    ChangeTree,
    TreeChangeEnded,
    TreeChangeProgress,
    Wish,
)
from sapwood.protocol.reconfigure.conducting import JOBS_MAX, LEAVE_SECONDS, Job
from sapwood.protocol.reconfigure.messages import LeaveTree

Links = Sequence[tuple[str, str]]


class Asking(Ringed):
    """Brokers of whom a client asks for changes; one that is to end is gone at once."""

    ends = True
    unreachable = ""
    """Nobody can link to this broker."""

    def _do(self, name: str, effect: Effect) -> None:
        if isinstance(effect, OpenLink) and self.unreachable in (name, effect.broker):
            return
        super()._do(name, effect)

    def handle(self, name: str, event: Event) -> list[Effect]:
        effects = super().handle(name, event)
        if self.ends and any(isinstance(effect, End) for effect in effects):
            self.vanish(name)
        return effects

    def vanish(self, name: str) -> None:
        """A broker is gone for good."""
        for other in self.around(name):
            del self.queues[name, other], self.queues[other, name]
            if other in self.brokers:
                self.handle(other, LinkDown(name))
        del self.brokers[name]

    def want(self, wish: Wish, links: Links = (), broker: str = "", *, client: str = "C1") -> None:
        self._requests += 1
        self.ask(client, ChangeTree(self._requests, wish, tuple(links), broker))

    def outcome(self, client: str = "C1") -> TreeChangeEnded:
        """The one answer that a client got."""
        self.settle()
        (answer,) = [one for one in self.answers[client] if isinstance(one, TreeChangeEnded)]
        return answer

    def settle(self) -> None:
        """Let everything come to rest, and time pass as long as somebody waits."""
        self.run()
        for _ in range(2_000):
            if self.next_tick() is None or not self.is_busy:
                return
            self.tick()
            self.run()
        raise AssertionError("no rest")

    def run_until(self, condition: Callable[[], object]) -> None:
        """Carry one thing after the other over, and let time pass where nothing is under way."""
        for _ in range(5_000):
            if condition():
                return
            if not self.step():
                self.tick()
        raise AssertionError("it never comes")

    @property
    def is_busy(self) -> bool:
        return any(
            one.conducting.jobs or one.changing.asked or one.changing.orders
            for one in self.brokers.values()
        )

    @property
    def links(self) -> set[tuple[str, str]]:
        return self.tree


def asking(n: int, **options: Any) -> Asking:
    brokers = Asking(line(n), **options)
    for number in range(1, n + 1):
        brokers.connect(f"C{number}", f"B{number}")
    return brokers


STAR = [("B1", "B2"), ("B1", "B3"), ("B1", "B4"), ("B1", "B5")]


def test_an_exchange_is_one_step() -> None:
    brokers = asking(5)
    brokers.want("exchange", [("B2", "B3"), ("B1", "B5")], client="C4")
    answer = brokers.outcome("C4")
    assert (answer.outcome, answer.reason, answer.total) == ("completed", "", 1)
    (step,) = answer.steps
    assert (step.old, step.new, step.messages) == (("B3", "B2"), ("B1", "B5"), 3 * 5 + 3 - 2)
    assert step.change.startswith("B5.")
    assert brokers.links == {("B1", "B2"), ("B3", "B4"), ("B4", "B5"), ("B1", "B5")}
    brokers.check()


def test_a_swap_moves_a_broker_to_a_neighbour_of_its_neighbour() -> None:
    brokers = asking(4)
    brokers.want("swap", [("B3", "B2"), ("B3", "B1")])
    assert brokers.outcome().outcome == "completed"
    assert brokers.links == {("B1", "B2"), ("B1", "B3"), ("B3", "B4")}


def test_a_plan_is_carried_out_step_by_step_and_says_how_far_it_is() -> None:
    brokers = asking(5)
    brokers.want("plan", STAR, client="C3")
    answer = brokers.outcome("C3")
    assert (answer.outcome, answer.total, len(answer.steps)) == ("completed", 3, 3)
    assert brokers.links == set(STAR)
    progress = [one for one in brokers.answers["C3"] if isinstance(one, TreeChangeProgress)]
    assert [(one.number, one.total) for one in progress] == [(1, 3), (2, 3), (3, 3)]
    assert [one.step for one in progress] == list(answer.steps)
    assert all(not one.conducting.jobs for one in brokers.brokers.values())
    brokers.check()


def test_the_same_plan_again_has_nothing_to_do() -> None:
    brokers = asking(3)
    brokers.want("plan", line(3))
    answer = brokers.outcome()
    assert (answer.outcome, answer.total, answer.steps) == ("completed", 0, ())


@pytest.mark.parametrize(
    ("wish", "links", "broker", "problem"),
    [
        ("exchange", [("B1", "B3"), ("B1", "B4")], "", "there is no link B1-B3 to replace"),
        ("exchange", [("B1", "B2"), ("B2", "B4")], "", "B2-B4 does not join the two parts again"),
        ("exchange", [("B1", "B2")], "", "exchange of 1 links; there must be two"),
        ("exchange", [("B1", "B2"), ("B1", "B9")], "", "there is no broker 'B9'"),
        ("swap", [("B1", "B2"), ("B3", "B4")], "", "share no end: that is no swap"),
        ("swap", [("B1", "B2"), ("B1", "B4")], "", "there is no link B2-B4"),
        ("plan", [("B1", "B2"), ("B3", "B4")], "", "the target is no tree"),
        ("plan", [("B1", "B2"), ("B2", "B3"), ("B3", "B1")], "", "closes a cycle"),
        ("exchange", [("B1", "B2"), ("B2", "B1")], "", "B1-B2 would be replaced by itself"),
        ("exchange", [("B1", "B2"), ("B3", "B3")], "", "would link B3 to itself"),
        ("plan", [("B1", "B2"), ("B2", "B1"), ("B2", "B3")], "", "B1"),
        ("plan", [("B1", "B2"), ("B2", "B3"), ("B3", "B9")], "", "B9"),
        ("plan", [("B1", "B2"), ("B2", "B3")], "", "B4"),
        ("remove", (), "B7", "there is no broker 'B7'"),
    ],
)
def test_what_cannot_be_done_is_refused_and_nothing_is_locked(
    wish: Wish, links: Links, broker: str, problem: str
) -> None:
    brokers = asking(4)
    brokers.want(wish, links, broker)
    answer = brokers.outcome()
    assert (answer.outcome, answer.steps) == ("refused", ())
    assert problem in answer.reason
    assert brokers.messages() == {}
    assert brokers.links == set(line(4))


def test_a_broker_that_is_away_stops_only_changes_that_need_it() -> None:
    brokers = asking(5)
    brokers.handle("B4", NeighbourAway("B5"))
    brokers.want("plan", STAR)
    answer = brokers.outcome()
    assert answer.outcome == "refused"
    assert "needs B5, who cannot be reached" in answer.reason
    brokers.want("remove", broker="B5", client="C2")
    assert brokers.outcome("C2").reason == "B5 cannot be reached, so it can hand nobody over"
    brokers.want("plan", [("B1", "B2"), ("B1", "B3"), ("B1", "B4"), ("B4", "B5")], client="C3")
    assert brokers.outcome("C3").outcome == "completed"
    brokers.want("exchange", [("B1", "B3"), ("B2", "B3")], client="C4")
    assert brokers.outcome("C4").outcome == "completed"


def test_a_second_plan_is_refused_while_one_runs_here_or_elsewhere() -> None:
    brokers = asking(6)
    star = [("B1", f"B{number}") for number in range(2, 7)]
    brokers.want("plan", star, client="C2")
    brokers.run_until(lambda: brokers.brokers["B2"].conducting.jobs[1].open)
    brokers.connect("D2", "B2")
    brokers.want("plan", line(6), client="D2")
    refusal = "B2 carries out a plan for C2; wait until it is done"
    assert brokers.outcome("D2").reason == refusal
    brokers = asking(6)
    brokers.want("plan", star, client="C2")
    brokers.want("plan", line(6), client="C5")
    assert brokers.outcome("C2").reason == "B5 carries out a plan for C5; wait until it is done"
    # Both had said so before they looked: neither goes on, and nothing is half done.
    assert brokers.outcome("C5").reason == refusal
    assert brokers.links == set(line(6))


def test_exchanges_that_do_not_meet_run_beside_each_other() -> None:
    brokers = asking(6)
    brokers.want("exchange", [("B1", "B2"), ("B1", "B3")], client="C1")
    brokers.want("exchange", [("B5", "B6"), ("B4", "B6")], client="C6")
    assert [brokers.outcome(client).outcome for client in ("C1", "C6")] == ["completed"] * 2
    assert {("B1", "B3"), ("B4", "B6")} <= brokers.links


def test_a_plan_that_fails_in_the_middle_says_where_it_stands_and_goes_on_when_asked() -> None:
    brokers = asking(5)
    brokers.unreachable = "B5"
    brokers.want("plan", STAR, client="C3")
    answer = brokers.outcome("C3")
    assert (answer.outcome, answer.total) == ("stopped", 3)
    assert [one.outcome for one in answer.steps][-1] == "refused"
    assert "B5" in answer.reason
    assert "no link to" in answer.reason
    assert len(brokers.links) == 4
    assert brokers.links != set(line(5))
    brokers.check()
    brokers.unreachable = ""
    brokers.answers["C3"].clear()
    brokers.want("plan", STAR, client="C3")
    assert brokers.outcome("C3").outcome == "completed"
    assert brokers.links == set(STAR)


def test_no_step_begins_when_the_client_is_gone() -> None:
    brokers = asking(6)
    brokers.want("plan", [("B1", f"B{number}") for number in range(2, 7)], client="C3")
    brokers.run_until(lambda: brokers.brokers["B3"].conducting.jobs[1].open)
    brokers.disconnect("C3")
    brokers.settle()
    assert not brokers.brokers["B3"].conducting.jobs
    assert len(brokers.links) == 5
    assert sum("B1" in link for link in brokers.links) == 2  # one step was under way
    brokers.check()


def test_a_client_that_goes_before_the_survey_is_back_leaves_nothing_behind() -> None:
    brokers = asking(3)
    brokers.want("plan", [("B1", "B2"), ("B1", "B3")], client="C3")
    brokers.disconnect("C3")
    brokers.settle()
    assert not brokers.brokers["B3"].conducting.jobs
    assert brokers.links == set(line(3))


def test_so_many_wishes_and_no_more() -> None:
    brokers = asking(3)
    for number in range(JOBS_MAX + 1):
        brokers.connect(f"D{number}", "B1")
        brokers.want("exchange", [("B1", "B2"), ("B1", "B3")], client=f"D{number}")
    late = brokers.outcome(f"D{JOBS_MAX}")
    assert (late.outcome, late.reason) == ("refused", f"B1 carries out {JOBS_MAX} changes already")
    assert brokers.outcome("D0").outcome == "completed"


# Leaving


def test_a_leaf_is_told_to_leave_and_is_gone() -> None:
    brokers = asking(3)
    brokers.want("remove", broker="B3")
    answer = brokers.outcome()
    assert (answer.outcome, answer.total) == ("completed", 1)
    (step,) = answer.steps
    assert (step.old, step.new) == (("B3", "B2"), ())
    assert ("B3", End(-2, ("B1", "B2", "B3"))) in brokers.rows
    assert sorted(brokers.brokers) == ["B1", "B2"]


def test_a_broker_in_the_middle_is_moved_to_the_edge_first() -> None:
    brokers = asking(4)
    brokers.want("remove", broker="B3", client="C4")
    answer = brokers.outcome("C4")
    assert (answer.outcome, answer.total) == ("completed", 2)
    first, last = answer.steps
    assert (set(first.new), last.old[0]) == ({"B2", "B4"}, "B3")
    assert brokers.links == {("B1", "B2"), ("B2", "B4")}


def test_a_broker_that_does_not_go_is_waited_for_and_then_reported() -> None:
    brokers = asking(3)
    brokers.ends = False
    brokers.want("remove", broker="B3")
    answer = brokers.outcome()
    assert (answer.outcome, answer.steps[0].outcome) == ("undone", "undone")
    assert (
        answer.reason == f"B3 leaves, B2 takes over: B3 is still there after {LEAVE_SECONDS:.0f} s"
    )
    assert not brokers.brokers["B1"].conducting.departures


def test_a_broker_that_cannot_leave_says_why() -> None:
    brokers = asking(3)
    brokers.ends = False
    brokers.want("remove", broker="B3")
    brokers.run_until(lambda: any(isinstance(effect, End) for _, effect in brokers.rows))
    (end,) = [effect for _, effect in brokers.rows if isinstance(effect, End)]
    brokers.handle("B3", LeaveRefused(end.request, end.route, "B3 hands nobody over"))
    answer = brokers.outcome()
    assert (answer.outcome, answer.reason) == (
        "refused",
        "B3 leaves, B2 takes over: B3 hands nobody over",
    )
    assert not brokers.brokers["B1"].conducting.departures


def test_what_does_not_get_on_is_given_up() -> None:
    """A fault may leave a job behind of which nothing is under way: it stops no plan for ever."""
    brokers = asking(3)
    brokers.ends = False
    brokers.want("remove", broker="B3")
    conducting = brokers.brokers["B1"].conducting
    brokers.run_until(lambda: conducting.departures)
    conducting.jobs[1].open = {99: conducting.jobs[1].open[2]}
    answer = brokers.outcome()
    assert answer.reason == "nothing has ended for 180 s; see how the tree is now"
    assert (conducting.jobs, conducting.departures, conducting.plan) == ({}, {}, "")
    conducting.jobs[7] = Job(ChangeTree(5, "plan"), "C1", 0.0, until=float("nan"))
    brokers.handle("B1", Tick())
    assert conducting.jobs == {}


def test_what_is_spoilt_on_the_way_is_dropped() -> None:
    brokers = ring(3)
    brokers.handle("B2", ControlReceived("B1", LeaveTree(-1, ("B1", "B7"))))
    assert not any(isinstance(effect, End) for _, effect in brokers.rows)
