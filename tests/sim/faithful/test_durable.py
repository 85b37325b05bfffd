"""Brokers with journals die at any moment: what was confirmed is delivered once, and in order."""

from __future__ import annotations

import pytest

from expecting import expect_none
from sapwood.protocol.durable.fetching import Fetching
from sapwood.protocol.durable.journal import Journal
from sapwood.protocol.durable.keeping import Durability
from sapwood.protocol.link.peer import Peer
from sapwood.sim.faithful.durable import DurableCase, failures, main


def test_a_case_crashes_brokers_and_delivers() -> None:
    outcome = DurableCase(8).run()
    expect_none(outcome.problems)
    assert outcome.crashes >= 3
    assert min(outcome.confirmed, outcome.delivered) > 50


def test_it_can_be_played_from_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--seed", "8"]) == 0
    said = capsys.readouterr().err
    assert said.startswith("1 seeds, 0 with problems\n")
    assert " confirmed, " in said


@pytest.mark.slow
def test_what_was_confirmed_is_delivered_once_and_in_order() -> None:
    expect_none(list(failures(range(1, 61))))


@pytest.mark.long
def test_many_more_cases() -> None:
    expect_none(list(failures(range(10_000, 12_000))))


def _acknowledge_at_once(durability: Durability, peer: Peer, frames: int, *, is_news: bool) -> None:
    """Acknowledge what is not on disk."""


def _forget_marks(durability: Durability, name: str) -> None:
    """Never say how far a neighbour is."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("owner", "name", "wrong"),
    [
        (Durability, "_owe", _acknowledge_at_once),
        (Durability, "mark", _forget_marks),
        (Durability, "_load", lambda durability, peer, now: None),
        (Fetching, "load", lambda fetching, peer, now: None),
        (Journal, "received", lambda journal, neighbour, received: None),
        (Journal, "published", lambda journal, client, sequence: None),
    ],
    ids=[
        "acknowledges early",
        "no marks",
        "no backlog",
        "nothing read back",
        "no in-numbers",
        "no publications",
    ],
)
def test_a_broker_that_breaks_a_rule_is_found_out(
    owner: type, name: str, wrong: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(owner, name, wrong)
    assert any(failures(range(1, 40)))
