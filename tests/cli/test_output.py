"""Data on stdout, notices on stderr."""

from __future__ import annotations

import pytest

from sapwood.cli.output import notice, print_json


def test_json_is_one_line_of_plain_text(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"b": "größer", "a": [1, None]})
    assert capsys.readouterr() == ('{"b": "größer", "a": [1, null]}\n', "")


def test_json_refuses_what_json_cannot_say() -> None:
    with pytest.raises(ValueError, match="JSON"):
        print_json(float("nan"))


def test_a_notice_is_not_data(capsys: pytest.CaptureFixture[str]) -> None:
    notice("settled")
    assert capsys.readouterr() == ("", "settled\n")
