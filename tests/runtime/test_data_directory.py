"""Session numbers grow with every start, whatever happens to the clock or to the directory."""

from __future__ import annotations

import time
from pathlib import Path

import msgspec
import pytest

from sapwood.errors import ListenError
from sapwood.protocol.ports import Hint, Remember, RememberBook
from sapwood.runtime.config.settings import Settings
from sapwood.runtime.data_directory import DataDirectory


def test_without_directory_it_is_the_time() -> None:
    before = time.time_ns() // 1_000_000
    assert before <= DataDirectory(Settings(id="B1")).next_session() <= time.time_ns() // 1_000_000


def test_it_grows_with_every_start(tmp_path: Path) -> None:
    settings = Settings(id="B1", data=str(tmp_path / "deep" / "data"))
    starts = [DataDirectory(settings) for _ in range(5)]
    numbers = [start.next_session() for start in starts]
    assert numbers == sorted(set(numbers))
    assert [start.former for start in starts] == [0, *numbers[:-1]]


def test_it_grows_though_the_clock_went_back(tmp_path: Path) -> None:
    future = time.time_ns() // 1_000_000 + 10**9
    (tmp_path / "session").write_text(f"{future}\n")
    settings = Settings(id="B1", data=str(tmp_path))
    assert DataDirectory(settings).next_session() == future + 1
    assert DataDirectory(settings).next_session() == future + 2


def test_a_place_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    (tmp_path / "session").write_text("yesterday\n")
    with pytest.raises(ListenError, match=r"cannot be kept in .*session: invalid literal"):
        DataDirectory(Settings(id="B1", data=str(tmp_path))).next_session()
    (tmp_path / "file").write_text("")
    with pytest.raises(ListenError, match="cannot be kept in "):
        DataDirectory(Settings(id="B1", data=str(tmp_path / "file"))).next_session()


def test_a_broker_knows_which_network_it_was_part_of(tmp_path: Path) -> None:
    settings = Settings(id="B1", data=str(tmp_path), network="a/b c")
    assert not DataDirectory(settings).was_part
    DataDirectory(settings).note_part()
    assert DataDirectory(settings).was_part
    assert not DataDirectory(Settings(id="B1", data=str(tmp_path))).was_part


NOBODY = Remember((), ())


def test_without_a_place_nothing_is_known(tmp_path: Path) -> None:
    for data in ("", str(tmp_path / "gone")):
        directory = DataDirectory(Settings(id="B1", data=data))
        directory.note_part()
        directory.note_neighbours(Remember(("B2",), (7,)))
        assert (directory.was_part, directory.neighbours) == (False, NOBODY)


def test_the_neighbours_of_the_last_session_are_known(tmp_path: Path) -> None:
    directory = DataDirectory(Settings(id="B1", data=str(tmp_path)))
    assert directory.neighbours == NOBODY
    for neighbours in (Remember(("B2",), (7,)), Remember(("B2", "Bé"), (7, 2**50)), NOBODY):
        directory.note_neighbours(neighbours)
        assert DataDirectory(Settings(id="B1", data=str(tmp_path))).neighbours == neighbours
    other = DataDirectory(Settings(id="B1", data=str(tmp_path), network="other"))
    directory.note_neighbours(Remember(("B2",), (7,)))
    assert other.neighbours == NOBODY


def test_neighbours_that_cannot_be_read_are_nobody(tmp_path: Path) -> None:
    directory = DataDirectory(Settings(id="B1", data=str(tmp_path)))
    directory.note_neighbours(Remember(("B2",), (7,)))
    (file,) = tmp_path.iterdir()
    for damage in (b"", b"[1]", b'["B2"', b"\xff\xfe", b'{"B2": "x"}'):
        file.write_bytes(damage)
        assert directory.neighbours == NOBODY


# Addresses


HINTS = (Hint("B2", ("sapwood://b2:7470",), 60.0), Hint("B3", ("sapwood://b3:1", "x"), 0.0))


def test_addresses_are_kept_with_their_age(tmp_path: Path) -> None:
    settings = Settings(id="B1", data=str(tmp_path))
    assert DataDirectory(settings).book == ()
    DataDirectory(settings).note_book(RememberBook(HINTS))
    found = DataDirectory(settings).book
    assert [(one.broker, one.addresses) for one in found] == [
        (one.broker, one.addresses) for one in HINTS
    ]
    assert found[0].age == pytest.approx(60.0, abs=5.0)
    other = DataDirectory(Settings(id="B1", data=str(tmp_path), network="other"))
    assert other.book == ()
    without = DataDirectory(Settings(id="B1"))
    without.note_book(RememberBook(HINTS))
    assert without.book == ()


def test_a_clock_that_went_back_makes_no_age_negative(tmp_path: Path) -> None:
    settings = Settings(id="B1", data=str(tmp_path))
    DataDirectory(settings).note_book(RememberBook(HINTS))
    (file,) = tmp_path.glob("addresses-in-*")
    kept = msgspec.json.decode(file.read_bytes())
    file.write_bytes(msgspec.json.encode({**kept, "written_at": time.time() + 1e6}))
    assert DataDirectory(settings).book == HINTS


@pytest.mark.parametrize("damage", [b"", b"{", b'{"B2": 3}', b"\xff\xfe", b"[]"])
@pytest.mark.parametrize("which", ["addresses-in-", "neighbours-in-"])
def test_a_damaged_file_is_ignored_with_a_notice(tmp_path: Path, which: str, damage: bytes) -> None:
    settings = Settings(id="B1", data=str(tmp_path))
    directory = DataDirectory(settings)
    directory.note_book(RememberBook(HINTS))
    directory.note_neighbours(Remember(("B2",), (4,)))
    (file,) = tmp_path.glob(f"{which}*")
    file.write_bytes(damage)
    told: list[str] = []
    damaged = DataDirectory(settings, told.append)
    found = damaged.book if which.startswith("a") else damaged.neighbours.neighbours
    assert found == ()
    (text,) = told
    assert text.startswith(f"{file} cannot be read and is ignored: ")
