"""The corrected tree with three colours, on whole lists of effects."""

from __future__ import annotations

import pytest

from protocol.stabilize.published.trees import corrected, tell
from sapwood.protocol.stabilize.published.colour_messages import (
    Acknowledge,
    AskForPlace,
    Change,
    ChangeRequested,
    ClientPublished,
    ColoredNotification,
    NoPlace,
    Place,
    Recolor,
    Reign,
    Removed,
    RequestChange,
    Send,
    Tick,
    TryThere,
)

GROUP = ("R", "S", "T")


def test_recolour_messages_carry_the_path() -> None:
    root = corrected("R", "", ("A",))
    assert root.handle(Tick(), 0.0) == [Send("A", Recolor(2, (), ("R",)))]
    broker = corrected("A", "R", ("B",))
    assert tell(broker, "R", Recolor(2, (), ("R",))) == [
        Send("R", Acknowledge()),
        Send("B", Recolor(2, (), ("R", "A"))),
    ]
    assert broker.state.path == ("R", "A")


@pytest.mark.parametrize(
    "path", [(), ("R", "A", "C"), ("C",), ("R",), ("R", "A", "X"), ("R", *"DEFG", "C")]
)
def test_a_path_that_is_none_or_a_cycle_is_not_taken(path: tuple[str, ...]) -> None:
    broker = corrected("A", "C", ("B",))
    assert tell(broker, "C", Recolor(2, (), path)) == []
    assert broker.state.current == 0


def test_who_asks_gets_a_place_in_all_colours_and_the_flag() -> None:
    broker = corrected("A", "R", ("B",))
    assert tell(broker, "X", AskForPlace()) == [Send("X", Place(2, 0, 1, ("R", "A")))]
    assert broker.state.children == [{"B", "X"}] * 3
    assert broker.state.flags == {"B", "X"}


def test_the_last_place_is_given_once_but_to_its_owner_again() -> None:
    broker = corrected("A", "R", ("B",), degree_max=2)
    tell(broker, "X", AskForPlace())
    [answer] = tell(broker, "Y", AskForPlace())
    assert answer in [Send("Y", TryThere("B")), Send("Y", TryThere("X"))]
    assert tell(broker, "X", AskForPlace()) == [Send("X", Place(2, 0, 1, ("R", "A")))]


def test_nobody_gets_a_place_below_itself_or_below_one_without_a_place() -> None:
    broker = corrected("B", "A")
    assert tell(broker, "A", AskForPlace()) == [Send("A", NoPlace())]
    assert tell(broker, "B", AskForPlace()) == [Send("B", NoPlace())]
    broker.state.path = ()
    assert tell(broker, "X", AskForPlace()) == [Send("X", NoPlace())]
    searching = corrected("B", "A")
    searching.handle(Tick(), searching.config.timeout)
    assert tell(searching, "X", AskForPlace()) == [Send("X", NoPlace())]


def test_a_place_is_taken_in_all_colours() -> None:
    broker = corrected("B", "A", ("C", "D"))
    now = broker.config.timeout
    assert broker.handle(Tick(), now) == [Send("R", AskForPlace())]
    assert tell(broker, "R", TryThere("C"), now) == [Send("C", AskForPlace())]
    assert tell(broker, "C", Place(0, 1, 2, ("R", "C")), now) == []
    state = broker.state
    assert (state.old, state.current, state.new) == (0, 1, 2)
    assert (state.parent, state.path, state.asked) == (["C"] * 3, ("R", "C", "B"), "")
    assert state.children == [{"D"}] * 3, "an ancestor is no child"
    assert broker.next_at == now + broker.config.timeout


@pytest.mark.parametrize(
    ("source", "path"), [("X", ("R", "X")), ("R", ("R", "B", "R")), ("R", ("X", "R"))]
)
def test_a_place_that_was_not_asked_for_or_leads_nowhere_is_not_taken(
    source: str, path: tuple[str, ...]
) -> None:
    broker = corrected("B", "A")
    broker.handle(Tick(), broker.config.timeout)
    assert tell(broker, source, Place(0, 1, 2, path)) == []
    assert broker.state.parent == ["A"] * 3


def test_a_question_without_answer_is_asked_again_of_the_next_of_the_group() -> None:
    broker = corrected("B", "A", root_group=GROUP)
    now = broker.config.timeout
    asked = []
    for _ in range(4):
        asked += broker.handle(Tick(), now)
        now = broker.next_at
    assert asked == [Send(name, AskForPlace()) for name in ("R", "S", "T", "R")]
    assert tell(broker, "R", NoPlace(), now) == []
    assert broker.next_at == now + broker.config.pause
    assert tell(broker, "X", NoPlace(), now + 1) == []


def test_to_be_pointed_at_oneself_is_no_place() -> None:
    broker = corrected("B", "A")
    now = broker.config.timeout
    broker.handle(Tick(), now)
    assert tell(broker, "R", TryThere("B"), now) == []
    assert broker.next_at == now + broker.config.pause


def test_a_child_that_is_removed_is_told_and_asks_at_once() -> None:
    root = corrected("R", "", ("A", "B"))
    root.state.flags = {"A"}
    assert root.handle(Tick(), 0.0) == [Send("A", Recolor(2, (), ("R",))), Send("B", Removed())]
    broker = corrected("B", "A")
    assert tell(broker, "X", Removed()) == []
    assert tell(broker, "A", Removed()) == [Send("R", AskForPlace())]
    assert tell(broker, "A", Removed()) == []


def test_a_broker_that_is_moved_keeps_its_flag() -> None:
    root = corrected("R", "", ("B",))
    root.handle(ChangeRequested(Change("C", "B", "R")), 0.0)
    root.handle(Tick(), 0.0)
    tell(root, "B", Acknowledge())
    sent = {effect.destination for effect in root.handle(Tick(), 30.0) if isinstance(effect, Send)}
    assert sent == {"B", "C"}
    assert root.state.children[root.state.current] == {"B", "C"}


def test_the_root_clears_what_a_root_cannot_have() -> None:
    root = corrected("R", "X", ("A",))
    root.state.asked, root.state.flags = "Y", {"A", "ghost"}
    root.handle(Tick(), 30.0)
    assert (root.state.parent, root.state.asked) == ([""] * 3, "")
    assert root.state.flags == set()


def test_a_notification_is_taken_only_from_a_neighbour_in_its_colour() -> None:
    broker = corrected("B", "A", ("C",))
    broker.state.parent[0] = "Z"
    note = ColoredNotification(0, "P", 1, {})
    assert tell(broker, "A", note) == []
    assert tell(broker, "C", note) == [Send("Z", ColoredNotification(0, "P", 1, {}, 1))]
    assert broker.handle(ClientPublished("c", 1, {}), 1.0) != []


# --- the root group -----------------------------------------------------------------------------


def test_who_acts_as_root_tells_the_group() -> None:
    root = corrected("R", "", ("A",), root_group=GROUP)
    assert root.handle(Tick(), 0.0) == [
        Send("S", Reign()),
        Send("T", Reign()),
        Send("A", Recolor(2, (), ("R",))),
    ]


def test_the_next_takes_over_when_it_has_heard_nobody_better() -> None:
    second = corrected("S", "R", ("A",), root_group=GROUP)
    third = corrected("T", "R", root_group=GROUP)
    tell(second, "R", Reign(), 10.0)
    tell(second, "T", Reign(), 20.0)
    tell(second, "A", Reign(), 20.0)
    at = 10.0 + 30.0 + 0.6 + second.config.slack
    assert second.next_at == pytest.approx(min(at, second.config.timeout))
    second.handle(Tick(), at - 0.1)
    assert not second.is_root
    assert second.handle(Tick(), at) == [
        Send("R", Reign()),
        Send("T", Reign()),
        Send("A", Recolor(2, (), ("S",))),
    ]
    assert (second.is_root, second.root, second.state.parent) == (True, "S", [""] * 3)
    tell(third, "R", Reign(), 10.0)
    third.handle(Tick(), at)
    assert not third.is_root, "the third waits twice as long"


def test_a_better_one_is_left_to_it() -> None:
    second = corrected("S", "", root_group=GROUP)
    second.state.reigns = True
    assert tell(second, "T", Reign()) == []
    assert second.is_root
    assert tell(second, "R", Reign()) == [Send("R", AskForPlace())]
    assert not second.is_root


def test_the_first_never_ends() -> None:
    root = corrected("R", "", root_group=GROUP)
    assert tell(root, "S", Reign()) == []
    root.state.reigns = False
    assert root.is_root


def test_a_time_in_the_future_is_taken_for_now() -> None:
    second = corrected("S", "R", root_group=GROUP)
    second.state.heard_at = 1e9
    second.handle(Tick(), 5.0)
    assert second.state.heard_at == 5.0
    assert not second.is_root


def test_changes_are_asked_of_the_root_one_is_below() -> None:
    broker = corrected("B", "A", root_group=GROUP)
    broker.state.path = ("S", "A", "B")
    change = Change("B", "A", "S")
    assert broker.handle(ChangeRequested(change), 1.0) == [Send("S", RequestChange(change))]
