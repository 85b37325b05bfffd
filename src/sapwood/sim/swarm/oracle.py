"""The swarm's own oracle: what a plan obliges the network to deliver, beside the trace checkers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from sapwood.filters.filter import Filter
from sapwood.routing.algorithms import FLOODING, Edge
from sapwood.sim.swarm.plan import Case, Do, Step, components


class PlannedFilter(NamedTuple):
    """A subscription or advertisement of the plan: from when to when."""

    client: str
    filter: Filter
    start: float
    end: float


class Oracle:
    """What a plan obliges the network to deliver, worked out from the plan alone."""

    def __init__(self, case: Case) -> None:
        self._case = case
        self._filters: dict[str, Filter] = {}
        self._broker: dict[str, str] = {}
        self._open: dict[tuple[Do, str, str], tuple[str, float]] = {}
        self._planned: dict[Do, list[PlannedFilter]] = {Do.SUBSCRIBE: [], Do.ADVERTISE: []}
        self._publications: list[tuple[str, int, Step, dict[str, int]]] = []
        self._changes: list[float] = []
        self._joins: list[float] = []
        self._links = list(case.topology.links)
        self._read()

    def expected(self, since: float = 0.0) -> set[tuple[str, int, str]]:
        """The (publisher, sequence, client) that must be delivered, published from a time on."""
        found = set()
        for publisher, sequence, step, parts in self._publications:
            if step.at < since or not self._is_bound(publisher, step):
                continue
            for planned in self._planned[Do.SUBSCRIBE]:
                if (
                    planned.start + self._case.settle <= step.at < planned.end - self._case.settle
                    and parts[self._broker[planned.client]] == parts[self._broker[publisher]]
                    and planned.filter.matches(dict(step.attributes))
                ):
                    found.add((publisher, sequence, planned.client))
        return found

    def expiring(self) -> dict[tuple[str, int], float]:
        """When each publication that may expire under way does so."""
        return {
            (publisher, sequence): step.expires_at
            for publisher, sequence, step, _ in self._publications
            if self._may_expire(step)
        }

    def moved(self) -> set[tuple[str, int]]:
        """The publications that may be under way when a link comes back elsewhere.

        A notification that went over the old link may go over the new one as well, or be overtaken
        there by a later one. That is what makes reconfiguration an algorithm of its own (thesis 4):
        a link that is cut and one that comes, and nothing else, promise no better.
        """
        case = self._case
        if set(case.links_ever) == set(case.topology.links):
            return set()
        lifetime = case.settle / 2  # once through the longest tree there can be
        return {
            (publisher, sequence)
            for publisher, sequence, step, _ in self._publications
            if any(step.at <= at <= step.at + lifetime for at in self._joins)
        }

    def entries_at_rest(self) -> dict[str, int]:
        """How many entries all tables have in the end, under simple and identity-based routing.

        A subscription is in the table of its own broker, and in that of every other broker whose
        side of the last link on the way has an advertiser for it, where advertisements count.
        """
        standing = [
            planned for planned in self._planned[Do.SUBSCRIBE] if planned.end == float("inf")
        ]
        simple = identity = len(standing)
        for here, there in self._links_in_the_end():
            near, far = self._behind(there, here), self._behind(here, there)
            told = [
                planned.filter
                for planned in standing
                if self._broker[planned.client] in near
                and self._is_wanted_behind(planned.filter, far)
            ]
            simple += len(told)
            identity += len({filter.id for filter in told})
        return {"simple": simple, "identity": identity}

    def _links_in_the_end(self) -> Iterator[Edge]:
        """Both directions of every link: from the broker that tells to the one that is told."""
        return (edge for a, b in self._links for edge in ((a, b), (b, a)))

    def _behind(self, here: str, there: str) -> set[str]:
        """The brokers beyond a link, seen from here."""
        links = [link for link in self._links if set(link) != {here, there}]
        parts = components(self._case.topology.brokers, links)
        return {broker for broker, part in parts.items() if part == parts[there]}

    def _is_wanted_behind(self, filter: Filter, behind: set[str]) -> bool:
        case = self._case
        if not case.advertisements_required or case.advertisement_algorithm == FLOODING:
            return True
        return any(
            planned.filter.overlaps(filter)
            for planned in self._planned[Do.ADVERTISE]
            if planned.end == float("inf") and self._broker[planned.client] in behind
        )

    def _may_expire(self, step: Step) -> bool:
        return 0 < step.expires_at <= step.at + self._case.settle

    def _is_bound(self, publisher: str, step: Step) -> bool:
        """Whether what is published has to arrive: the tree stands still, and it is allowed."""
        settle = self._case.settle
        if self._may_expire(step):
            return False
        if any(step.at - settle < at <= step.at + settle for at in self._changes):
            return False
        if not self._case.advertisements_required:
            return True
        return any(
            planned.client == publisher
            and planned.start + settle <= step.at < planned.end
            and planned.filter.matches(dict(step.attributes))
            for planned in self._planned[Do.ADVERTISE]
        )

    def _read(self) -> None:
        """Go through the plan once."""
        links = self._links
        sequences: dict[str, int] = {}
        for step in self._case.steps:
            if step.do is Do.CONNECT:
                self._broker[step.client] = step.name
            elif step.do is Do.DISCONNECT:
                for key in [key for key in self._open if key[1] == step.client]:
                    self._close(key, step.at)
            elif step.do in (Do.CUT, Do.JOIN):
                self._changes.append(step.at)
                if step.do is Do.JOIN:
                    self._joins.append(step.at)
                (links.remove if step.do is Do.CUT else links.append)(step.link)
            elif step.do is Do.PUBLISH:
                sequence = sequences[step.client] = sequences.get(step.client, 0) + 1
                parts = components(self._case.topology.brokers, links)
                self._publications.append((step.client, sequence, step, parts))
            else:
                self._note(step)
        for key in list(self._open):
            self._close(key, float("inf"))

    def _note(self, step: Step) -> None:
        is_subscription = step.do in (Do.SUBSCRIBE, Do.UNSUBSCRIBE)
        key = (Do.SUBSCRIBE if is_subscription else Do.ADVERTISE, step.client, step.name)
        known = self._open.get(key)
        if step.do is key[0]:
            if known is not None and known[0] == step.filter:
                return
            if known is not None:
                self._close(key, step.at)
            self._open[key] = (step.filter, step.at)
        elif known is not None:
            self._close(key, step.at)

    def _close(self, key: tuple[Do, str, str], at: float) -> None:
        text, start = self._open.pop(key)
        filter = self._filters.get(text)
        if filter is None:
            filter = self._filters[text] = Filter(text)
        self._planned[key[0]].append(PlannedFilter(key[1], filter, start, at))
