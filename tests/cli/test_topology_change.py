"""`sapwood topology exchange | swap | remove | plan`, on brokers that run."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from runtime.serving import chain_in_background, free_port
from sapwood.cli.main import run
from sapwood.cli.topology_change import _lines, as_object
from sapwood.protocol.reconfigure.asking import StepReport, TreeChangeEnded

Captured = pytest.CaptureFixture[str]


@contextmanager
def line_of_four() -> Iterator[str]:
    """B1 - B2 - B3 - B4, each of which can be dialled."""
    ports = [free_port() for _ in range(4)]
    with chain_in_background(
        4,
        each=[{"listen": f"127.0.0.1:{one}", "advertise": (f"127.0.0.1:{one}",)} for one in ports],
    ) as servers:
        yield str(servers[0].address)


@pytest.fixture
def url() -> Iterator[str]:
    with line_of_four() as url:
        yield url


@pytest.fixture(scope="module")
def shared_url() -> Iterator[str]:
    """For what changes nothing."""
    with line_of_four() as url:
        yield url


def links(url: str, capsys: Captured) -> list[list[str]]:
    capsys.readouterr()
    assert run(["topology", "show", "-s", url, "--json"]) == 0
    found: list[list[str]] = json.loads(capsys.readouterr().out)["links"]
    return found


@pytest.mark.slow
def test_links_are_exchanged_and_swapped(url: str, capsys: Captured) -> None:
    assert run(["topology", "exchange", "B2-B3", "B1-B4", "-s", url]) == 0
    out = capsys.readouterr().out
    assert out.startswith(("B3-B2 → B1-B4  ring of 4: ", "B2-B3 → B4-B1  ring of 4: "))
    assert "; 12 messages, " in out
    assert links(url, capsys) == [["B1", "B2"], ["B1", "B4"], ["B3", "B4"]]
    assert run(["topology", "swap", "B3", "B4", "B1", "-s", url, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert {"change", "outcome", "ring", "messages", "seconds"} <= answer.keys()
    assert (answer["outcome"], answer["messages"], sorted(answer["ring"])) == (
        "completed",
        9,
        ["B1", "B3", "B4"],
    )
    assert answer["change"]
    assert links(url, capsys) == [["B1", "B2"], ["B1", "B3"], ["B1", "B4"]]


def test_a_plan_is_shown_and_then_carried_out(url: str, capsys: Captured, tmp_path: Path) -> None:
    file = tmp_path / "star.txt"
    file.write_text("# a star\nB1-B2\nB1-B3\nB1-B4\n")
    assert run(["topology", "plan", str(file), "--dry-run", "-s", url]) == 0
    out = capsys.readouterr().out
    assert out.startswith("round 1\n  ")
    assert "2 steps, 18 messages; 4 brokers\n" in out
    assert links(url, capsys) == [["B1", "B2"], ["B2", "B3"], ["B3", "B4"]], "nothing was done"
    assert run(["topology", "plan", str(file), "-s", url]) == 0
    told = capsys.readouterr()
    assert told.err.startswith("1 of 2: ")
    assert "all 2 steps done in " in told.out
    assert links(url, capsys) == [["B1", "B2"], ["B1", "B3"], ["B1", "B4"]]
    assert run(["topology", "plan", str(file), "-s", url, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["outcome"], answer["steps"], answer["ring"]) == ("completed", [], [])


def test_a_broker_leaves(url: str, capsys: Captured) -> None:
    assert run(["topology", "remove", "B3", "-s", url]) == 0
    assert "B3  has left; " in capsys.readouterr().out
    assert links(url, capsys) == [["B1", "B2"], ["B2", "B4"]]


def test_a_broker_that_is_asked_to_leave_itself_leaves(url: str, capsys: Captured) -> None:
    assert run(["topology", "remove", "B1", "-s", url]) == 0
    assert capsys.readouterr().out == "B1  has left; B2 takes over\n"


@pytest.mark.parametrize(
    ("arguments", "status", "problem"),
    [
        (["exchange", "B1-B2", "B3-B9"], 2, "there is no broker 'B9'"),
        (["exchange", "B1-B3", "B1-B4"], 1, "there is no link B1-B3 to replace"),
        (["exchange", "B1", "B1-B4"], 2, "wanted two brokers with a hyphen between them"),
        (["swap", "B1", "B2", "B4"], 1, "there is no link B2-B4"),
        (["remove", "B9"], 1, "there is no broker 'B9'"),
        (["plan", "no-such-file"], 2, "cannot be read"),
    ],
)
def test_what_cannot_be_done_is_said_and_the_tree_stays(
    shared_url: str, capsys: Captured, arguments: list[str], status: int, problem: str
) -> None:
    assert run(["topology", *arguments, "-s", shared_url]) == status
    told = capsys.readouterr()
    assert problem in told.out + told.err
    assert links(shared_url, capsys) == [["B1", "B2"], ["B2", "B3"], ["B3", "B4"]]


def test_what_stopped_in_the_middle_says_how_to_go_on() -> None:
    done = StepReport("completed", "", "B1.1/1", ("B1", "B2", "B3"), ("B2", "B3"), ("B1", "B3"), 9)
    failed = StepReport("refused", "no link to B5", "", (), ("B4", "B5"), ("B1", "B5"))
    answer = TreeChangeEnded(7, "stopped", "B4-B5 → B1-B5: no link to B5", (done, failed), 4, 2.5)
    first, second, last = _lines(answer)
    assert first == "B2-B3 → B1-B3  ring of 3: B1 B2 B3; 9 messages, 0 ms"
    assert second == "B4-B5 → B1-B5  refused: no link to B5"
    assert last.startswith("stopped after 1 of 4 steps: B4-B5 → B1-B5: no link to B5\n")
    assert "ask for the same plan again to go on" in last
    assert as_object(answer)["total"] == 4
