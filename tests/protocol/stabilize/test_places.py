"""Places of neighbours in the tree."""

from __future__ import annotations

import pytest

from sapwood.protocol.stabilize.places import Place


@pytest.mark.parametrize(
    ("place", "there"),
    [(Place.PARENT, Place.CHILD), (Place.CHILD, Place.PARENT), (Place.NONE, Place.NONE)],
)
def test_whoever_is_the_parent_here_is_no_parent_there(place: Place, there: Place) -> None:
    assert place.seen_from_there is there
    assert there.seen_from_there is place


def test_no_place_is_nothing() -> None:
    assert not Place.NONE
    assert Place("child") is Place.CHILD
