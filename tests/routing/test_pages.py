"""Pages against a plain list."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from routing.near import seeds
from sapwood.routing import pages as module
from sapwood.routing.pages import Item, Pages


def is_at_most(left: tuple[tuple[int, ...], ...], right: tuple[tuple[int, ...], ...]) -> bool:
    return all(mine <= other for mine, other in zip(left, right, strict=True))


@pytest.fixture(autouse=True, scope="module")
def short_pages() -> object:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "PAGE_LENGTH_MAX", 4)
        yield


@given(seed=seeds, attributes=st.integers(1, 3), size=st.sampled_from([0, 3, 30, 100]))
def test_pages_find_what_a_scan_finds(seed: int, attributes: int, size: int) -> None:
    random = Random(seed)
    pages, items = Pages(), list[Item]()
    for number in range(size):
        item = draw(random, attributes, str(number))
        pages.add(item)
        items.append(item)
        if random.random() < 0.3:
            pages.remove(items.pop(random.randrange(len(items))))
    assert bool(pages) == bool(items)
    for _ in range(10):
        low, high, _ = draw(random, attributes, "")
        around = [
            one.key for one in items if is_at_most(one.low, low) and is_at_most(high, one.high)
        ]
        inside = [
            one.key for one in items if is_at_most(low, one.low) and is_at_most(one.high, high)
        ]
        assert sorted(pages.around(low, high)) == sorted(around)
        assert sorted(pages.inside(low, high)) == sorted(inside)
    for item in items:
        pages.remove(item)
    assert not pages


def draw(random: Random, attributes: int, key: str) -> Item:
    low = tuple((random.randrange(8),) for _ in range(attributes))
    return Item(low, tuple((at + random.randrange(5),) for (at,) in low), key)


def test_a_change_looks_at_one_page() -> None:
    """Pages stay short, whatever comes."""
    pages = Pages()
    for number in range(100):
        pages.add(Item(((number % 10,),), ((20,),), str(number)))
    assert max(len(page.items) for page in pages._pages) <= 4
    assert sum(len(page.items) for page in pages._pages) == 100
