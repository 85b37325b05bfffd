"""Every rule of a change broken once: the exploration of small rings finds each."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from protocol.reconfigure import exploring, suites
from protocol.reconfigure.exploring import Explorer, Setup
from sapwood.protocol.core import Core
from sapwood.protocol.effects import Effect, Forward, Send
from sapwood.protocol.reconfigure import directions, faults, holding
from sapwood.protocol.reconfigure import tables as tables_module
from sapwood.protocol.reconfigure import turning as module
from sapwood.protocol.reconfigure.colouring import coloured, is_gray
from sapwood.protocol.reconfigure.messages import Done, EdgeTables, Flush
from sapwood.protocol.reconfigure.state import Ring
from sapwood.protocol.reconfigure.tables import install
from sapwood.protocol.reconfigure.turning import Turning
from sapwood.routing.algorithms import FLOODING

pytestmark = pytest.mark.slow

STATES_MAX = 20_000


def no_freeze(patch: pytest.MonkeyPatch) -> None:
    """Neighbours on the ring are told differences as ever."""
    lock = Turning._lock

    def changed(self: Turning, ring: Ring, now: float, *rest: Any) -> list[Effect]:
        effects = lock(self, ring, now, *rest)
        for name in ring.sides:
            self.core.neighbours[name].is_frozen = False
        return effects

    patch.setattr(Turning, "_lock", changed)


def removed_at_once(patch: pytest.MonkeyPatch) -> None:
    """What only the old tree needs goes with the gray table."""

    def changed(core: Core, ring: Ring, neighbour: str, tables: EdgeTables) -> list[Effect]:
        effects = install(core, ring, neighbour, tables)
        draft = ring.draft(neighbour).subscriptions
        for entry_id in draft.pending:
            core.remove(core.subscriptions, neighbour, entry_id)
        draft.pending.clear()
        return [*effects, *core.tell_all()]

    patch.setattr(module, "install", changed)


def old_told_kept(patch: pytest.MonkeyPatch) -> None:
    """What was told for the new tree does not count as told."""
    patch.setattr(module, "retell", lambda core, ring: None)


def no_hold(patch: pytest.MonkeyPatch) -> None:
    """What comes over the new link is passed on at once."""

    def changed(self: Turning, ring: Ring, source: str, data: bytes, *rest: Any) -> list[Effect]:
        inside = self.core.neighbours[source]
        inside.in_tree = True
        effects = self._hub.read_plainly(source, data, 0.0)
        inside.in_tree = False
        return effects

    patch.setattr(Turning, "_hold", changed)


def no_paint(patch: pytest.MonkeyPatch) -> None:
    """What comes from below has the colour of whoever gets it."""

    def changed(ring: Ring, source: str) -> bool:
        if source == ring.down and not ring.is_bottom:
            return ring.is_gray
        return is_gray(ring, source)

    patch.setattr(holding, "is_gray", changed)


def _lets_through(patch: pytest.MonkeyPatch, *, gray: bool) -> None:
    def changed(ring: Ring, colour: bool, effects: list[Effect]) -> list[Effect]:
        result = coloured(ring, colour, effects)
        if colour is not gray:
            return result
        kept = {one.data: one for one in result if isinstance(one, Forward)}
        return [
            *(one for one in result if isinstance(one, Send)),
            *(one for one in effects if isinstance(one, Forward) and one.data not in kept),
            *(one for one in effects if isinstance(one, Forward) and one.data in kept),
        ]

    patch.setattr(holding, "coloured", changed)


def black_over_new(patch: pytest.MonkeyPatch) -> None:
    """What belongs to the old tree goes over the new link."""
    _lets_through(patch, gray=False)


def gray_over_old(patch: pytest.MonkeyPatch) -> None:
    """What belongs to the new tree goes over the old link."""
    _lets_through(patch, gray=True)


def gray_at_lock(patch: pytest.MonkeyPatch) -> None:
    """A broker turns when it is locked."""
    lock = Turning._lock

    def changed(self: Turning, ring: Ring, now: float, *rest: Any) -> list[Effect]:
        effects = lock(self, ring, now, *rest)
        if self.ring is not None:
            self.ring.is_gray = True
            self.ring.is_stream_gray = True
        return effects

    patch.setattr(Turning, "_lock", changed)
    patch.setattr(Turning, "joining", "")


def commit_on_turn_alone(patch: pytest.MonkeyPatch) -> None:
    """The decider does not wait for the other end of the old link."""
    turn = Turning._turn

    def changed(self: Turning, ring: Ring, now: float) -> list[Effect]:
        if ring.is_decider:
            ring.is_flushed = True
        return turn(self, ring, now)

    patch.setattr(Turning, "_turn", changed)


def flush_from_black(patch: pytest.MonkeyPatch) -> None:
    """The decider passes a flush on before it has turned."""
    flushed = Turning._flushed

    def changed(self: Turning, source: str, message: Flush, now: float) -> list[Effect]:
        ring = self.ring
        is_early = ring is not None and ring.is_decider and not ring.is_gray and not ring.is_top
        effects = flushed(self, source, message, now)
        return [*effects, Send(ring.up, message)] if ring is not None and is_early else effects

    patch.setattr(Turning, "_flushed", changed)


def flush_before_commit(patch: pytest.MonkeyPatch) -> None:
    """The decider says that nothing black follows as soon as it has turned."""
    turn = Turning._turn

    def changed(self: Turning, ring: Ring, now: float) -> list[Effect]:
        effects = turn(self, ring, now)
        is_early = ring.is_decider and self.ring is ring
        return [*effects, Send(ring.down, Flush(ring.change))] if is_early else effects

    patch.setattr(Turning, "_turn", changed)


def undo_keeps_additions(patch: pytest.MonkeyPatch) -> None:
    """What came with a change stays when it is undone."""
    patch.setattr(faults, "restore", lambda core, ring: core.forget(ring.new or "nobody"))


def nobody_asks(patch: pytest.MonkeyPatch) -> None:
    """Who is locked for too long leaves the change alone, whatever the others did."""
    patch.setattr(Turning, "ask", lambda self, now: self.undo("too long", now))


def anybody_undoes(patch: pytest.MonkeyPatch) -> None:
    """Who is locked for too long undoes the change, and not only the decider."""

    def due(self: Turning) -> float | None:
        return None if self.ring is None else self.ring.since + self.seconds

    def changed(self: Turning, now: float) -> list[Effect]:
        at = due(self)
        return self.undo("too long", now) if at is not None and now >= at else []

    patch.setattr(Turning, "next_at", property(due))
    patch.setattr(Turning, "tick", changed)


def nobody_looks(patch: pytest.MonkeyPatch) -> None:
    """Only the decider ends a change that takes too long: nobody asks, nobody leaves it alone."""

    def due(self: Turning) -> float | None:
        ring = self.ring
        return None if ring is None or not ring.is_decider else ring.since + self.seconds

    patch.setattr(Turning, "next_at", property(due))


def not_deaf(patch: pytest.MonkeyPatch) -> None:
    """What was stuck behind a broken link is passed on when it comes after all."""
    done = Turning._done

    def changed(self: Turning, source: str, message: Done, now: float) -> list[Effect]:
        effects = done(self, source, message, now)
        self.deaf.clear()
        self._hub.choose_reader()
        return effects

    patch.setattr(Turning, "_done", changed)


def nothing_floods_above(patch: pytest.MonkeyPatch) -> None:
    """Whoever will get everything gets it when the change is complete."""
    patch.setattr(directions, "begin", lambda core, ring: None)
    patch.setattr(Turning, "gets_everything", lambda self, neighbour: False)


def routed_as_before(patch: pytest.MonkeyPatch) -> None:
    """Tables for the new tree are made as the edges are routed in the old one."""

    def changed(core: Core, ring: Ring, neighbour: str) -> str:
        one = core.neighbours[neighbour]
        return one.sends if one.in_tree else FLOODING

    patch.setattr(tables_module, "sends_after", changed)


def edges_stay(patch: pytest.MonkeyPatch) -> None:
    """Nothing is said of edges whose roles are exchanged, and nobody acts as if it had been."""
    patch.setattr(directions, "settle", lambda core, ring: None)


HIERARCHICAL = [nothing_floods_above, routed_as_before, edges_stay]

FAULT_FREE = [
    removed_at_once,
    old_told_kept,
    no_hold,
    no_paint,
    black_over_new,
    gray_over_old,
    gray_at_lock,
    commit_on_turn_alone,
    flush_from_black,
    flush_before_commit,
]


def setups(**options: Any) -> list[Setup]:
    """Small rings, with what shows most."""
    found: list[Setup] = []
    for n, k in ((3, 2), (3, 1), (4, 2), (4, 3), (5, 3)):
        found += [one for _, one in list(suites.order(n, k, **options))[3::7]][:4]
        found += [one for _, one in list(suites.sparse(n, k, **options))[4::9]][:8]
        found += [one for _, one in list(suites.covering(n, k, count=6, **options))]
    return found


def problems(candidates: list[Setup]) -> list[str]:
    """What is found first."""
    for setup in candidates:
        found = Explorer(setup).explore(STATES_MAX)
        if found.problems:
            return found.problems
    return []


@pytest.mark.parametrize("rule", FAULT_FREE, ids=lambda rule: rule.__name__)
def test_a_rule_that_is_broken_is_found(
    rule: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Turning, "problems", lambda self: iter(()))  # what happens must show it
    rule(monkeypatch)
    assert problems(setups())


@pytest.mark.parametrize("rule", HIERARCHICAL, ids=lambda rule: rule.__name__)
def test_a_rule_of_hierarchical_routing_that_is_broken_is_found(
    rule: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exploring, "broker_problems", lambda broker: [])  # what happens shows it
    rule(monkeypatch)
    assert problems([one for root in (2, 0) for one in setups(root=root)])


def test_differences_that_are_told_meanwhile_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Turning, "_freeze_problems", lambda self: iter(()))
    no_freeze(monkeypatch)
    assert problems(setups())


def test_an_undo_that_keeps_additions_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Turning, "problems", lambda self: iter(()))
    undo_keeps_additions(monkeypatch)
    assert problems(setups(has_deadline=True))


@pytest.mark.slow
@pytest.mark.parametrize(
    "rule",
    [nobody_asks, anybody_undoes, not_deaf],
    ids=lambda rule: rule.__name__,
)
def test_a_rule_for_faults_that_is_broken_is_found(
    rule: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    rule(monkeypatch)
    candidates = [
        setup
        for n, k in ((3, 2), (3, 1), (4, 2))
        for away in [*pairwise(range(n)), (0, n - 1)]
        for _, setup in list(suites.order(n, k, away=away))[1::11]
    ]
    assert problems(candidates)


def test_a_lock_that_nobody_looks_at_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    nobody_looks(monkeypatch)
    candidates = [
        setup for dead in range(3) for _, setup in list(suites.sparse(3, 2, crash=dead))[10::40]
    ]
    assert any("is still locked" in problem for problem in problems(candidates))
