"""Keys with a low and a high corner, and which of them lie around or inside two given corners.

The keys stand in the order of their low corners, in pages of bounded length. A page knows the
least and the greatest of all its corners, attribute by attribute, so most pages are passed over
without a look inside, and a change touches one page.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeAlias

from sapwood.routing.outline import Place

Corner: TypeAlias = tuple[Place, ...]
"""One place for each of a fixed list of attributes, at least one."""

PAGE_LENGTH_MAX = 64


class Item(NamedTuple):
    """A key and its corners."""

    low: Corner
    high: Corner
    key: str


class Page:
    """A few items, and the bounds of their corners."""

    __slots__ = ("high_max", "high_min", "items", "low_max", "low_min")

    def __init__(self, items: list[Item]) -> None:
        self.items = items
        self.measure()

    def measure(self) -> None:
        """Find the bounds anew."""
        lows, highs, _ = zip(*self.items, strict=True)
        self.low_min = _each(min, lows)
        self.low_max = _each(max, lows)
        self.high_min = _each(min, highs)
        self.high_max = _each(max, highs)

    def insert(self, item: Item) -> None:
        """Take in an item."""
        insort(self.items, item)
        self.low_min = tuple(map(min, self.low_min, item.low))
        self.low_max = tuple(map(max, self.low_max, item.low))
        self.high_min = tuple(map(min, self.high_min, item.high))
        self.high_max = tuple(map(max, self.high_max, item.high))


class Pages:
    """A changing set of items."""

    def __init__(self) -> None:
        self._pages: list[Page] = []

    def __bool__(self) -> bool:
        """Whether there is any item."""
        return bool(self._pages)

    def add(self, item: Item) -> None:
        """Take in an item that is not there."""
        if not self._pages:
            self._pages.append(Page([item]))
            return
        at = max(0, bisect_right(self._pages, item, key=_first) - 1)
        page = self._pages[at]
        page.insert(item)
        if len(page.items) > PAGE_LENGTH_MAX:
            half = len(page.items) // 2
            self._pages[at : at + 1] = [Page(page.items[:half]), Page(page.items[half:])]

    def remove(self, item: Item) -> None:
        """Forget an item that is there."""
        at = bisect_right(self._pages, item, key=_first) - 1
        page = self._pages[at]
        del page.items[bisect_left(page.items, item)]
        if page.items:
            page.measure()
        else:
            del self._pages[at]

    def around(self, low: Corner, high: Corner) -> Iterator[str]:
        """The keys whose corners lie around these."""
        first_low, first_high = low[0], high[0]
        for page in self._pages:
            if page.low_min[0] > first_low:
                return  # and so has every page behind it
            if page.high_max[0] < first_high:
                continue
            if _at_most(page.low_min, low) and _at_most(high, page.high_max):
                for item in page.items:
                    if _at_most(item.low, low) and _at_most(high, item.high):
                        yield item.key

    def inside(self, low: Corner, high: Corner) -> Iterator[str]:
        """The keys whose corners lie inside these."""
        first_high = high[0]
        start = max(0, bisect_left(self._pages, low[0], key=_first_low) - 1)
        for at in range(start, len(self._pages)):
            page = self._pages[at]
            if page.low_min[0] > first_high:
                return
            if _at_most(low, page.low_max) and _at_most(page.high_min, high):
                for item in page.items:
                    if _at_most(low, item.low) and _at_most(item.high, high):
                        yield item.key


def _first(page: Page) -> Item:
    return page.items[0]


def _first_low(page: Page) -> Place:
    return page.items[0].low[0]


def _at_most(left: Corner, right: Corner) -> bool:
    """Whether no place of one corner is beyond the other's."""
    for mine, other in zip(left, right, strict=True):
        if mine > other:
            return False
    return True


def _each(choose: Callable[..., Place], corners: tuple[Corner, ...]) -> Corner:
    """The least or the greatest of the places, attribute by attribute."""
    return tuple([choose(places) for places in zip(*corners, strict=True)])
