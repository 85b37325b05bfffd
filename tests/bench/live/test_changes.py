"""Changes are drawn so that they make sense, and counted as they ended."""

from __future__ import annotations

import asyncio
from random import Random
from types import SimpleNamespace
from typing import Any, cast

import pytest

from bench.live.living import AFTER, BEFORE
from sapwood.bench.live import changes as live_changes
from sapwood.bench.live.changes import MOVES, WEIGHTS, Changes, Wanted, draw
from sapwood.errors import BenchmarkError, ClosedError, NetworkError, RefusedError
from sapwood.protocol.messages import BrokerReport, Surveyed
from sapwood.protocol.reconfigure.asking import StepReport, TreeChangeEnded, Wish
from sapwood.protocol.reconfigure.exchange import exchange, swap
from sapwood.protocol.tree import Topology
from sapwood.sim.topology import random_tree


class Asked:
    """A bus that answers every wish, and the clients at a network that comes back at once."""

    def __init__(self, outcome: str = "completed") -> None:
        self.outcome = outcome
        self.wanted: list[tuple[Any, ...]] = []
        self.publishers = {"A": SimpleNamespace(bus=self)}
        self.told: list[str] = []
        self.problems: list[NetworkError] = []
        """With which the next surveys end."""

    async def survey(self) -> Surveyed:
        if self.problems:
            raise self.problems.pop()
        reports = [
            BrokerReport(name, 1, neighbours=BEFORE.neighbours(name)) for name in BEFORE.brokers
        ]
        return Surveyed(1, tuple(reports))

    async def change_tree(self, *wanted: Any) -> TreeChangeEnded:
        self.wanted.append(wanted)
        if self.outcome == "unknown":
            raise RefusedError("nobody knows")
        if self.outcome == "replaced":
            raise ClosedError("the bus was closed")
        if self.outcome == "none":
            await asyncio.Event().wait()
        step = StepReport("completed", messages=9, seconds=0.5)
        return TreeChangeEnded(1, cast("Any", self.outcome), "why", (step,))

    def gone(self, home: str) -> None:
        self.told.append(f"{home} gone")

    def stayed(self, home: str) -> None:
        self.told.append(f"{home} stayed")

    async def renew(self, home: str) -> None:
        self.told.append(f"{home} renewed")

    async def ended(self, broker: str) -> int:
        return 0

    async def restart(self, broker: str) -> None:
        self.told.append(f"{broker} restarted")


def changes(asked: Asked) -> Changes:
    return Changes(cast("Any", asked), cast("Any", asked), Random(1))


@pytest.mark.parametrize("wish", ["exchange", "swap"])
def test_what_is_drawn_can_be_done(wish: Wish) -> None:
    random = Random(1)
    for seed in range(20):
        tree = random_tree(8, Random(seed))
        wanted = draw(tree, wish, random)
        assert wanted is not None
        old, new = wanted.links
        exchange(tree, old, new)
        if wish == "swap":
            swap(tree, old[0], old[1], new[1])


def test_leaves_are_removed() -> None:
    random = Random(1)
    drawn = [draw(BEFORE, "remove", random) for _ in range(20)]
    assert {one.broker for one in drawn if one is not None} == {"A", "C"}


@pytest.mark.parametrize("wish", ["exchange", "swap", "remove"])
def test_nothing_is_drawn_while_nearly_everybody_is_away(wish: Wish) -> None:
    """There was a loop without an end, which stopped the links that this process carries, too."""
    assert draw(Topology(("A",), ()), wish, Random(1)) is None
    assert draw(Topology(("A", "B"), (("A", "B"),)), wish, Random(1)) is None


def test_who_has_left_comes_back_with_new_clients() -> None:
    asked = Asked()
    made = changes(asked)
    asyncio.run(made.run(3, {"remove": 1.0}))
    assert (len(made.done), made.returns) == (3, 3)
    first = made.done[0].wanted.broker
    assert asked.told[:3] == [f"{first} gone", f"{first} restarted", f"{first} renewed"]


def test_the_tree_afterwards_follows_from_what_was_asked() -> None:
    asked = Asked()
    made = changes(asked)
    asyncio.run(made.run(5, MOVES))
    change = next(one for one in made.done if set(one.wanted.links[1]) == {"A", "C"})
    assert change.before == BEFORE
    assert change.after in (AFTER, type(AFTER)(BEFORE.brokers, (("A", "C"), ("B", "C"))))
    assert change.messages == 9
    assert change.ended - change.began == pytest.approx(0.5)


@pytest.mark.parametrize("outcome", ["refused", "unknown", "replaced"])
def test_what_is_always_refused_is_a_failure(outcome: str) -> None:
    made = changes(Asked(outcome))
    with pytest.raises(BenchmarkError, match="21 times"):
        asyncio.run(made.run(1, WEIGHTS))
    assert sum(made.refusals.values()) == 21
    assert not made.done


def test_a_survey_that_is_refused_is_asked_for_again() -> None:
    asked = Asked()
    asked.problems = [RefusedError("not in time"), ClosedError("the bus was closed")]
    made = changes(asked)
    asyncio.run(made.run(1, MOVES))
    assert made.refusals == {"survey: not in time": 1, "survey: the bus was closed": 1}
    asked.problems = [RefusedError("not in time")] * 100
    with pytest.raises(BenchmarkError, match="survey, 20 times: not in time"):
        asyncio.run(made.tree())


def test_what_is_never_answered_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_changes, "_ANSWER_SECONDS", 0.01)
    with pytest.raises(BenchmarkError, match=r"exchange .*Asked.* was not answered within 0 s"):
        asyncio.run(changes(Asked("none")).run(1, {"exchange": 1.0}))


def test_who_does_not_come_back_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    class Stuck(Asked):
        async def renew(self, home: str) -> None:
            await asyncio.Event().wait()

    monkeypatch.setattr(live_changes, "_ANSWER_SECONDS", 0.01)
    with pytest.raises(BenchmarkError, match=r"new clients take the place of those of broker [AC]"):
        asyncio.run(changes(Stuck()).run(1, {"remove": 1.0}))


def test_a_wish_in_words() -> None:
    assert str(Wanted("swap", (("C", "B"), ("C", "A")))) == "swap C-B → C-A"
    assert str(Wanted("remove", broker="C")) == "remove C"
