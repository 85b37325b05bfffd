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

from sapwood.protocol import broker as broker_module
from sapwood.protocol.broker import Broker
from sapwood.protocol.clients import ADVERTISED, SUBSCRIBED, Clients
from sapwood.protocol.effects import Effect
from sapwood.protocol.forwarding import Forwarding, Plan
from sapwood.protocol.messages import Unadvertise, Unsubscribe
from sapwood.protocol.settling import Settling
from sapwood.routing import covering
from sapwood.routing.covering import Covering
from sapwood.routing.mergers import Mergers
from sapwood.routing.strategy import Difference, Entry, FilterStrategy, Strategy
from sapwood.routing.table import EdgeLedger, RoutingTable
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
    def told(*arguments: Any) -> list[Effect]:
        effects = original(*arguments)
        ends = (Unsubscribe, Unadvertise)
        return sorted(effects, key=lambda effect: not isinstance(effect.message, ends))

    return told


def uncovering_forgotten(original: Any) -> Any:
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
    def reconsider(self: EdgeLedger, entry: Entry) -> None:
        if self.scope is not None and not self.scope(entry.filter):
            original(self, entry)

    return reconsider


def unadvertising_drops_nothing(original: Any) -> Any:
    def reconsider(self: EdgeLedger, entry: Entry) -> None:
        if self.scope is None or self.scope(entry.filter):
            original(self, entry)

    return reconsider


def sent_back_to_the_source(original: Any) -> Any:
    def plan(self: Forwarding, wanted: list[str]) -> Plan:
        return Plan(original(self, wanted).everyone, {})

    return plan


def cache_kept(original: Any) -> Any:
    def add(self: Forwarding, entry: Entry) -> None:
        self.index.add((entry.destination, entry.id), entry.filter, entry.destination)

    return add


def told_to_the_wrong_neighbour(original: Any) -> Any:
    def differences(self: RoutingTable) -> Iterator[tuple[str, Difference]]:
        found = list(original(self))
        names = [name for name, _ in found]
        yield from zip(names[1:] + names[:1], (each for _, each in found), strict=True)

    return differences


def own_entries_owed(original: Any) -> Any:
    def add(self: RoutingTable, entry: Entry) -> None:
        original(self, entry)
        edge = self._edges.get(entry.destination)
        if edge is not None:
            edge.add(entry)

    return add


def entries_left_behind(original: Any) -> Any:
    def client_down(self: Broker, event: Any, now: float) -> list[Effect]:
        effects: list[Effect] = []
        for kind, end in ((SUBSCRIBED, "unsubscribed"), (ADVERTISED, "unadvertised")):
            for filter in dict.fromkeys(self.clients.claims(event.client, kind).values()):
                effects += self._recorded(end, event.client, filter)
        self.clients.remove(event.client)
        self.settling.forget_client(event.client)
        return effects

    return client_down


def settled_at_once(original: Any) -> Any:
    def start(self: Settling, now: float) -> list[Effect]:
        original(self, now)
        self.waves.pop(self._broker, None)
        done, self.under_way = self.under_way, []
        effects: list[Effect] = []
        for request in done:
            if request.on_settled is not None:
                effects += request.on_settled()
        return effects

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
    def difference(self: Strategy) -> Difference:
        told = [name for name, before in self._told_before.items() if before is not None]
        subscribe, unsubscribe = original(self)
        return Difference([pair for pair in subscribe if pair[0] not in told], unsubscribe)

    return difference


def lost_link_remembered(original: Any) -> Any:
    """What came over a link stays in the tables when the link is gone."""

    def forget(self: Broker, destination: str) -> None:
        if not destination.startswith("B"):
            original(self, destination)

    return forget


def one_end_for_all(original: Any) -> Any:
    """Of two subscriptions to the same filter one ends, and is recorded as the end of both."""

    def has_equal(self: Clients, *arguments: Any) -> bool:
        return False

    return has_equal


SEEDS = (2, 29, *range(60))
"""Some mutants are rarely seen; first come the seeds that are known to show two of those."""

MUTANTS = {
    "unsubscription first": Mutant(broker_module, "_told_differences", unsubscription_first, SEEDS),
    "uncovering forgotten": Mutant(Covering, "_vanish", uncovering_forgotten, SEEDS),
    "wrong tie-break": Mutant(covering, "hides", all_that_cover_are_hidden, SEEDS),
    "pull forgotten": Mutant(EdgeLedger, "reconsider", pull_forgotten, SEEDS),
    "unadvertising drops nothing": Mutant(
        EdgeLedger, "reconsider", unadvertising_drops_nothing, SEEDS
    ),
    "scope ignored": Mutant(Broker, "_scope", lambda _: lambda self, name: None, SEEDS),
    "sent back to the source": Mutant(Forwarding, "_plan", sent_back_to_the_source, SEEDS),
    "cache kept": Mutant(Forwarding, "add", cache_kept, SEEDS),
    "told to the wrong neighbour": Mutant(
        RoutingTable, "differences", told_to_the_wrong_neighbour, SEEDS
    ),
    "own entries owed": Mutant(RoutingTable, "add", own_entries_owed, SEEDS),
    "entries left behind": Mutant(Broker, "_client_down", entries_left_behind, SEEDS),
    "settled at once": Mutant(Settling, "_start", settled_at_once, SEEDS),
    "constituents forgotten": Mutant(Mergers, "changes", constituents_forgotten, SEEDS),
    "root does not flood": Mutant(Forwarding, "open", root_does_not_flood, SEEDS),
    "first to go takes all": Mutant(FilterStrategy, "remove", first_to_go_takes_all, SEEDS),
    "replacement not told": Mutant(Strategy, "difference", replacement_not_told, SEEDS),
    "one end for all": Mutant(Clients, "has_equal", one_end_for_all, SEEDS),
    "lost link remembered": Mutant(Broker, "_forget", lost_link_remembered, SEEDS),
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
