"""Which filter wants what, and which covers which."""

from __future__ import annotations

import numpy as np
import pytest

from sapwood.analysis.traffic.interests import disjoint, interests, interests_of
from sapwood.errors import ParameterError
from sapwood.filters.filter import Filter

NOTHING = np.zeros((2, 2), dtype=bool)


def test_classes_that_exclude_each_other() -> None:
    found = disjoint(3)
    assert (found.kinds, found.filters, found.are_disjoint) == (3, 3, True)
    assert (found.matches, found.covers) == (None, None)


def test_tables_that_say_nothing_are_not_kept() -> None:
    found = interests(np.eye(2), NOTHING)
    assert found.are_disjoint
    assert (found.matches, found.covers) == (None, None)
    apart = interests(np.eye(2)[:, ::-1], NOTHING)
    assert not apart.are_disjoint
    assert apart.covers is None


def test_a_great_many_classes_take_no_room() -> None:
    assert disjoint(10**9).filters == 10**9


def test_read_off_filters() -> None:
    filters = [Filter("x between 0 and 2"), Filter("x = 1"), Filter("x = 5")]
    found = interests_of(filters, [{"x": 1}, {"x": 2}])
    assert found.matches is not None
    assert found.covers is not None
    assert found.matches.tolist() == [[True, True, False], [True, False, False]]
    assert np.argwhere(found.covers).tolist() == [[1, 0]]
    assert not found.are_disjoint


@pytest.mark.parametrize(
    ("matches", "covers", "said"),
    [
        (np.ones((0, 2)), NOTHING, "interests: there is no filter or no kind"),
        (np.ones((1, 2)), np.zeros((3, 3)), "covers: is not a table of 2 by 2 filters"),
        (np.ones((1, 2)), ~np.eye(2, dtype=bool), "covers: filters 0 and 1 cover each other"),
        (np.ones((1, 2)), np.eye(2, dtype=bool), "covers: filters 0 and 0 cover each other"),
        ([[True, False]], [[False, True], [False, False]], "covers: filter 1 covers filter 0, but"),
        (
            np.ones((1, 3)),
            [[False, True, False], [False, False, True], [False, False, False]],
            "covers: what covers a cover covers, too",
        ),
    ],
)
def test_what_cannot_be_is_refused(matches: object, covers: object, said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        interests(matches, covers)  # type: ignore[arg-type]


def test_equal_filters_are_one() -> None:
    with pytest.raises(ParameterError, match="equal filters are one"):
        interests_of([Filter("x > 1"), Filter("not x <= 1")], [{"x": 2}])


def test_no_class_at_all() -> None:
    with pytest.raises(ParameterError, match="classes: is 0; wanted 1 or more"):
        disjoint(0)
