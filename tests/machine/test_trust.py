"""Only what nobody else can have written is run."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sapwood.machine.image import ImageError
from sapwood.machine.trust import read_trusted

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "code"
    path.write_bytes(b"content")
    path.chmod(0o644)
    return path


def refusal(path: Path) -> str:
    with pytest.raises(ImageError) as caught:
        read_trusted(path)
    return str(caught.value)


def test_an_own_file_is_read(file: Path) -> None:
    assert read_trusted(file) == b"content"
    file.parent.chmod(0o1777)
    assert read_trusted(file) == b"content"


@pytest.mark.parametrize("mode", [0o664, 0o646, 0o666])
def test_a_file_that_others_can_write_is_refused(file: Path, mode: int) -> None:
    file.chmod(mode)
    expected = f"others than its owner can write it (mode {mode:o}); run: chmod go-w {file}"
    assert refusal(file) == expected


def test_a_file_that_everybody_can_replace_is_refused(file: Path) -> None:
    file.parent.chmod(0o777)
    text = f"everybody can write to its folder (mode 777); run: chmod o-w {file.parent}"
    assert refusal(file) == text


@as_root
def test_a_file_of_another_user_is_refused(file: Path) -> None:
    os.chown(file, 65534, -1)
    text = "it belongs to user 65534, neither to root nor to the user of this process (0)"
    assert refusal(file) == text


def test_what_is_no_file_is_refused(file: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(file)
    assert "it cannot be opened" in refusal(tmp_path / "link")
    assert "it cannot be opened" in refusal(tmp_path / "missing")
    os.mkfifo(tmp_path / "pipe")
    assert refusal(tmp_path / "pipe") == "it is no regular file"
