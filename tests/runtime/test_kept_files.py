"""Files that are of use, and that nobody depends on."""

from __future__ import annotations

from pathlib import Path

from sapwood.runtime.kept_files import KeptFiles, replace


def test_what_is_written_is_read(tmp_path: Path) -> None:
    told: list[str] = []
    files = KeptFiles(tmp_path, told.append)
    assert files.load("one", dict[str, int]) is None
    files.save("one", {"a": 1})
    assert files.has("one")
    assert files.load("one", dict[str, int]) == {"a": 1}
    assert told == []


def test_what_cannot_be_read_is_told_and_what_cannot_be_written_is_not_there(
    tmp_path: Path,
) -> None:
    told: list[str] = []
    KeptFiles(tmp_path, told.append).save("one", {"a": "b"})
    assert KeptFiles(tmp_path, told.append).load("one", dict[str, int]) is None
    assert len(told) == 1
    gone = KeptFiles(tmp_path / "gone", told.append)
    gone.save("one", {})
    assert not gone.has("one")


def test_without_a_folder_nothing_is_kept() -> None:
    files = KeptFiles(None, lambda text: None)
    files.save("one", {})
    assert files.load("one", dict[str, int]) is None


def test_a_file_is_replaced_as_a_whole(tmp_path: Path) -> None:
    replace(tmp_path / "one", "old")
    replace(tmp_path / "one", "new")
    assert [one.name for one in tmp_path.iterdir()] == ["one"]
    assert (tmp_path / "one").read_text() == "new"
