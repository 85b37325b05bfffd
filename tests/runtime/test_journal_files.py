"""The journal on disk: what was written is read again, and what is wrong with a file is said."""

from __future__ import annotations

from pathlib import Path
from queue import SimpleQueue

import pytest

from sapwood.errors import JournalError
from sapwood.protocol.durable.records import Checkpoint, Entry, encode, encode_header
from sapwood.protocol.ports import Append, Fetch, Sync, Trim
from sapwood.runtime.journal_files import JournalFiles


def start(number: int) -> Append:
    return Append(encode_header(number) + encode(Checkpoint("e", 1)), number)


def opened(folder: Path) -> tuple[JournalFiles, SimpleQueue[object]]:
    heard: SimpleQueue[object] = SimpleQueue()
    fetched = lambda request, data: heard.put((request, data))  # noqa: E731 - as short as that
    return JournalFiles(folder, heard.put, fetched, heard.put), heard


def test_what_was_written_is_there_at_the_next_start(tmp_path: Path) -> None:
    files, heard = opened(tmp_path)
    assert list(files.open()) == []
    files.start()
    for work in (start(1), Append(encode(Entry(1.0, 0))), Sync(1), start(2), Trim(2), Sync(2)):
        files.do(work)
    assert [heard.get(timeout=60), heard.get(timeout=60)] == [1, 2]
    files.close()
    again, _ = opened(tmp_path)
    assert [one.number for one in again.open()] == [2]
    again.close()


def test_what_was_written_is_read_back_at_once(tmp_path: Path) -> None:
    files, heard = opened(tmp_path)
    assert list(files.open()) == []
    files.start()
    record = encode(Entry(1.0, 0))
    begun = start(1)
    place = len(begun.data)
    for work in (begun, Append(record), Fetch(7, 1, place, place + len(record))):
        files.do(work)
    assert heard.get(timeout=60) == (7, record)
    files.close()


def test_a_torn_tail_is_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "00000000000000000001.journal"
    record = encode(Entry(1.0, 0))
    path.write_bytes(start(1).data + record + record[:-3])
    (tmp_path / "00000000000000000002.journal").write_bytes(start(2).data[:10])
    files, _ = opened(tmp_path)
    with pytest.raises(JournalError):
        list(files.open())
    files.close()
    (tmp_path / "00000000000000000002.journal").unlink()
    files, _ = opened(tmp_path)
    (segment,) = files.open()
    assert len(segment.records) == 2
    assert path.read_bytes() == start(1).data + record
    files.close()


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda data: b"nothing of the kind, but long enough", "byte 0 does not begin a journal"),
        (lambda data: data[:8] + b"\x01" + data[9:], "format 1; this release reads 2"),
    ],
    ids=["foreign", "version"],
)
def test_a_wrong_file_is_named_with_place_and_remedy(
    spoil: object, said: str, tmp_path: Path
) -> None:
    path = tmp_path / "00000000000000000001.journal"
    assert callable(spoil)
    path.write_bytes(spoil(start(1).data))
    files, _ = opened(tmp_path)
    with pytest.raises(JournalError, match=said) as problem:
        list(files.open())
    assert str(path) in str(problem.value)
    assert "move the folder away" in str(problem.value)
    assert "\n" not in str(problem.value)
    files.close()


def test_two_processes_cannot_have_one_journal(tmp_path: Path) -> None:
    files, _ = opened(tmp_path)
    files.open()
    other, _ = opened(tmp_path)
    with pytest.raises(JournalError, match="in use by another process"):
        other.open()
    files.close()


def test_a_disk_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    files, heard = opened(tmp_path / "journal")
    files.open()
    files.start()
    (tmp_path / "journal" / "lock").unlink()
    (tmp_path / "journal").rmdir()
    files.do(start(1))
    assert "cannot be used: No such file or directory" in str(heard.get(timeout=60))
    files.close()
