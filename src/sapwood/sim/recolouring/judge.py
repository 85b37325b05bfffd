"""What must hold of a coloured tree, and what became of the notifications on it.

The tree is right (thesis 4.5.3) if in the colours that are old and current at the root the pointers
of parents and children agree, and lead from the root to every broker in exactly one way.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping

import msgspec

from sapwood.protocol.stabilize.published.colour_messages import ColoredNotification
from sapwood.protocol.stabilize.published.colour_parts import ColourState
from sapwood.protocol.stabilize.published.coloured_routing import CLIENT


def tree_problems(states: Mapping[str, ColourState], root: str) -> Iterator[str]:
    """What is wrong with the tree of the brokers that are there."""
    colors = {"current": states[root].current, "old": states[root].old}
    for word, color in colors.items():
        yield from (f"{word}: {problem}" for problem in _pointer_problems(states, root, color))


def _pointer_problems(states: Mapping[str, ColourState], root: str, color: int) -> Iterator[str]:
    if states[root].parent[color]:
        yield f"the root {root} has the parent {states[root].parent[color]}"
    reached, ahead = {root}, [root]
    for name in ahead:
        for child in sorted(states[name].children[color]):
            if child not in states:
                yield f"{name} has the child {child}, which is not there"
            elif states[child].parent[color] != name:
                yield f"{name} has the child {child}, whose parent is {states[child].parent[color]}"
            elif child in reached:
                yield f"a cycle leads to {child}"
            else:
                reached.add(child)
                ahead.append(child)
    cut_off = sorted(set(states) - reached)
    if cut_off:
        yield f"cut off: {', '.join(cut_off)}"


def colour_problems(states: Mapping[str, ColourState], root: str) -> Iterator[str]:
    """Brokers whose colours are neither the root's nor those it had before."""
    top = states[root]
    wanted = {(top.old, top.current, top.new), (top.new, top.old, top.current)}
    for name, state in states.items():
        if (state.old, state.current, state.new) not in wanted:
            yield f"{name} has the colours {state.old} {state.current} {state.new}"


def table_problems(
    states: Mapping[str, ColourState], root: str, wanted: Mapping[str, Mapping[str, str]]
) -> Iterator[str]:
    """What is wrong with the current tables, for hierarchical routing on a tree that is right.

    `wanted` has the subscriptions by the broker of their client, then by id, the client in front.
    """
    color = states[root].current
    for name, state in states.items():
        due: dict[str, set[str]] = {CLIENT: set(wanted.get(name, {}))}
        for child in state.children[color]:
            due[child] = _below(states, child, color, wanted)
        have: dict[str, set[str]] = {}
        for destination, entries in state.tables[color].items():
            key = CLIENT if destination.startswith(CLIENT) else destination
            have.setdefault(key, set()).update(entries)
        for destination in sorted(set(due) | set(have)):
            missing = due.get(destination, set()) - have.get(destination, set())
            extra = have.get(destination, set()) - due.get(destination, set())
            if missing:
                yield f"{name} misses {sorted(missing)} of {destination}"
            if extra:
                yield f"{name} has {sorted(extra)} of {destination} for nothing"


def _below(
    states: Mapping[str, ColourState],
    top: str,
    color: int,
    wanted: Mapping[str, Mapping[str, str]],
) -> set[str]:
    """The ids of all that is wanted in a subtree."""
    found: set[str] = set()
    seen, ahead = {top}, [top]
    for name in ahead:
        found |= set(wanted.get(name, {}))
        for child in states[name].children[color] if name in states else ():
            if child not in seen:
                seen.add(child)
                ahead.append(child)
    return found


class Outcome(msgspec.Struct, frozen=True):
    """What became of the notifications published from one time to another."""

    published: int
    expected: int
    lost: int
    duplicated: int
    unexpected: int
    disordered: int


class _Published(msgspec.Struct):
    """A notification: when it was published, for whom, who got it how often."""

    at: float
    expected: frozenset[str]
    delivered: dict[str, int]
    disordered: int = 0

    @property
    def lost(self) -> int:
        return sum(client not in self.delivered for client in self.expected)

    @property
    def duplicated(self) -> int:
        return sum(count - 1 for count in self.delivered.values())

    @property
    def unexpected(self) -> int:
        return sum(client not in self.expected for client in self.delivered)


class NotificationJudge:
    """Counts per (notification, client): lost, duplicated, unexpected, disordered."""

    def __init__(self) -> None:
        self._published: dict[tuple[str, int], _Published] = {}
        self._last: dict[tuple[str, str], int] = {}

    def published(self, publisher: str, sequence: int, at: float, expected: Iterable[str]) -> None:
        """A notification was published, and these clients should get it."""
        self._published[publisher, sequence] = _Published(at, frozenset(expected), {})

    def delivered(self, client: str, message: ColoredNotification) -> None:
        """A client has got a notification; one that nobody published counts for nothing."""
        one = self._published.get((message.publisher, message.sequence))
        if one is None:
            return
        one.delivered[client] = one.delivered.get(client, 0) + 1
        if one.delivered[client] > 1:
            return
        pair = (message.publisher, client)
        last = self._last.get(pair, 0)
        one.disordered += message.sequence < last
        self._last[pair] = max(message.sequence, last)

    def outcome(self, since: float = 0.0, until: float = math.inf) -> Outcome:
        """The sum over what was published from one time to another."""
        ones = [one for one in self._published.values() if since <= one.at < until]
        return Outcome(
            published=len(ones),
            expected=sum(len(one.expected) for one in ones),
            lost=sum(one.lost for one in ones),
            duplicated=sum(one.duplicated for one in ones),
            unexpected=sum(one.unexpected for one in ones),
            disordered=sum(one.disordered for one in ones),
        )

    def last_wrong(self, since: float = 0.0, until: float = math.inf) -> float:
        """When the last notification was published that was lost or delivered too often."""
        wrong = [
            one.at
            for one in self._published.values()
            if since <= one.at < until and (one.lost or one.duplicated or one.unexpected)
        ]
        return max(wrong, default=since)
