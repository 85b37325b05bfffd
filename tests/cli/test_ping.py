"""`sapwood ping`: round trips, and brokers that do not answer."""

from __future__ import annotations

import asyncio
import json
import re
import threading

import pytest

from runtime.serving import chain_in_background
from sapwood.cli import ping as ping_command
from sapwood.cli.main import run

Captured = pytest.CaptureFixture[str]


def test_times_are_printed(capsys: Captured) -> None:
    with chain_in_background(1) as servers:
        given = ["-s", str(servers[0].address), "--count", "3", "--interval", "0"]
        assert run(["ping", *given]) == 0
        number = r"\d+\.\d{3} ms"
        assert re.fullmatch(
            f"broker B1: 3 round trips, min {number}, median {number}, max {number}\n",
            capsys.readouterr().out,
        )
        assert run(["ping", *given, "--json"]) == 0
        found = json.loads(capsys.readouterr().out)
        assert (found["broker"], found["count"]) == ("B1", 3)
        times = found["milliseconds"]
        assert 0 < times["min"] <= times["median"] <= times["max"]


@pytest.mark.slow
def test_nobody_there_is_a_wrong_use(capsys: Captured) -> None:
    assert run(["ping", "-s", "127.0.0.1:1"]) == 2
    err = capsys.readouterr().err
    assert err.startswith("error: cannot reach sapwood://127.0.0.1:1: ")
    assert err.count("\n") == 1


def test_a_broker_that_hangs_is_a_no(capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ping_command, "_ANSWER_SECONDS", 0.1)
    threads = set(threading.enumerate())
    with chain_in_background(1) as servers:
        monkeypatch.setattr("sapwood.runtime.client.Bus.ping", lambda self: asyncio.Event().wait())
        assert run(["ping", "-s", str(servers[0].address)]) == 1
    assert capsys.readouterr().err == "no answer within 0.1 s\n"
    assert set(threading.enumerate()) <= threads
