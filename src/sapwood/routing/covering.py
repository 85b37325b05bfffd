"""Covering-based routing: a filter does not travel while one that covers it does.

Owed are the filters that no other covers (Jaeger 2007, 2.2.3 and 3.3.2). ``covers`` may miss a
covering where text patterns are involved, so two filters of equal meaning can have different ids;
of filters that cover each other the one with the smallest id stands, or they would hide each
other. A filter that can match nothing is never owed.
"""

from __future__ import annotations

from msgspec.structs import replace

from sapwood.filters.box import has_patterns, make_box
from sapwood.filters.constraint import Constraint
from sapwood.filters.filter import Filter
from sapwood.filters.text_set import TextSet
from sapwood.routing.candidates import Candidates
from sapwood.routing.outline import outline_of
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
    """

    def __init__(self) -> None:
        super().__init__()
        self._standing = Candidates()
        self._cover: dict[str, str] = {}
        """What each hidden filter hangs below."""
        self._below: dict[str, dict[str, Filter]] = {}
        """What hangs directly below a filter."""

    def _appear(self, filter: Filter) -> None:
        if filter.is_empty:
            return
        outline = outline_of(filter)
        for filter_id in self._standing.around(outline):
            if hides(self._owed[filter_id], filter):
                self._hang(filter, filter_id)
                return
        for filter_id in list(self._standing.inside(outline)):
            if hides(filter, self._owed[filter_id]):
                self._hang(self._lower(filter_id), filter.id)
        self._standing.add(filter.id, outline)
        self._owe(filter.id, filter)

    def _vanish(self, filter: Filter) -> None:
        if filter.is_empty:
            return
        below = self._below.pop(filter.id, {})
        cover = self._cover.pop(filter.id, None)
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
        self._standing.remove(filter_id, outline_of(filter))
        return filter

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
