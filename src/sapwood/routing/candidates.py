"""Filters by their outlines: who may cover a given one, and whom it may cover.

Filters that constrain the same attributes, the same ones of them by a single value, are of one
*shape*; there are few shapes. Within a shape, filters with the same single values are together:
for most filters of practice (``symbol = 'IBM' and price > 100``) that leaves a handful to ask.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from sapwood.routing.outline import HIGHEST, LOWEST, Outline, Place
from sapwood.routing.pages import Corner, Item, Pages


class Shape(NamedTuple):
    """Names of attributes, sorted: those with a single allowed value, and the others."""

    points: tuple[str, ...]
    spans: tuple[str, ...]


Values = tuple[Place, ...]
"""The single allowed values, in the order of the shape's points."""


NOWHERE: Corner = ((),)
"""The corner of filters that have single values only."""


class Group:
    """The filters of one shape."""

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self.point_names = frozenset(shape.points)
        self.names = self.point_names | frozenset(shape.spans)
        self.pages: dict[Values, Pages] = {}
        self._with_value: dict[tuple[str, Place], dict[Values, None]] = {}

    def add(self, key: str, outline: Outline) -> None:
        """Take in a filter of this shape."""
        values = self._values(outline)
        pages = self.pages.get(values)
        if pages is None:
            pages = self.pages[values] = Pages()
            for point in zip(self.shape.points, values, strict=True):
                self._with_value.setdefault(point, {})[values] = None
        pages.add(self._item(key, outline))

    def remove(self, key: str, outline: Outline) -> None:
        """Forget a filter of this shape."""
        values = self._values(outline)
        pages = self.pages[values]
        pages.remove(self._item(key, outline))
        if pages:
            return
        del self.pages[values]
        for point in zip(self.shape.points, values, strict=True):
            del self._with_value[point][values]
            if not self._with_value[point]:
                del self._with_value[point]

    def around(self, outline: Outline) -> Iterator[str]:
        """The filters that may cover one of an outline."""
        pages = self.pages.get(self._values(outline))
        if pages is not None:
            yield from pages.around(*self._corners(outline))

    def inside(self, outline: Outline) -> Iterator[str]:
        """The filters that one of an outline may cover."""
        low, high = self._limits(outline)
        for values in self._values_inside(outline):
            yield from self.pages[values].inside(low, high)

    def _values(self, outline: Outline) -> Values:
        return tuple([outline.points[name] for name in self.shape.points])

    def _item(self, key: str, outline: Outline) -> Item:
        return Item(*self._corners(outline), key)

    def _corners(self, outline: Outline) -> tuple[Corner, Corner]:
        spans = self.shape.spans
        if not spans:
            return NOWHERE, NOWHERE
        return (
            tuple([outline.lows[name] for name in spans]),
            tuple([outline.highs[name] for name in spans]),
        )

    def _limits(self, outline: Outline) -> tuple[Corner, Corner]:
        """Corners of the smaller outline, as far as it says anything of this shape's spans."""
        spans = self.shape.spans
        if not spans:
            return NOWHERE, NOWHERE
        return (
            tuple([outline.lows.get(name, LOWEST) for name in spans]),
            tuple([outline.highs.get(name, HIGHEST) for name in spans]),
        )

    def _values_inside(self, outline: Outline) -> Iterator[Values]:
        """The single values of this shape's filters that lie inside an outline."""
        found: Mapping[Values, object] = self.pages
        for point in outline.points.items():
            some = self._with_value.get(point, {})
            if len(some) < len(found):
                found = some
        limits = [
            (at, outline.lows[name], outline.highs[name])
            for at, name in enumerate(self.shape.points)
            if name in outline.lows
        ]
        for values in found:
            if all(low <= values[at] <= high for at, low, high in limits):
                yield values


class Candidates:
    """A changing set of filters, by key and outline."""

    def __init__(self) -> None:
        self._groups: dict[Shape, Group] = {}

    def add(self, key: str, outline: Outline) -> None:
        """Take in a filter."""
        shape = _shape(outline)
        group = self._groups.get(shape)
        if group is None:
            group = self._groups[shape] = Group(shape)
        group.add(key, outline)

    def remove(self, key: str, outline: Outline) -> None:
        """Forget a filter."""
        shape = _shape(outline)
        group = self._groups[shape]
        group.remove(key, outline)
        if not group.pages:
            del self._groups[shape]

    def around(self, outline: Outline) -> Iterator[str]:
        """All filters that cover one of this outline, and some that do not."""
        for group in self._groups.values():
            if group.point_names <= outline.points.keys() and group.names <= outline.lows.keys():
                yield from group.around(outline)

    def inside(self, outline: Outline) -> Iterator[str]:
        """All filters that one of this outline covers, and some that it does not."""
        for group in self._groups.values():
            if outline.points.keys() <= group.point_names and outline.lows.keys() <= group.names:
                yield from group.inside(outline)


def _shape(outline: Outline) -> Shape:
    return Shape(
        tuple(sorted(outline.points)),
        tuple(sorted(name for name in outline.lows if name not in outline.points)),
    )
