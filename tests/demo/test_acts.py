"""Acts, on a network that is made up: what is said is what its brokers say."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import pytest

from runtime.living import run
from sapwood.demo import acts
from sapwood.demo.acts import ActReport, Stage
from sapwood.demo.network import DemoNetwork, second_ways, tree
from sapwood.demo.script import Act
from sapwood.demo.settings import bounds_of
from sapwood.demo.watching import LINKED, BrokerView, LinkView, View
from sapwood.protocol.reconfigure.asking import StepReport, TreeChangeEnded

RIGHT = View(
    {
        "B1": BrokerView(is_up=True, root="B1", entries=4, clients=2, delay=0.25),
        "B2": BrokerView(is_up=True, root="B1", parent="B1", entries=4, clients=1),
        "B3": BrokerView(is_up=True, root="B1", parent="B1", entries=4, clients=1),
    },
    {("B1", "B2"): LinkView(LINKED), ("B1", "B3"): LinkView(LINKED)},
)


def changed(view: View, **brokers: Mapping[str, Any]) -> View:
    """A view with some brokers otherwise."""
    others = {name: view.brokers[name]._replace(**fields) for name, fields in brokers.items()}
    return view._replace(brokers={**view.brokers, **others})


class MadeUp:
    """A network whose looks are given: the one before a fault, then those after it."""

    def __init__(self, before: View, *after: View) -> None:
        self.topology = tree(3)
        self.second_ways = second_ways(3)
        self.done: list[str] = []
        self.said: list[str] = []
        self.answers: list[TreeChangeEnded] = []
        self._views = [before, *after]
        self._is_faulty = False

    @property
    def processes(self) -> MadeUp:
        return self

    async def look(self, _: object) -> View:
        if self._is_faulty and len(self._views) > 1:
            self._views.pop(0)
        return self._views[0]

    def _note(self, what: str) -> None:
        self.done.append(what)
        self._is_faulty = True

    def cut(self, link: tuple[str, str]) -> int:
        self._note(f"cut {link}")
        return 1

    def restore(self, link: tuple[str, str]) -> None:
        self._note(f"restore {link}")

    async def kill(self, broker: str) -> None:
        self._note(f"kill {broker}")

    async def spoil(self, broker: str, asked: Mapping[str, str]) -> list[str]:
        self._note(f"spoil {broker} {asked['fields']}")
        return ["an entry: is gone"]

    async def change_tree(self, wish: str, links: Sequence[tuple[str, str]]) -> TreeChangeEnded:
        self._note(f"{wish} {' '.join('-'.join(link) for link in links)}")
        return self.answers.pop(0)


@pytest.fixture
def play(monkeypatch: pytest.MonkeyPatch) -> Callable[[Act, MadeUp], ActReport]:
    """Plays an act on a network that is made up, without waiting for anything."""
    for name, seconds in (("LOOK_SECONDS", 0.0), ("CUT_SECONDS", 0.0), ("QUIET_SECONDS", 0.5)):
        monkeypatch.setattr(acts, name, seconds)
    monkeypatch.setattr(Stage, "_patience", lambda *_: 2.0)

    def played(act: Act, network: MadeUp) -> ActReport:
        monkeypatch.setattr(acts, "look", network.look)
        stage = Stage(cast(DemoNetwork, network), network.said.append)
        return run(stage.play(act))

    return played


Play = Callable[[Act, MadeUp], ActReport]


def test_a_link_that_is_cut_is_kept_and_goes_on(play: Play) -> None:
    amid = changed(RIGHT, B1={"kept": ("B2",)}, B2={"kept": ("B1",)})
    network = MadeUp(RIGHT, amid, changed(RIGHT, B1={"resumed": 1}, B2={"resumed": 1}))
    report = play(Act.CUT, network)
    assert network.done == ["cut ('B1', 'B2')", "restore ('B1', 'B2')"]
    assert report.did == (
        "B1 and B2 kept the place of the other; 2 streams went on where they were; "
        "the tree is as it was"
    )
    assert (report.bound_name, report.bound) == ("streams", bounds_of(3, 0.25).streams)
    assert report.took is not None
    assert not report.may_lose
    assert [text.partition(" ")[0] for text in network.said] == ["CUT", "OPEN", "DID", "RIGHT"]


@pytest.mark.slow
def test_a_link_that_does_not_come_back_is_said(play: Play) -> None:
    network = MadeUp(RIGHT, RIGHT._replace(links={}))
    report = play(Act.CUT, network)
    assert report.took is None
    assert network.said[-1].startswith("STILL not right; the bound is ")


def test_circles_that_are_offered_stand_by(play: Play) -> None:
    offered = changed(RIGHT, B2={"candidates": ("B3",)}, B3={"candidates": ("B2",)})
    network = MadeUp(RIGHT, RIGHT, offered)
    report = play(Act.OFFER, network)
    assert network.done == ["restore ('B2', 'B3')"]
    assert report.did == (
        "1 links stand by, none closes a circle; 0 notifications came twice; the tree is as it was"
    )
    assert report.took is not None


def test_what_comes_twice_and_who_has_another_parent_is_said(play: Play) -> None:
    offered = changed(
        RIGHT,
        B1={"candidates": ("B3",), "repeated": 7},
        B3={"candidates": ("B1",), "parent": "B2"},
    )._replace(links={("B1", "B2"): LinkView(LINKED), ("B2", "B3"): LinkView(LINKED)})
    report = play(Act.OFFER, MadeUp(RIGHT, offered))
    assert report.did == (
        "1 links stand by, none closes a circle; 7 notifications came twice; new parents: B3 B1→B2"
    )


STEP = StepReport("completed", "", "B1.1/1", ("B2", "B1", "B3"), ("B1", "B3"), ("B2", "B3"), 9, 0.5)


def test_links_are_exchanged_and_put_back(play: Play) -> None:
    turned = changed(
        RIGHT,
        B1={"candidates": ("B3",)},
        B3={"candidates": ("B1",), "parent": "B2"},
    )._replace(links={("B1", "B2"): LinkView(LINKED), ("B2", "B3"): LinkView(LINKED)})
    network = MadeUp(RIGHT, turned, RIGHT)
    network.answers = [TreeChangeEnded(1, "completed", "", (STEP,), 1, 0.5)] * 2
    report = play(Act.CHANGE, network)
    assert network.done == ["exchange B1-B3 B2-B3", "plan B1-B2 B1-B3"]
    assert report.did == (
        "2 exchanges with 18 messages; new parents: B3 B1→B2; then the tree is as it was"
    )
    assert (report.took, report.bound_name, report.may_lose) == (0.5, "lock_time", False)
    assert network.said[-1].startswith("DONE  the longest took 0.500 s; the bound is ")


def test_an_exchange_that_is_refused_is_said(play: Play) -> None:
    network = MadeUp(RIGHT, RIGHT)
    network.answers = [TreeChangeEnded(1, "refused", "B3 is busy")]
    report = play(Act.CHANGE, network)
    assert (report.did, report.took) == ("B1–B3 stays: B3 is busy", None)
    assert network.said[-1].startswith("STILL not right")


def test_corrupted_tables_are_right_when_nobody_finds_anything_more(play: Play) -> None:
    """A broker that was born again counts what it repaired from 0 on."""
    before = changed(RIGHT, B2={"repaired": 9})
    spoilt = changed(before, B2={"entries": 1, "faults": {"impossible": 1}, "repaired": 0})
    mended = changed(before, B1={"faults": {"mismatch": 1}, "repaired": 2})
    mended = changed(mended, B2={"faults": {"impossible": 1, "mismatch": 0}, "repaired": 3})
    network = MadeUp(before, spoilt, spoilt, mended)
    report = play(Act.SPOIL, network)
    assert network.done == ["spoil B2 RoutingTable._entries"]
    assert report.did == (
        "found by B1 mismatch 1; B2 impossible 1; 5 entries put right; the tree is as it was"
    )
    assert report.took is not None
    assert report.may_lose
    assert report.began_at <= report.ended_at
    assert report.what == "the routing table of B2 is corrupted in 1 places"


def test_tables_that_only_look_right_are_waited_for(play: Play) -> None:
    """An entry with the wrong filter is one entry, too: it is found when tables are compared."""
    mended = changed(RIGHT, B1={"faults": {"mismatch": 1}, "repaired": 1})
    report = play(Act.SPOIL, MadeUp(RIGHT, RIGHT, RIGHT, mended))
    assert report.did == "found by B1 mismatch 1; 1 entries put right; the tree is as it was"


@pytest.mark.slow
def test_tables_that_stay_wrong_are_said(play: Play) -> None:
    report = play(Act.SPOIL, MadeUp(RIGHT, changed(RIGHT, B2={"entries": 1})))
    assert (report.took, report.did) == (None, "nobody found anything")


def test_others_take_the_place_of_a_root_that_is_killed(play: Play) -> None:
    gone = {"is_up": False, "root": "", "clients": 0}
    amid = changed(RIGHT, B1=gone)
    amid = amid._replace(links={link: LinkView("down") for link in RIGHT.links})
    after = changed(
        amid, B2={"root": "B2", "parent": "", "clients": 3}, B3={"root": "B2", "parent": "B2"}
    )._replace(links={("B2", "B3"): LinkView(LINKED)})
    waiting = changed(after, B2={"clients": 1})
    network = MadeUp(RIGHT, amid, waiting, after)
    report = play(Act.KILL, network)
    assert network.done == ["kill B1"]
    assert report.did == (
        "B2 is the root; new parents: B2 B1→nobody, B3 B1→B2; clients came to B2 2"
    )
    assert (report.bound_name, report.may_lose) == ("tree", True)
    assert report.took is not None


def test_what_takes_longer_than_the_bound_is_late() -> None:
    report = ActReport(
        act=Act.CUT,
        what="",
        did="",
        took=9.0,
        bound=7.0,
        bound_name="streams",
        began_at=0.0,
        ended_at=9.0,
    )
    assert report.verdict == "LATE  right again only after 9.0 s; the bound is 7.0 s (streams)"
