"""Covering-based routing: a filter does not travel while one that covers it does.

Owed are the filters that no other covers (Jaeger 2007, 2.2.3 and 3.3.2). ``covers`` may miss a
covering where text patterns are involved, so two filters of equal meaning can have different ids;
of filters that cover each other the one with the smallest id stands, or they would hide each
other. A filter that can match nothing is never owed.
"""

from __future__ import annotations

from itertools import islice
from math import isinf

from msgspec.structs import replace

from sapwood.filters.box import has_patterns, make_box
from sapwood.filters.constraint import Constraint
from sapwood.filters.filter import Filter
from sapwood.filters.text_set import TextSet
from sapwood.routing.candidates import Candidates
from sapwood.routing.outline import Outline, outline_of
from sapwood.routing.probe import probe_of
from sapwood.routing.strategy import FilterStrategy


def hides(cover: Filter, filter: Filter) -> bool:
    """Whether a filter need not travel where another one does."""
    if not covers(cover, filter):
        return False
    return cover.id < filter.id or not covers(filter, cover)


def covers(cover: Filter, filter: Filter) -> bool:
    """Whether one filter covers another: `Filter.covers`, as far as it is transitive.

    With text patterns, `Filter.covers` may see that A covers B and B covers C and yet miss that A
    covers C, where B is a union. Then it would depend on the order of arrival who stands. So a
    union with patterns covers nothing here, and other unions only what they cover whatever the
    patterns say.
    """
    if len(cover.boxes) == 1:
        return _may_cover(cover, filter) and cover.covers(filter)
    if any(map(has_patterns, cover.boxes)):
        return False
    return _may_cover(cover, filter) and cover.covers(_without_patterns(filter))


def _may_cover(cover: Filter, filter: Filter) -> bool:
    """Whether it is worth asking for a covering that takes long to decide."""
    if outline_of(cover).is_plain:
        return True
    probe = probe_of(filter)
    return probe is None or cover.matches(probe)


def _without_patterns(filter: Filter) -> Filter:
    """The filter without its demands that texts match patterns: a larger one."""
    if not any(map(has_patterns, filter.boxes)):
        return filter
    boxes = [
        make_box((name, _ranges(constraint)) for name, constraint in box) for box in filter.boxes
    ]
    return Filter.from_boxes(box for box in boxes if box is not None)


def _ranges(constraint: Constraint) -> Constraint:
    return replace(constraint, texts=TextSet(constraint.texts.ranges))


class Covering(FilterStrategy):
    """Owes the filters that nothing hides.

    Each hidden filter hangs below one that covers it, which may be hidden itself: a forest whose
    roots are owed. So cancelling a cover looks at what hangs directly below it and at nothing
    else, and a new cover takes over whole trees. Every tree is right whatever ``covers`` misses,
    since its yes is always right and covering is transitive.

    A cover that comes or goes may concern thousands of filters. What is beyond `at_once` is left
    for `carry_on`, and meanwhile more is owed than has to be, never less: a new cover is owed
    before all that it hides is released, and one that nobody wants any more *lingers*, owed, until
    all that it hid is owed again.
    """

    def __init__(self) -> None:
        super().__init__()
        self._standing = Candidates()
        self._cover: dict[str, str] = {}
        """What each hidden filter hangs below."""
        self._below: dict[str, dict[str, Filter]] = {}
        """What hangs directly below a filter."""
        self._sweeping: dict[str, list[str] | None] = {}
        """By a filter that stands: those inside it that it may hide and was not compared with; None
        while even these were not looked for."""
        self._lingering: dict[str, None] = {}
        """Filters that nobody wants any more, and that are owed for what hangs below them."""

    @property
    def left(self) -> int:
        """How many filters are left to be looked at."""
        lingering = sum(len(self._below.get(one, ())) + 1 for one in self._lingering)
        sweeping = (self._owed if one is None else one for one in self._sweeping.values())
        return lingering + sum(map(len, sweeping))

    def carry_on(self, work: int) -> bool:
        """Hide and show some of those that were left; whether nothing is left."""
        while work > 0 and (self._sweeping or self._lingering):
            work -= self._sweep(work) if self._sweeping else self._show(work)
        return not self._sweeping and not self._lingering

    def _sweep(self, work: int) -> int:
        """Let a cover hide what it was not compared with yet; how much of it was looked at."""
        cover, inside = next(iter(self._sweeping.items()))
        if inside is None:
            found = list(self._standing.inside(outline_of(self._owed[cover])))
            self._sweeping[cover] = [one for one in reversed(found) if one != cover]
            if not self._sweeping[cover]:
                del self._sweeping[cover]
            return work  # that was enough for once
        part = inside[-work:]
        del inside[-work:]
        if not inside:
            del self._sweeping[cover]
        for filter_id in reversed(part):
            if filter_id in self._owed and filter_id not in self._lingering:
                self._hide(filter_id, self._owed[cover])
        return len(part)

    def _show(self, work: int) -> int:
        """Let filters below one that lingers stand again; how many there were, and one more."""
        cover = next(iter(self._lingering))
        below = list(islice(self._below.get(cover, {}).values(), work))
        for filter in below:
            self._unhang(filter.id, cover)
            del self._cover[filter.id]
            self._appear(filter)
        if cover not in self._below:
            del self._lingering[cover]
            self._release(cover)
        return len(below) + 1

    def _appear(self, filter: Filter) -> None:
        if filter.is_empty:
            return
        if filter.id in self._lingering:  # what still hangs below it stays there
            del self._lingering[filter.id]
            self._release(filter.id)
        outline = outline_of(filter)
        for filter_id in self._standing.around(outline):
            if hides(self._owed[filter_id], filter):
                self._hang(filter, filter_id)
                return
        inside = self._first_inside(outline)
        if inside is None:
            self._sweeping[filter.id] = None
        for filter_id in inside or ():
            self._hide(filter_id, filter)
        self._standing.add(filter.id, outline)
        self._owe(filter.id, filter)

    def _first_inside(self, outline: Outline) -> list[str] | None:
        """Those inside an outline that stand; None if they are too many to look at now."""
        inside = self._standing.inside(outline)
        if isinf(self.at_once):
            return list(inside)
        found = list(islice(inside, int(self.at_once) + 1))
        return None if len(found) > self.at_once else found

    def _hide(self, filter_id: str, cover: Filter) -> None:
        """Let a filter that stands hang below another, if that one hides it."""
        if hides(cover, self._owed[filter_id]):
            self._hang(self._lower(filter_id), cover.id)

    def _vanish(self, filter: Filter) -> None:
        if filter.is_empty:
            return
        below = self._below.get(filter.id, {})
        cover = self._cover.pop(filter.id, None)
        if cover is None and len(below) > self.at_once:
            self._stand_down(filter)
            self._lingering[filter.id] = None
            return
        self._below.pop(filter.id, None)
        if cover is None:
            self._lower(filter.id)
            for filter_id in below:
                del self._cover[filter_id]
            for other in below.values():
                self._appear(other)
            return
        self._unhang(filter.id, cover)
        for other in below.values():
            self._hang(other, cover)

    def _lower(self, filter_id: str) -> Filter:
        """Let a filter stand no longer."""
        filter = self._release(filter_id)
        self._stand_down(filter)
        return filter

    def _stand_down(self, filter: Filter) -> None:
        """Let nothing more hang below a filter."""
        self._standing.remove(filter.id, outline_of(filter))
        self._sweeping.pop(filter.id, None)

    def _hang(self, filter: Filter, cover: str) -> None:
        """Put a filter below one that covers it."""
        self._cover[filter.id] = cover
        self._below.setdefault(cover, {})[filter.id] = filter

    def _unhang(self, filter_id: str, cover: str) -> None:
        """Take a filter from below its cover."""
        below = self._below[cover]
        del below[filter_id]
        if not below:
            del self._below[cover]
