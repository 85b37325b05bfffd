"""Pictures of trees: places that make sense, and the same file each time."""

from __future__ import annotations

from pathlib import Path

import pytest

from sapwood.pipeline.loads.tree_picture import draw_tree, layout

LINKS = [("B1", "B2"), ("B2", "B3"), ("B3", "B4"), ("B4", "B5"), ("B3", "B6")]
NAMES = tuple(f"B{number}" for number in range(1, 8))


def test_a_tree_stands_on_its_middle_and_leaves_side_by_side() -> None:
    places = layout(NAMES, LINKS)
    assert places["B3"][1] == 0
    assert {places[name][1] for name in ("B2", "B4", "B6")} == {-1}
    assert len(set(places.values())) == len(NAMES)
    leaves = sorted(places[name][0] for name in ("B1", "B5", "B6", "B7"))
    assert leaves == [0, 1, 2, 3]
    assert places["B7"][1] == 0  # a part of its own


def test_one_broker_alone_has_a_place() -> None:
    assert layout(("B1",), []) == {"B1": (0.0, 0.0)}


@pytest.mark.slow
def test_the_same_load_gives_the_same_file(tmp_path: Path) -> None:
    busy = {name: float(number) for number, name in enumerate(NAMES)}
    loads = dict.fromkeys(LINKS[:3], 10.0)
    one = draw_tree(tmp_path / "x" / "a.svg", busy, LINKS, loads, "load")
    other = draw_tree(tmp_path / "b.svg", busy, LINKS, loads, "load")
    assert one.read_bytes() == other.read_bytes()
    assert all(f">{name}</text>" in one.read_text() for name in NAMES)
    png = draw_tree(tmp_path / "c.png", {"B1": 0.0}, [], {}, "alone")
    assert png.read_bytes().startswith(b"\x89PNG")
