"""Perfect mergers of a changing set of conjunctions.

Attribute by attribute, in the order of their names, conjunctions that differ in this attribute
only are united (Jaeger 2007, 2.2.3). What comes out of one attribute goes on to the next. Each
step is a function of what goes in and changes where that changes, so the whole is a function of
the set, and the work for one more conjunction or one less does not grow with the set.

A merger has to fit into a message and to be read again, and each change of a constituent sends
all of it anew. So mergers are made only while their text stays short.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from sapwood.filters import cuts
from sapwood.filters.box import Box, constraint_on, without
from sapwood.filters.constraint import Constraint
from sapwood.filters.pattern import Pattern
from sapwood.routing.unions import Unions

MERGER_CHARS_MAX = 1024
"""About how long the text of a merger may become; single conjunctions may be longer."""

_CONDITION_CHARS = 24
"""About what the words of one condition take, without its name and values."""


class Bundle(NamedTuple):
    """Conjunctions that differ in one attribute only, and there not in their text patterns."""

    name: str
    rest: Box
    required: tuple[Pattern, ...]
    excluded: tuple[Pattern, ...]


class Members:
    """The constraints of a bundle, and what they were united to when last looked at."""

    def __init__(self, bundle: Bundle) -> None:
        self._bundle = bundle
        self._counts: Counter[Constraint] = Counter()
        room = MERGER_CHARS_MAX - sum(_chars(*pair) for pair in bundle.rest)
        self._unions = Unions(lambda union: _chars(bundle.name, union) <= room)
        self.mergers: dict[Box, None] = {}

    def add(self, constraint: Constraint) -> None:
        """Take in a constraint; the same may come from several mergers."""
        self._counts[constraint] += 1
        if self._counts[constraint] == 1:
            self._unions.add(constraint)

    def remove(self, constraint: Constraint) -> None:
        """Forget a constraint."""
        self._counts[constraint] -= 1
        if not self._counts[constraint]:
            del self._counts[constraint]
            self._unions.remove(constraint)

    def merge(self) -> tuple[list[Box], list[Box]]:
        """Unite anew: which conjunctions have come and which have gone since last time."""
        before = self.mergers
        self.mergers = dict.fromkeys(self._box(union) for union in self._unions)
        return (
            [box for box in self.mergers if box not in before],
            [box for box in before if box not in self.mergers],
        )

    def _box(self, union: Constraint) -> Box:
        if union.is_anything:
            return self._bundle.rest
        return tuple(sorted((*self._bundle.rest, (self._bundle.name, union))))


class Mergers:
    """A changing set of conjunctions, merged."""

    def __init__(self) -> None:
        self._members: dict[Bundle, Members] = {}
        self._changed: dict[str, dict[Bundle, None]] = {}
        self._out: Counter[Box] = Counter()

    def add(self, box: Box) -> None:
        """Take in a conjunction."""
        self._enter(box, "")

    def remove(self, box: Box) -> None:
        """Forget a conjunction that was taken in."""
        self._leave(box, "")

    def changes(self) -> tuple[list[Box], list[Box]]:
        """Which mergers have come and which have gone since the last time."""
        while self._changed:
            name = min(self._changed)
            for bundle in self._changed.pop(name):
                self._merge(name, bundle)
        out, self._out = self._out, Counter()
        return list(_beyond(out, 1)), list(_beyond(out, -1))

    def carry_on(self, work: int) -> bool:
        """Merge some of the bundles that have changed; whether all are merged."""
        for _ in range(work):
            if not self._changed:
                break
            name = min(self._changed)
            bundle, _ = self._changed[name].popitem()
            if not self._changed[name]:
                del self._changed[name]
            self._merge(name, bundle)
        return not self._changed

    def _merge(self, name: str, bundle: Bundle) -> None:
        members = self._members[bundle]
        come, gone = members.merge()
        for box in come:
            self._enter(box, name)
        for box in gone:
            self._leave(box, name)
        if not members.mergers:
            del self._members[bundle]

    def _enter(self, box: Box, done: str) -> None:
        """A conjunction has come that is merged along the attributes up to one."""
        bundle = _bundle(box, done)
        if bundle is None:
            self._out[box] += 1
            return
        members = self._members.get(bundle)
        if members is None:
            members = self._members[bundle] = Members(bundle)
        members.add(constraint_on(box, bundle.name))
        self._changed.setdefault(bundle.name, {})[bundle] = None

    def _leave(self, box: Box, done: str) -> None:
        """A conjunction has gone that was merged along the attributes up to one."""
        bundle = _bundle(box, done)
        if bundle is None:
            self._out[box] -= 1
            return
        self._members[bundle].remove(constraint_on(box, bundle.name))
        self._changed.setdefault(bundle.name, {})[bundle] = None


def _beyond(out: Counter[Box], sign: int) -> Iterable[Box]:
    """What has come more often than it has gone, or the other way round, as often as that."""
    for box, count in out.items():
        for _ in range(count * sign):
            yield box


def _bundle(box: Box, done: str) -> Bundle | None:
    """Where a conjunction is merged along the next attribute after one; None after the last."""
    for name, constraint in box:
        if name > done:
            texts = constraint.texts
            return Bundle(name, without(box, name), texts.required, texts.excluded)
    return None


def _chars(name: str, constraint: Constraint) -> int:
    """About how long the text of a constraint is, and rather too long than too short."""
    texts = constraint.texts
    chars = len(name) + _CONDITION_CHARS
    for low, high in cuts.segments(constraint.numbers):
        chars += _value_chars(name, repr(low[0]), "" if high is None else repr(high[0]))
    for text, end in cuts.segments(texts.ranges):
        chars += _value_chars(name, text, end or "")
    for pattern in texts.required + texts.excluded:
        chars += len(name) + _CONDITION_CHARS + 2 * len(pattern.symbols)
    return chars


def _value_chars(name: str, low: str, high: str) -> int:
    if low == high or high == low + "\0":
        return len(low) + 4
    return 2 * len(name) + _CONDITION_CHARS + len(low) + len(high)
