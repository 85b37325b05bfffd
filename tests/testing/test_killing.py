"""What clients write down outlives them, and becomes a trace that is judged."""

from __future__ import annotations

from pathlib import Path

from sapwood.testing.killing import Diary, _published


def test_half_a_line_that_a_kill_left_is_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "R1"
    first = Diary(path)
    first.write(("read", 1.0, "p.1"), ("read", 2.0, "p.1"))
    with path.open("a") as file:
        file.write("read 3.0 p")
    again = Diary(path)
    assert [line[1] for line in again.read()] == ["1.0", "2.0"]
    again.write(("read", 3.0, "p.1"))
    assert path.read_text() == "read 1.0 p.1\nread 2.0 p.1\nread 3.0 p.1\n"
    assert (again.count("read"), again.count("opened")) == (3, 0)


def test_what_was_confirmed_is_expected_and_what_was_only_offered_if_it_came(
    tmp_path: Path,
) -> None:
    diary = Diary(tmp_path / "P1")
    diary.write(("offered", 1.0, "P1.7", 1, 2, 0), ("confirmed", "P1.7", 1, 2))
    diary.write(("offered", 2.0, "P1.7", 3, 3, 2))
    rows = list(_published(diary, {("P1.7", 4)}))
    assert [(at, fields["sequence"]) for at, _, fields in rows] == [(1.0, 1), (1.0, 2), (2.0, 4)]
    assert rows[2][2]["attributes"] == '{"n": 3}'
