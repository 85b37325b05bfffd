"""Tests for reading TOML files: what cannot be read is said with the file and the place."""

from __future__ import annotations

from pathlib import Path

import pytest

from sapwood.errors import ConfigurationError
from sapwood.runtime.config.toml_file import read_file


def test_values_are_as_they_stand_there(tmp_path: Path) -> None:
    file = tmp_path / "a.toml"
    file.write_text("[a]\nb = 1\n")
    assert read_file(file) == {"a": {"b": 1}}


def test_what_is_no_toml_is_said_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "a.toml"
    file.write_text("a = 1\nb = = 2\n")
    with pytest.raises(ConfigurationError, match=r"a\.toml: is not TOML: .*line 2"):
        read_file(file)
    with pytest.raises(ConfigurationError, match=r"b\.toml: cannot be read: No such file"):
        read_file(tmp_path / "b.toml")
