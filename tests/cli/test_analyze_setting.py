"""Trees and rates as options give them."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer

from sapwood.cli.analyze_setting import check_figure, described, rates_of, tree_of
from sapwood.errors import TopologyError


def test_a_complete_tree_and_any_other(tmp_path: Path) -> None:
    assert len(tree_of(2, 3, None, None).brokers) == 7
    file = tmp_path / "links.txt"
    file.write_text("A-B\nB-C\n")
    assert tree_of(2, 3, file, "C").brokers == ("C", "B", "A")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("A-B\nB-C\nC-A\n", "closes a cycle"),
        ("A-B\nC-D\n", "not connected: no path from A to C"),
        ("A-B\nB C\n", "line 2: 'B C' is no link; wanted A-B"),
        ("A-B-C\n", "line 1: 'A-B-C' is no link; wanted A-B"),
        ("# nothing\n", "a tree needs at least one broker"),
    ],
)
def test_a_file_that_is_no_tree(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "links.txt"
    file.write_text(text)
    with pytest.raises(TopologyError) as refused:
        tree_of(2, 3, file, None)
    assert str(refused.value).startswith(f"{file}: ")
    assert said in str(refused.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(typer.BadParameter, match="No such file or directory"):
        tree_of(2, 3, tmp_path / "none", None)
    binary = tmp_path / "binary"
    binary.write_bytes(b"\xff\xfe")
    with pytest.raises(typer.BadParameter, match="it is no text"):
        tree_of(2, 3, binary, None)


def test_one_line_on_what_was_asked() -> None:
    found = rates_of(tree_of(3, 5, None, None), 81_000, 60.0, 1.5, 100, "leaves")
    assert described(found) == "121 brokers, height 4; 81,000 subscriptions, 1.5 publications/s"


def test_figures_of_two_kinds() -> None:
    for name in ("a.svg", "a.PNG"):
        check_figure(Path(name))
    check_figure(None)
    with pytest.raises(typer.BadParameter, match="a figure needs some"):
        check_figure(Path("a.svg"), 0.0)
    with pytest.raises(typer.BadParameter, match="neither"):
        check_figure(Path("a"))
