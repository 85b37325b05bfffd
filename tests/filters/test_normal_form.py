"""Canonical forms: the same whatever the tiling, and stable where it cannot be unique."""

from __future__ import annotations

import itertools
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.filters import box, kinds, normal_form
from sapwood.filters.box import Box
from sapwood.filters.constraint import MISSING, PRESENT
from sapwood.filters.normal_form import canonical, reduce

CELLS = 4


def rectangle(*sides: tuple[float, float]) -> Box:
    """A box with half-open sides on x, y, z."""
    made = box.make_box(
        (name, kinds.between(low, high, high_open=True))
        for name, (low, high) in zip("xyz", sides, strict=False)
    )
    assert made is not None
    return made


def cells_of(boxes: tuple[Box, ...] | list[Box]) -> set[tuple[int, ...]]:
    return {
        cell
        for cell in itertools.product(range(CELLS), repeat=2)
        if any(box.matches(tested, dict(zip("xy", cell, strict=True))) for tested in boxes)
    }


sides = st.tuples(st.integers(0, CELLS - 1), st.integers(1, CELLS)).map(
    lambda pair: (min(pair[0], pair[1] - 1), max(pair[0] + 1, pair[1]))
)
rectangles = st.tuples(sides, sides).map(lambda pair: rectangle(*pair))
unions = st.lists(rectangles, max_size=7)


@given(unions)
def test_the_form_depends_on_the_meaning_alone(boxes: list[Box]) -> None:
    cells = cells_of(boxes)
    tiles = [rectangle((x, x + 1), (y, y + 1)) for x, y in sorted(cells)]
    form = canonical(boxes)
    assert cells_of(form) == cells
    assert canonical(tiles) == form
    assert canonical(form) == form


@given(unions)
def test_every_box_of_the_form_is_needed_and_as_large_as_can_be(boxes: list[Box]) -> None:
    form = canonical(boxes)
    for tested in form:
        others = [other for other in form if other != tested]
        assert cells_of(others) != cells_of(form)
        for index, (name, constraint) in enumerate(tested):
            for cell in range(CELLS):
                larger = constraint.union(kinds.between(cell, cell + 1, high_open=True))
                assert larger is not None
                grown = (*tested[:index], (name, larger), *tested[index + 1 :])
                assert grown == tested or not cells_of([grown]) <= cells_of(form)


@given(unions, st.randoms(use_true_random=False))
def test_reducing_keeps_the_meaning_and_is_final(boxes: list[Box], random: Random) -> None:
    reduced = reduce(boxes)
    assert cells_of(reduced) == cells_of(boxes)
    assert reduce(reduced) == reduced
    assert not any(box.covers(*pair) for pair in itertools.permutations(reduced, 2))
    random.shuffle(boxes)
    assert reduce(boxes) == reduced


text_constraints = st.sampled_from(
    [
        *(kinds.contains(text) for text in ("a", "b", "ab")),
        *(kinds.like(text) for text in ("a%b", "_a%", "%a_")),
        kinds.suffix("a"),
        kinds.prefix("a"),
        kinds.prefix("b"),
        kinds.equal("ab"),
        MISSING,
        PRESENT,
    ]
)
text_boxes = st.dictionaries(st.sampled_from("xyz"), text_constraints, min_size=1).map(
    lambda constraints: box.make_box(constraints.items()) or ()
)


@given(st.lists(text_boxes, max_size=6), st.randoms(use_true_random=False))
def test_with_patterns_the_form_is_stable(boxes: list[Box], random: Random) -> None:
    form = canonical(boxes)
    random.shuffle(boxes)
    assert canonical(boxes) == form
    assert canonical(form) == form
    assert canonical(reversed(form)) == form


def test_a_pinwheel_is_a_square() -> None:
    pinwheel = [
        rectangle((0, 2), (0, 1)),
        rectangle((2, 3), (0, 2)),
        rectangle((1, 3), (2, 3)),
        rectangle((0, 1), (1, 3)),
        rectangle((1, 2), (1, 2)),
    ]
    assert canonical(pinwheel) == (rectangle((0, 3), (0, 3)),)
    hollow = canonical(pinwheel[:-1])
    assert len(hollow) == 2  # sides may have holes: the outer thirds of x, and those of y
    assert canonical([rectangle((0, 3), (0, 1)), rectangle((0, 3), (2, 3)),
                      rectangle((0, 1), (0, 3)), rectangle((2, 3), (0, 3))]) == hollow  # fmt: skip


@pytest.mark.parametrize("budget", ["PRIME_BOXES_MAX", "CANONICAL_WORK_MAX"])
def test_beyond_the_budget_the_form_is_right_and_stable(
    monkeypatch: pytest.MonkeyPatch, budget: str
) -> None:
    monkeypatch.setattr(normal_form, budget, 3)
    boxes = [rectangle((n, n + 2), (CELLS - n - 2, CELLS - n)) for n in range(3)]
    boxes += [rectangle((0, 1), (0, 1)), rectangle((1, 2), (1, 2))]
    form = canonical(boxes)
    assert form == tuple(reduce(boxes))
    assert cells_of(form) == cells_of(boxes)
    assert canonical(form) == form


def test_a_form_with_patterns_that_is_not_stable_is_not_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ranges = [rectangle((0, 2), (0, 2)), rectangle((1, 3), (1, 3)), rectangle((1, 2), (0, 3))]
    patterned = [*ranges, (("z", kinds.contains("a")),)]
    monkeypatch.setattr(normal_form, "_is_stable", lambda _: False)
    assert canonical(patterned) == tuple(reduce(patterned))
    assert canonical(ranges) != tuple(reduce(ranges))


def test_a_union_with_very_many_primes_is_not_searched_to_the_end() -> None:
    """The diagonal of a cube: the number of maximal boxes grows without measure."""
    names = [f"n{index:02}" for index in range(40)]
    boxes = [
        ((names[index], kinds.equal(1)), (names[index + 1], kinds.not_equal(1)))
        for index in range(39)
    ]
    assert canonical(boxes) == tuple(sorted(boxes))
