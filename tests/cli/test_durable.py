"""`sapwood durable`, and durable subscriptions and publications from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from runtime.serving import chain_in_background
from sapwood.cli.main import run
from sapwood.protocol.durable.settings import DurabilitySettings

Captured = pytest.CaptureFixture[str]


@pytest.mark.slow
def test_what_was_published_meanwhile_is_printed(capsys: Captured, tmp_path: Path) -> None:
    durability = DurabilitySettings(spool="disk")
    with chain_in_background(1, data=str(tmp_path), durability=durability) as servers:
        server = ["-s", str(servers[0].address)]
        subscribe = ["subscribe", "n > 0", "--durable", "d", *server]
        assert run([*subscribe, "--timeout", "0"]) == 0
        assert run(["publish", "n:=1", "--durable", *server]) == 0
        capsys.readouterr()
        assert run([*subscribe, "--count", "1"]) == 0
        shown = capsys.readouterr()
        assert json.loads(shown.out)["attributes"] == {"n": 1}
        assert "durable d: n > 0, at broker B1, from 0 on" in shown.err
        assert run(["durable", "list", *server]) == 0
        assert capsys.readouterr().out.startswith("d: 0 unread (0 bytes), unused for ")
        assert run(["durable", "list", "--json", *server]) == 0
        (state,) = json.loads(capsys.readouterr().out)
        assert (state["name"], state["committed"]) == ("d", 1)
        assert run(["durable", "remove", "d", *server]) == 0
        assert run(["durable", "remove", "d", *server]) == 2
        assert "has no durable subscription 'd'" in capsys.readouterr().err


def test_a_broker_without_a_journal_says_so(capsys: Captured) -> None:
    with chain_in_background(1) as servers:
        server = ["-s", str(servers[0].address)]
        assert run(["publish", "n:=1", "--durable", *server]) == 2
        assert run(["subscribe", "n > 0", "--durable", "d", *server]) == 2
        said = capsys.readouterr().err.splitlines()
        assert len(said) == 2
        assert all("broker B1 keeps no journal" in line for line in said)
