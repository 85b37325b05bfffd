"""The log of a broker: what is written, how it looks, and that it stays small."""

from __future__ import annotations

import json
import os
import select
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr

import pytest

from sapwood.runtime.logs import BURST, LINES_PER_SECOND, Log, to_stderr


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


@contextmanager
def piped_stderr() -> Iterator[int]:
    """Let stderr be a pipe; the end that is read."""
    reading, writing = os.pipe()
    with os.fdopen(writing, "w") as stderr, redirect_stderr(stderr):
        yield reading
    os.close(reading)


def test_a_line_goes_to_stderr_whole_and_alone() -> None:
    with piped_stderr() as pipe:
        to_stderr("a \udcff b")
        assert os.read(pipe, 100) == b"a \\udcff b\n"
        to_stderr("x" * 2 * select.PIPE_BUF)
        assert os.read(pipe, 2 * select.PIPE_BUF) == b"x" * (select.PIPE_BUF - 1) + b"\n"


def test_a_log_that_nobody_reads_stops_nobody() -> None:
    with piped_stderr() as pipe:
        for _ in range(2_000):
            to_stderr("x" * 99)
        kept = len(os.read(pipe, 10**6))
    assert 0 < kept < 200_000
    assert kept % 100 == 0
