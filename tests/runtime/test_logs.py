"""The log of a broker: what is written, how it looks, and that it stays small."""

from __future__ import annotations

import json

import pytest

from sapwood.runtime.logs import BURST, LINES_PER_SECOND, Log


class Scene:
    """A log with a clock of its own."""

    def __init__(self, level: str = "info", form: str = "text") -> None:
        self.at = 1_800_000_000.25
        self.lines: list[str] = []
        self.log = Log("B1", level, form, lambda: self.at, self.lines.append)


def test_a_line_for_people() -> None:
    scene = Scene()
    scene.log.note("warning", "link lost", {"peer": "B2", "reason": "silent for 5 s", "empty": ""})
    assert scene.lines == [
        '2027-01-15T08:00:00.250Z WARNING B1 link lost peer=B2 reason="silent for 5 s" empty=""'
    ]


@pytest.mark.parametrize("name", ["a\nb", 'a" reason="x', "a=b", "\x1b[31m", "\u2028"])
def test_nobody_forges_a_line_by_a_name(name: str) -> None:
    scene = Scene()
    scene.log.note("info", "refused", {"peer": name})
    (line,) = scene.lines
    assert len(line.splitlines()) == 1
    assert line.isprintable()
    assert line.endswith(f"peer={json.dumps(name)}")


def test_a_line_for_machines() -> None:
    scene = Scene(form="json")
    scene.log.note("info", "link is back", {"peer": "B2", "away_seconds": 1.5, "level": "x"})
    assert json.loads(scene.lines[0]) == {
        "time": "2027-01-15T08:00:00.250Z",
        "level": "info",
        "broker": "B1",
        "event": "link is back",
        "peer": "B2",
        "away_seconds": 1.5,
        "level_": "x",
    }


@pytest.mark.parametrize(
    ("level", "written"),
    [
        ("debug", ["debug", "info", "warning", "error"]),
        ("warning", ["warning", "error"]),
        ("off", []),
    ],
)
def test_only_what_is_wanted_is_written(level: str, written: list[str]) -> None:
    scene = Scene(level, "json")
    for one in ("debug", "info", "warning", "error"):
        scene.log.note(one, "x", {})
    assert [json.loads(line)["level"] for line in scene.lines] == written
    assert scene.log.is_kept is (level != "off")


def test_a_flood_of_one_kind_is_bounded_and_counted_and_hides_no_other() -> None:
    scene = Scene(form="json")
    for number in range(1_000):
        scene.log.note("warning", "refused", {"number": number})
    scene.log.note("info", "tree", {})
    assert len(scene.lines) == BURST + 1
    scene.at += 1 / LINES_PER_SECOND
    scene.log.note("warning", "refused", {"number": 1_000})
    scene.log.note("warning", "refused", {"number": 1_001})
    assert len(scene.lines) == BURST + 2
    assert json.loads(scene.lines[-1])["left_out_before"] == 1_000 - BURST


def test_a_clock_that_goes_back_gives_nothing_away() -> None:
    scene = Scene()
    for _ in range(BURST):
        scene.log.note("info", "x", {})
    scene.at -= 3_600.0
    scene.log.note("info", "x", {})
    assert len(scene.lines) == BURST
