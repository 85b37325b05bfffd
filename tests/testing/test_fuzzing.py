"""All doors of a broker, with accounts on: nothing that a stranger throws disturbs anybody.

``python -m sapwood.testing.fuzzing --seconds 3600`` is the same for an hour.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from sapwood.protocol.node import Node
from sapwood.testing.fuzzing import Fuzzing, fuzz, main


def check(seed: int, seconds: float) -> None:
    fuzzing = fuzz(seed, seconds)
    print(fuzzing.thrown)
    assert fuzzing.problems == []
    thrown = {"bytes", "client frames", "broker frames", "requests", "filters", "files"}
    assert thrown | {"witnessed"} == set(fuzzing.thrown)


@pytest.mark.slow
def test_a_few_seconds_of_everything_disturb_nobody() -> None:
    check(seed=2, seconds=3.0)


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", [11, 12])
def test_two_minutes_of_everything_disturb_nobody(seed: int) -> None:
    check(seed, 120.0)


def test_what_is_thrown_follows_from_the_seed(tmp_path: Path) -> None:
    def thrown(seed: int) -> list[bytes]:
        one = Fuzzing(seed, tmp_path)
        return [one._logged_in() for _ in range(5)]

    assert thrown(1) == thrown(1) != thrown(2)


@pytest.mark.slow
def test_a_fault_of_the_broker_is_found(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The run can fail: here a node that forgets how to read."""
    monkeypatch.setattr(Node, "_frames", lambda *given: None)
    monkeypatch.setattr("sapwood.testing.fuzzing.ANSWER_SECONDS", 0.5)
    assert main(["--seconds", "0.1", "--seed", "3"]) == 1
    assert "the witness: TimeoutError" in capsys.readouterr().out


def test_an_exception_that_escapes_is_a_problem(tmp_path: Path) -> None:
    one = Fuzzing(1, tmp_path)
    loop = asyncio.new_event_loop()
    one._escaped(loop, {"message": "callback", "exception": KeyError("x")})
    one._escaped(loop, {"message": "callback", "exception": ConnectionResetError()})
    loop.close()
    one._only_ours("filter", "x", lambda: dict[str, str]()["x"])
    assert one.problems == ["callback: KeyError('x')", "filter 'x': KeyError: 'x'"]
