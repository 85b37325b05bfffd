"""The swarm sees what is wrong: mutants of the core, each killed within a few seeds.

A mutant is the core with one mistake that somebody might make. If one survives its seeds, the swarm
has become blind to that kind of mistake (or the core no longer works in the way the mutant
spoils: then the mutant has to be made anew). `seeds` are those that are tried, in order; the
first that kills is at the front of the range, with room for changes that move it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from sapwood.protocol import core as core_module
from sapwood.protocol.clients import Clients
from sapwood.protocol.core import Core
from sapwood.protocol.effects import Effect
from sapwood.protocol.forwarding import Forwarding, Plan
from sapwood.protocol.messages import Unadvertise, Unsubscribe
from sapwood.protocol.subscribing import Subscribing
from sapwood.protocol.waves import Waves
from sapwood.routing import covering
from sapwood.routing.covering import Covering
from sapwood.routing.ledger import EdgeLedger
from sapwood.routing.mergers import Mergers
from sapwood.routing.strategy import Difference, Entry, FilterStrategy, Strategy
from sapwood.routing.table import RoutingTable
from sapwood.sim.swarm import judging


@dataclass(frozen=True)
class Mutant:
    """One mistake: what is replaced, by what, and which seeds are tried."""

    target: Any
    attribute: str
    make: Callable[[Any], Any]
    """From the original to what stands in its place."""
    seeds: Iterable[int]


def unsubscription_first(original: Any) -> Any:
    def said(*arguments: Any) -> list[Effect]:
        effects = original(*arguments)
        ends = (Unsubscribe, Unadvertise)
        return sorted(effects, key=lambda effect: not isinstance(effect.message, ends))

    return said


def uncovering_forgotten(original: Any) -> Any:
    """What a cover hid is not owed when the cover goes."""

    def vanish(self: Covering, filter: Any) -> None:
        if filter.is_empty or filter.id in self._owed or filter.id in self._cover:
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(self, "_appear", lambda hidden: None)
                original(self, filter)

    return vanish


def all_that_cover_are_hidden(original: Any) -> Any:
    """The tie-break the wrong way round: what covers gives way to what it covers."""

    def hides(cover: Any, filter: Any) -> bool:
        return bool(original(filter, cover))

    return hides


def pull_forgotten(original: Any) -> Any:
    """A change of the scope takes nothing in."""

    def rescope(self: RoutingTable, neighbour: str) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(EdgeLedger, "add", lambda ledger, entry: None)
            original(self, neighbour)

    return rescope


def unadvertising_drops_nothing(original: Any) -> Any:
    """A change of the scope removes nothing."""

    def rescope(self: RoutingTable, neighbour: str) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(EdgeLedger, "remove", lambda ledger, entry: None)
            original(self, neighbour)

    return rescope


def scope_ignored(original: Any) -> Any:
    def is_within(self: RoutingTable, neighbour: str, filter: Any) -> bool:
        return True

    return is_within


def sent_back_to_the_source(original: Any) -> Any:
    def plan(self: Forwarding, wanted: list[str]) -> Plan:
        return Plan(original(self, wanted).everyone, {})

    return plan


def cache_kept(original: Any) -> Any:
    def add(self: Forwarding, entry: Entry) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(self, "invalidate", lambda: None)
            original(self, entry)

    return add


def told_to_the_wrong_neighbour(original: Any) -> Any:
    def take(self: RoutingTable, *arguments: Any) -> Iterator[tuple[str, Difference]]:
        found = list(original(self, *arguments))
        names = [name for name, _ in found]
        yield from zip(names[1:] + names[:1], (each for _, each in found), strict=True)

    return take


def own_entries_owed(original: Any) -> Any:
    def add(self: RoutingTable, entry: Entry, text: str | None = None) -> None:
        original(self, entry, text)
        ledger = self.ledgers.get(entry.destination)
        if ledger is not None:
            ledger.add(entry)

    return add


def entries_left_behind(original: Any) -> Any:
    """A client goes, and its entries stay."""

    def client_down(self: Subscribing, client: str, now: float) -> list[Effect]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(self.core, "forget", lambda destination: None)
            return list(original(self, client, now))

    return client_down


def settled_at_once(original: Any) -> Any:
    """Nobody waits for the echoes of a wave."""

    def start(self: Waves, now: float) -> list[Effect]:
        original(self, now)
        wave = self.by_origin.pop(self.core.id, None)
        return [] if wave is None else self._finish(wave, now)

    return start


def constituents_forgotten(original: Any) -> Any:
    """A merger is taken back, and what is left of it is not announced."""

    def changes(self: Mergers) -> tuple[list[Any], list[Any]]:
        forgotten = vars(self).setdefault("forgotten", set())
        come, gone = original(self)
        gone = [box for box in gone if box not in forgotten]
        if gone:
            forgotten.update(come)
            come = []
        return come, gone

    return changes


def root_does_not_flood(original: Any) -> Any:
    def opened(self: Forwarding, neighbour: str, *, everything: bool) -> None:
        original(self, neighbour, everything=False)

    return opened


def first_to_go_takes_all(original: Any) -> Any:
    def remove(self: FilterStrategy, entry: Entry) -> None:
        if self._counts.get(entry.filter.id):
            self._counts[entry.filter.id] = 1
            original(self, entry)

    return remove


def replacement_not_told(original: Any) -> Any:
    """A filter that takes the place of another under the same id is not told."""

    def take(self: EdgeLedger) -> Difference:
        before = dict(self.told)
        subscribe, unsubscribe = original(self)
        return Difference([pair for pair in subscribe if pair[0] not in before], unsubscribe)

    return take


def change_overlooked(original: Any) -> Any:
    """What a strategy says to have changed last is not compared."""

    def touched(self: Strategy) -> list[str]:
        return list(original(self))[:-1]

    return touched


def lost_link_remembered(original: Any) -> Any:
    """What came over a link stays in the tables when the link is gone."""

    def forget(self: Core, destination: str) -> None:
        if not destination.startswith("B"):
            original(self, destination)

    return forget


def one_end_for_all(original: Any) -> Any:
    """Of two subscriptions to the same filter one ends, and is recorded as the end of both."""

    def has_equal(self: Clients, *arguments: Any) -> bool:
        return False

    return has_equal


def tick_never_wanted(original: Any) -> Any:
    """A wave that has to wait for the interval is never started."""
    return property(lambda self: None)


SEEDS = (2, 29, *range(60))
"""Some mutants are rarely seen; first come the seeds that are known to show two of those."""

MUTANTS = {
    "unsubscription first": Mutant(core_module, "_said", unsubscription_first, SEEDS),
    "uncovering forgotten": Mutant(Covering, "_vanish", uncovering_forgotten, SEEDS),
    "wrong tie-break": Mutant(covering, "hides", all_that_cover_are_hidden, SEEDS),
    "pull forgotten": Mutant(RoutingTable, "rescope", pull_forgotten, SEEDS),
    "unadvertising drops nothing": Mutant(
        RoutingTable, "rescope", unadvertising_drops_nothing, SEEDS
    ),
    "scope ignored": Mutant(RoutingTable, "is_within", scope_ignored, SEEDS),
    "sent back to the source": Mutant(Forwarding, "_plan", sent_back_to_the_source, SEEDS),
    "cache kept": Mutant(Forwarding, "add", cache_kept, SEEDS),
    "told to the wrong neighbour": Mutant(
        RoutingTable, "take_differences", told_to_the_wrong_neighbour, SEEDS
    ),
    "own entries owed": Mutant(RoutingTable, "add", own_entries_owed, SEEDS),
    "entries left behind": Mutant(Subscribing, "client_down", entries_left_behind, SEEDS),
    "settled at once": Mutant(Waves, "_start", settled_at_once, SEEDS),
    "constituents forgotten": Mutant(Mergers, "changes", constituents_forgotten, SEEDS),
    "root does not flood": Mutant(Forwarding, "open", root_does_not_flood, SEEDS),
    "first to go takes all": Mutant(FilterStrategy, "remove", first_to_go_takes_all, SEEDS),
    "replacement not told": Mutant(EdgeLedger, "take", replacement_not_told, SEEDS),
    "change overlooked": Mutant(Strategy, "take_touched", change_overlooked, SEEDS),
    "one end for all": Mutant(Clients, "has_equal", one_end_for_all, SEEDS),
    "lost link remembered": Mutant(Core, "forget", lost_link_remembered, SEEDS),
    "tick never wanted": Mutant(Waves, "next_at", tick_never_wanted, SEEDS),
}


def killed_by(seeds: Iterable[int]) -> tuple[int, list[str]] | None:
    """The first seed that shows something wrong, and what; a crash is a kill too."""
    for seed in seeds:
        try:
            problems = judging.problems_of(seed)
        except (KeyError, AssertionError) as crash:
            problems = [f"crash: {crash!r}"]
        if problems:
            return seed, problems
    return None


@pytest.mark.slow
@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_is_killed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    mutant = MUTANTS[name]
    original = getattr(mutant.target, mutant.attribute)
    monkeypatch.setattr(mutant.target, mutant.attribute, mutant.make(original))
    assert killed_by(mutant.seeds) is not None, f"{name} survives seeds {mutant.seeds}"
