"""Session numbers grow with every start, whatever happens to the clock or to the directory."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from sapwood.runtime.session import next_session, note_part, was_part

from sapwood.errors import ListenError
from sapwood.runtime.config.settings import Settings


def test_without_directory_it_is_the_time() -> None:
    before = time.time_ns() // 1_000_000
    assert before <= next_session(Settings(id="B1")) <= time.time_ns() // 1_000_000


def test_it_grows_with_every_start(tmp_path: Path) -> None:
    settings = Settings(id="B1", data=str(tmp_path / "deep" / "data"))
    numbers = [next_session(settings) for _ in range(5)]
    assert numbers == sorted(set(numbers))


def test_it_grows_though_the_clock_went_back(tmp_path: Path) -> None:
    future = time.time_ns() // 1_000_000 + 10**9
    (tmp_path / "session").write_text(f"{future}\n")
    settings = Settings(id="B1", data=str(tmp_path))
    assert next_session(settings) == future + 1
    assert next_session(settings) == future + 2


def test_a_place_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    (tmp_path / "session").write_text("yesterday\n")
    with pytest.raises(ListenError, match=r"cannot be kept in .*session: invalid literal"):
        next_session(Settings(id="B1", data=str(tmp_path)))
    (tmp_path / "file").write_text("")
    with pytest.raises(ListenError, match="cannot be kept in "):
        next_session(Settings(id="B1", data=str(tmp_path / "file")))


def test_a_broker_knows_which_network_it_was_part_of(tmp_path: Path) -> None:
    settings = Settings(id="B1", data=str(tmp_path), network="a/b c")
    assert not was_part(settings)
    note_part(settings)
    assert was_part(settings)
    assert not was_part(Settings(id="B1", data=str(tmp_path)))


def test_without_a_place_nothing_is_known(tmp_path: Path) -> None:
    for data in ("", str(tmp_path / "gone")):
        note_part(Settings(id="B1", data=data))
        assert not was_part(Settings(id="B1", data=data))
