"""Folders of results: claimed, found again, and refused before any run starts."""

from __future__ import annotations

from pathlib import Path

import pytest

from sapwood.errors import ExperimentError
from sapwood.experiments.folder import Owner, check_folder, check_room, claim, owner_of

OWNER = Owner(name="T3.F9", code="1-abc", size="quick")


def test_a_claimed_folder_is_found_again(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    check_folder(folder, OWNER)
    claim(folder, OWNER)
    assert owner_of(folder) == OWNER
    check_folder(folder, OWNER)


@pytest.mark.parametrize(
    ("other", "told"),
    [
        (
            Owner(name="T3.F9", code="2-def", size="quick"),
            "results of version 1-abc, this is 2-def",
        ),
        (
            Owner(name="T3.F10", code="1-abc", size="quick"),
            "holds 'T3.F9' in format 1, not 'T3.F10'",
        ),
        (Owner(name="T3.F9", code="1-abc", size="quick", format=2), "'T3.F9' in format 2"),
    ],
)
def test_results_of_something_else_are_refused(tmp_path: Path, other: Owner, told: str) -> None:
    claim(tmp_path, OWNER)
    with pytest.raises(ExperimentError, match=told):
        check_folder(tmp_path, other)


def test_a_folder_with_other_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("dear", encoding="utf-8")
    with pytest.raises(ExperimentError, match="holds something else; name a new folder"):
        check_folder(tmp_path, OWNER)


def test_a_damaged_mark_is_refused(tmp_path: Path) -> None:
    (tmp_path / "experiment.json").write_text("{", encoding="utf-8")
    with pytest.raises(ExperimentError, match=r"experiment\.json cannot be read"):
        check_folder(tmp_path, OWNER)


def test_too_little_room_is_said(tmp_path: Path) -> None:
    with pytest.raises(ExperimentError, match="MB free on its disk, 1,000,000,000,000 MB are"):
        check_room(tmp_path / "new", 10**18)


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ExperimentError, match="is a file"):
        check_room(tmp_path / "file" / "below", 0)
